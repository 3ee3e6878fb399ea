"""``model.generate(custom_generate=...)`` writes what ``model.generate`` writes, whatever it is asked for, or refuses by name.

The alphabet model goes on with the next letter, and its heads are right, so that blocks are four tokens long and stops fall
into the middle of them.
"""

import copy
import gc
import math
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    LogitsProcessorList,
    PreTrainedModel,
    StoppingCriteriaList,
    StopStringCriteria,
    TextIteratorStreamer,
)

from headstart.drafters.heads_directory import HeadsDirectory
from headstart.errors import HeadstartError, InvalidParameterError, PromptError
from headstart.interop.custom_generate import CustomGenerate, custom_generate
from headstart.trees.shape import TreeShape
from tests.tiny_models import (
    EOS,
    VOCAB,
    adapter,
    alphabet_heads,
    alphabet_model,
    build,
    letter_ids,
    letters_tokenizer,
    noise_heads,
    tiny,
)

DRAFTERS = ["none", "ngram", "medusa", "medusa-static", "combined"]
NEW = 14
PROMPTS = ([5, 9, 5, 9, 5], [7, 3, 11, 30, 31, 7, 3, 11, 30], [40], [12, 13, 14, 12])


@pytest.fixture(scope="module")
def alphabet() -> PreTrainedModel:
    return alphabet_model()


@pytest.fixture(scope="module")
def right_heads(alphabet: PreTrainedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("heads") / "right"
    alphabet_heads(adapter(alphabet)).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def noisy_heads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the tiny Llama."""
    path = tmp_path_factory.mktemp("heads") / "noise"
    HeadsDirectory(noise_heads(adapter(tiny("llama"))), TreeShape([[0], [0, 0], [1], [0, 1], [0, 0, 0]])).save_pretrained(path)
    return path


def batch(prompts: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
    """The prompts with padding (id 0) on their left."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    return {"input_ids": ids, "attention_mask": mask}


def letters(*texts: str) -> dict[str, torch.Tensor]:
    return batch([letter_ids(text) for text in texts])


def both(model: PreTrainedModel, fast: CustomGenerate, inputs: dict[str, torch.Tensor], **options: Any) -> tuple[Any, Any]:
    """Plain ``generate`` and ours, of the same arguments."""
    settings = {"eos_token_id": EOS, "pad_token_id": 0, "do_sample": False, "max_new_tokens": NEW, **options}
    return model.generate(**inputs, **settings), model.generate(**inputs, custom_generate=fast, **settings)


def ours_alone(model: PreTrainedModel, fast: CustomGenerate, inputs: dict[str, torch.Tensor], **options: Any) -> Any:
    """Ours alone."""
    settings = {"eos_token_id": EOS, "pad_token_id": 0, "do_sample": False, "max_new_tokens": NEW, **options}
    return model.generate(**inputs, custom_generate=fast, **settings)


@pytest.mark.parametrize("family", ["llama", "gemma3_text", "gpt2", "mistral", "qwen3_moe", "opt", "phi", "gpt_oss"])
def test_padded_batches_of_families(family: str) -> None:
    plain, ours = both(tiny(family), custom_generate(heads=None), batch(PROMPTS))
    assert ours.tolist() == plain.tolist()
    assert ours.dtype == plain.dtype


@pytest.mark.parametrize("nodes", [None, 1, 5])
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_drafters(drafter: str, nodes: int | None, noisy_heads: Path) -> None:
    fast = custom_generate(drafter, heads=noisy_heads, nodes=nodes)
    for inputs in (batch(PROMPTS), batch(PROMPTS[1:2])):
        plain, ours = both(tiny("llama"), fast, inputs)
        assert ours.tolist() == plain.tolist()
    assert [stats.prompt_tokens for stats in fast.stats] == [len(PROMPTS[1])]


@pytest.mark.parametrize("drafter", ["auto", "draft-model", "ngram"])
def test_a_draft_model(drafter: str) -> None:
    """A model that knows nothing of the other one, and the model itself, whose every guess is right."""
    for draft in (build("qwen2", num_hidden_layers=1), build("llama")):
        fast = custom_generate(drafter, heads=None, draft_model=draft, nodes=4)
        plain, ours = both(tiny("llama"), fast, batch(PROMPTS), eos_token_id=None)
        assert ours.tolist() == plain.tolist()
    assert drafter == "ngram" or fast.stats[0].accepted_tokens > NEW / 2


def test_float32() -> None:
    model = build("llama", dtype=torch.float32)
    plain, ours = both(model, custom_generate(heads=None), batch(PROMPTS))
    assert ours.tolist() == plain.tolist()


def test_heads_save_steps(alphabet: PreTrainedModel, right_heads: Path) -> None:
    fast = custom_generate(heads=right_heads)
    plain, ours = both(alphabet, fast, letters("a"), max_new_tokens=21)
    assert ours.tolist() == plain.tolist() == [letter_ids("abcdefghijklmnopqrstuv")]
    assert fast.stats[0].steps == 5  # twenty after the first token, four a step


def test_no_mask_and_no_input() -> None:
    """Without a mask all ids count; without ids ``generate`` starts from the BOS."""
    ids = {"input_ids": torch.tensor([PROMPTS[1]])}
    plain, ours = both(tiny("llama"), custom_generate(heads=None), ids, pad_token_id=63)
    assert ours.tolist() == plain.tolist()
    plain, ours = both(tiny("llama"), custom_generate(heads=None), {}, bos_token_id=1)
    assert ours.tolist() == plain.tolist()


class TestStops:
    """Rows that end in mid-block, at different lengths."""

    @pytest.fixture
    def fast(self, right_heads: Path) -> CustomGenerate:
        return custom_generate("medusa", heads=right_heads)

    @pytest.mark.parametrize(
        "options",
        [
            {"eos_token_id": letter_ids("f")},
            {"eos_token_id": letter_ids("fgx")},
            {"eos_token_id": letter_ids("c"), "min_new_tokens": 3},
            {"eos_token_id": letter_ids("f"), "min_length": 8},
            {"max_length": 7, "max_new_tokens": None},
            {"max_new_tokens": 1},
            {"eos_token_id": None},
            {"forced_eos_token_id": EOS},
        ],
    )
    def test_settings(self, alphabet: PreTrainedModel, fast: CustomGenerate, options: dict[str, Any]) -> None:
        for inputs in (letters("a", "bcd", "w"), letters("b")):
            plain, ours = both(alphabet, fast, inputs, **options)
            assert ours.tolist() == plain.tolist()

    def test_a_criterion_of_ones_own(self, alphabet: PreTrainedModel, fast: CustomGenerate) -> None:
        class AfterF:
            """Ends a row after its "f", and sees each length of the row once."""

            def __init__(self) -> None:
                self.lengths: list[int] = []

            def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
                self.lengths.append(input_ids.shape[1])
                return input_ids[:, -1] == letter_ids("f")[0]

        seen = [AfterF(), AfterF()]
        options = {"max_new_tokens": 20, "do_sample": False, "pad_token_id": 0, "eos_token_id": EOS}
        plain = alphabet.generate(**letters("a"), stopping_criteria=StoppingCriteriaList([seen[0]]), **options)
        ours = alphabet.generate(**letters("a"), stopping_criteria=StoppingCriteriaList([seen[1]]), custom_generate=fast, **options)
        assert ours.tolist() == plain.tolist() == [letter_ids("abcdef")]
        assert seen[1].lengths == seen[0].lengths == [2, 3, 4, 5, 6]

    @pytest.mark.parametrize("eos", [EOS, None])
    def test_a_criterion_that_knows_rows(self, alphabet: PreTrainedModel, fast: CustomGenerate, eos: int | None) -> None:
        """Each row has its own last letter. Without an end-of-text id rows go on until all have ended, as in transformers."""

        class Own:
            def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
                return input_ids[:, -1] == torch.tensor(letter_ids("kdz"))

        plain, ours = both(
            alphabet, fast, letters("a", "bc", "w"), stopping_criteria=StoppingCriteriaList([Own()]), eos_token_id=eos
        )
        assert ours.tolist() == plain.tolist()
        assert ours.shape == (3, 12)  # "b" to "k" are the longest row's ten
        padding = [0] * 9 if eos is not None else letter_ids("efghijklm")
        assert ours[1, 2:].tolist() == letter_ids("d") + padding

    @pytest.mark.parametrize("eos", [EOS, None])
    def test_stop_strings(self, alphabet: PreTrainedModel, fast: CustomGenerate, eos: int | None) -> None:
        tokenizer = letters_tokenizer().hf
        options = {"stop_strings": ["fg", "yz"], "tokenizer": tokenizer, "eos_token_id": eos}
        for inputs in (letters("a", "vw"), letters("c")):
            given = StoppingCriteriaList([StopStringCriteria(tokenizer, ["fg", "yz"])])
            plain, ours = both(alphabet, fast, inputs, **options)
            assert ours.tolist() == plain.tolist()
            plain, ours = both(alphabet, fast, inputs, stopping_criteria=given, eos_token_id=eos)
            assert ours.tolist() == plain.tolist()
        assert letters_tokenizer().decode(ours[0].tolist()) == "cdefg"

    def test_no_time(self, alphabet: PreTrainedModel, fast: CustomGenerate) -> None:
        """Time is up before the first token: transformers asks after it, and so does this."""
        plain, ours = both(alphabet, fast, letters("a", "bcd"), max_time=1e-9)
        assert ours.tolist() == plain.tolist()
        assert ours.shape == (2, 4)

    def test_a_wrong_answer_ends_the_call_and_leaves_nothing(self, alphabet: PreTrainedModel, fast: CustomGenerate) -> None:
        class Wrong:
            def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
                return torch.zeros(2, 3, dtype=torch.bool)

        with pytest.raises(InvalidParameterError, match=r"Wrong object .* answered with shape \(2, 3\); expected \(3,\)"):
            ours_alone(alphabet, fast, letters("a", "b", "c"), stopping_criteria=StoppingCriteriaList([Wrong()]))
        plain, ours = both(alphabet, fast, letters("a", "b"))
        assert ours.tolist() == plain.tolist()

    def test_the_end_of_the_context(self, fast: CustomGenerate, caplog: pytest.LogCaptureFixture) -> None:
        """Of 16 positions one is the prompt's: 15 new ones, and a word about it."""
        ours = ours_alone(alphabet_model(context=16), custom_generate(heads=None), letters("a"), max_new_tokens=40)
        assert ours.tolist() == [letter_ids("abcdefghijklmnop")]
        assert "a row ended after 15 new tokens, at the end of the model's context of 16" in caplog.text


class PerRow:
    """A processor that forbids another id in each row of the batch."""

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        for row in range(scores.shape[0]):
            scores[row, 30 + row :: 4] = -math.inf
        return scores


PROCESSED: dict[str, dict[str, Any]] = {
    "repetition penalty": {"repetition_penalty": 3.0},
    "n-grams": {"no_repeat_ngram_size": 2},
    "bad words": {"bad_words_ids": [[40], [9, 5]]},
    "bias": {"sequence_bias": {(33,): 40.0, (33, 34): 60.0}},
    "min length": {"min_new_tokens": 12, "eos_token_id": list(range(2, 40))},
    "suppressed": {"suppress_tokens": list(range(0, 64, 3)), "begin_suppress_tokens": list(range(1, 64, 3))},
    "decay": {"exponential_decay_length_penalty": (3, 1.6)},
    "prefix function": {"prefix_allowed_tokens_fn": lambda row, ids: [(len(ids) * (row + 3) + k) % VOCAB for k in range(9)]},
    "own, by row": {"logits_processor": LogitsProcessorList([PerRow()])},
    "all": {"repetition_penalty": 1.5, "no_repeat_ngram_size": 3, "suppress_tokens": [5, 6], "min_new_tokens": 9},
}


@pytest.mark.parametrize("drafter", ["ngram", "combined"])
@pytest.mark.parametrize("name", PROCESSED)
def test_processors(name: str, drafter: str, noisy_heads: Path) -> None:
    # three prompts of one length: where rows are padded, older transformers penalise the padding as well
    inputs = batch([prompt[:4] for prompt in PROMPTS if len(prompt) >= 4])
    plain, ours = both(tiny("llama"), custom_generate(drafter, heads=noisy_heads), inputs, **PROCESSED[name])
    assert ours.tolist() == plain.tolist()


@pytest.mark.parametrize("name", [name for name in PROCESSED if name not in ("repetition penalty", "all")])
def test_processors_of_padded_rows(name: str, noisy_heads: Path) -> None:
    plain, ours = both(tiny("llama"), custom_generate("medusa", heads=noisy_heads), batch(PROMPTS), **PROCESSED[name])
    assert ours.tolist() == plain.tolist()


def test_padding_is_not_penalised(noisy_heads: Path) -> None:
    """Each row as it is alone."""
    fast = custom_generate("medusa", heads=noisy_heads)
    together = ours_alone(tiny("llama"), fast, batch(PROMPTS), repetition_penalty=3.0, eos_token_id=None)
    for row, prompt in zip(together, PROMPTS):
        alone, _ = both(tiny("llama"), fast, batch([prompt]), repetition_penalty=3.0, eos_token_id=None)
        assert row[-NEW:].tolist() == alone[0, -NEW:].tolist()


class TestOutput:
    @pytest.mark.parametrize("wanted", [{}, {"output_scores": True}, {"output_logits": True, "output_scores": True}])
    def test_scores_and_logits(self, wanted: dict[str, bool], noisy_heads: Path) -> None:
        fast = custom_generate("combined", heads=noisy_heads)
        options = {"return_dict_in_generate": True, "repetition_penalty": 2.0, "eos_token_id": None, **wanted}
        plain, ours = both(tiny("llama"), fast, batch([prompt[:4] for prompt in PROMPTS if len(prompt) >= 4]), **options)
        assert type(ours) is type(plain)
        assert ours.sequences.tolist() == plain.sequences.tolist()
        for name in ("scores", "logits"):
            mine, theirs = getattr(ours, name), getattr(plain, name)
            assert (mine is None) == (theirs is None) == (f"output_{name}" not in wanted)
            assert mine is None or torch.allclose(torch.stack(mine), torch.stack(theirs), atol=1e-5)
        if "output_scores" in wanted:
            args = [[out.sequences, out.scores, None, True] for out in (plain, ours)]
            scores = [tiny("llama").compute_transition_scores(*each) for each in args]
            assert torch.allclose(scores[1], scores[0], atol=1e-4)
            ours.scores[0].add_(1)  # a tensor like any other

    def test_rows_that_end_earlier(self, alphabet: PreTrainedModel, right_heads: Path) -> None:
        """Row 0 ends with its second token; from there on its scores are zeros, and row 1 has its own."""
        options = {"return_dict_in_generate": True, "output_scores": True, "eos_token_id": letter_ids("f")}
        plain, ours = both(alphabet, custom_generate("medusa", heads=right_heads), letters("d", "a"), **options)
        assert ours.sequences.tolist() == plain.sequences.tolist() == [[*letter_ids("def"), 0, 0, 0], letter_ids("abcdef")]
        assert len(ours.scores) == len(plain.scores) == 5
        for place in range(5):
            assert torch.allclose(ours.scores[place][1], plain.scores[place][1], atol=1e-5)
        assert torch.allclose(ours.scores[1][0], plain.scores[1][0], atol=1e-5)
        assert ours.scores[2][0].abs().max() == 0

    def test_scores_reach_the_criteria(self, alphabet: PreTrainedModel, right_heads: Path) -> None:
        class Sixth:
            def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
                right = scores[-1].argmax(-1) == input_ids[:, -1]
                return right & (len(scores) == 6)

        options = {"return_dict_in_generate": True, "output_scores": True, "stopping_criteria": StoppingCriteriaList([Sixth()])}
        plain, ours = both(alphabet, custom_generate("medusa", heads=right_heads), letters("a", "pq"), **options)
        assert ours.sequences.tolist() == plain.sequences.tolist()
        assert ours.sequences.shape == (2, 8)


class TestStreamer:
    def test_tokens_one_by_one(self, alphabet: PreTrainedModel, right_heads: Path) -> None:
        class Log:
            def __init__(self) -> None:
                self.put_ids: list[list[int]] = []
                self.ends = 0

            def put(self, value: torch.Tensor) -> None:
                self.put_ids.append(value.flatten().tolist())

            def end(self) -> None:
                self.ends += 1

        logs = [Log(), Log()]
        options = {"eos_token_id": letter_ids("f"), "pad_token_id": 0, "max_new_tokens": 20, "do_sample": False}
        alphabet.generate(**letters("ab"), streamer=logs[0], **options)
        alphabet.generate(**letters("ab"), streamer=logs[1], custom_generate=custom_generate(heads=right_heads), **options)
        assert logs[1].put_ids == logs[0].put_ids == [letter_ids("ab"), *([token] for token in letter_ids("cdef"))]
        assert (logs[1].ends, logs[0].ends) == (1, 1)

    def test_text_in_another_thread(self, alphabet: PreTrainedModel, right_heads: Path) -> None:
        streamer = TextIteratorStreamer(letters_tokenizer().hf, skip_prompt=True, timeout=60)
        fast = custom_generate(heads=right_heads)
        thread = threading.Thread(
            target=ours_alone, args=(alphabet, fast, letters("a")), kwargs={"streamer": streamer, "max_new_tokens": 9}
        )
        thread.start()
        assert "".join(streamer) == "bcdefghij"
        thread.join()

    def test_one_text_only(self, alphabet: PreTrainedModel) -> None:
        class Silent:
            def put(self, value: torch.Tensor) -> None: ...
            def end(self) -> None: ...

        with pytest.raises(InvalidParameterError, match="a streamer takes one text, and this batch has 2 rows"):
            ours_alone(alphabet, custom_generate(heads=None), letters("a", "b"), streamer=Silent())


class TestSampling:
    @pytest.mark.parametrize(
        "options",
        [
            {"temperature": 0.7, "top_k": 0},
            {"temperature": 1.5, "top_k": 5, "top_p": 0.8},
            {"min_p": 0.1, "typical_p": 0.7, "repetition_penalty": 1.3},
            {"eta_cutoff": 0.02, "epsilon_cutoff": 0.01, "temperature": 2.0},
            {"top_p": 0.9, "renormalize_logits": True},
        ],
    )
    def test_the_drafter_changes_nothing(self, options: dict[str, Any], noisy_heads: Path) -> None:
        """The same seed of torch, the same text."""
        texts = []
        for drafter in ("none", "medusa", "combined"):
            torch.manual_seed(5)
            fast = custom_generate(drafter, heads=noisy_heads)
            texts.append(ours_alone(tiny("llama"), fast, batch(PROMPTS), do_sample=True, eos_token_id=None, **options).tolist())
        assert all(text == texts[0] for text in texts)

    def test_each_call_and_each_row_is_another(self) -> None:
        """At temperature 20 the 64 ids are about equally likely: 14 of them are the same twice with a chance below 1e-20."""
        options = {"do_sample": True, "eos_token_id": None, "temperature": 20.0, "top_k": 0, "num_return_sequences": 3}
        fast = custom_generate(heads=None)
        texts = [tuple(row) for _ in range(2) for row in ours_alone(tiny("llama"), fast, batch(PROMPTS[:1]), **options).tolist()]
        assert len(set(texts)) == 6

    def test_greedy_leaves_the_generator_alone(self) -> None:
        before = torch.get_rng_state()
        ours_alone(tiny("llama"), custom_generate(heads=None), batch(PROMPTS))
        assert torch.equal(torch.get_rng_state(), before)

    @pytest.mark.parametrize("temperature", [1.0, 2.0])
    def test_distribution(self, temperature: float, right_heads: Path) -> None:
        """After "a" the letter "b" has the logit 4, the other 63 ids 0. Its count in 400 texts is binomial; outside 4.5 standard
        deviations is a false alarm of less than 1 in 100,000. The texts of one call differ, since each has a seed of its own."""
        model = alphabet_model(sharpness=0.5)
        p = math.exp(4 / temperature) / (math.exp(4 / temperature) + VOCAB - 1)
        torch.manual_seed(0)
        out = ours_alone(
            model,
            custom_generate(heads=right_heads),
            letters("a"),
            do_sample=True,
            temperature=temperature,
            top_k=0,
            num_return_sequences=400,
            max_new_tokens=2,
            eos_token_id=None,
        )
        assert out.shape == (400, 3)
        hits = int((out[:, 1] == letter_ids("b")[0]).sum())
        assert abs(hits - 400 * p) < 4.5 * math.sqrt(400 * p * (1 - p))
        assert len(set(map(tuple, out.tolist()))) > 50

    def test_a_choice_of_one_is_greedy(self) -> None:
        plain, _ = both(tiny("llama"), custom_generate(heads=None), batch(PROMPTS))
        ours = ours_alone(tiny("llama"), custom_generate(heads=None), batch(PROMPTS), do_sample=True, top_k=1)
        assert ours.tolist() == plain.tolist()


class TestKept:
    def test_made_once(self, right_heads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        made = []
        real = CustomGenerate._load

        def counted(self: CustomGenerate, model: PreTrainedModel) -> Any:
            made.append(self)
            return real(self, model)

        monkeypatch.setattr(CustomGenerate, "_load", counted)
        model = alphabet_model()
        for drafter in ("medusa", "none", "ngram"):
            ours_alone(model, custom_generate(drafter, heads=right_heads), letters("a", "b"))
        assert len(made) == 1
        ours_alone(model, custom_generate(heads=None), letters("a"))
        assert len(made) == 2
        ours_alone(model.to(torch.float32), custom_generate(heads=right_heads), letters("a"))
        assert len(made) == 3  # what was made for float64 is of no use
        ours_alone(copy.deepcopy(model), custom_generate(heads=right_heads), letters("a"))
        assert len(made) == 4  # a copy has weights of its own

    def test_it_goes_with_the_model(self) -> None:
        model = build("llama")
        gone = weakref.ref(model)
        ours_alone(model, custom_generate(heads=None), batch(PROMPTS))
        del model
        gc.collect()
        assert gone() is None

    def test_weights_that_change_are_seen(self) -> None:
        """Training between two calls: the second one writes what the changed model writes."""
        model = build("llama")
        fast = custom_generate(heads=None)
        before, _ = both(model, fast, batch(PROMPTS))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.1)
        plain, ours = both(model, fast, batch(PROMPTS))
        assert ours.tolist() == plain.tolist() != before.tolist()

    def test_the_model_is_left_as_it_was(self) -> None:
        model = build("llama").train()
        model.model.layers[0].eval()
        modes = [module.training for module in model.modules()]
        weights = {name: value.clone() for name, value in model.state_dict().items()}
        config, generation = model.config.to_dict(), model.generation_config.to_dict()
        attention = model.config._attn_implementation
        ours_alone(model, custom_generate(heads=None), batch(PROMPTS))
        assert [module.training for module in model.modules()] == modes
        assert (model.config.to_dict(), model.generation_config.to_dict()) == (config, generation)
        assert model.config._attn_implementation == attention
        assert model.state_dict().keys() == weights.keys()
        assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())

    def test_generating_while_generating(self, alphabet: PreTrainedModel) -> None:
        fast = custom_generate(heads=None)

        class Again:
            def put(self, value: torch.Tensor) -> None:
                if value.dim() == 1:  # a token, no prompt
                    ours_alone(alphabet, fast, letters("b"))

            def end(self) -> None: ...

        with pytest.raises(HeadstartError, match="asks it to generate again"):
            ours_alone(alphabet, fast, letters("a"), streamer=Again())
        assert ours_alone(alphabet, fast, letters("a"), max_new_tokens=2).tolist() == [letter_ids("abc")]


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"num_beams": 3}, "num_beams=3 is not for custom_generate"),
            ({"penalty_alpha": 0.6, "top_k": 4}, "penalty_alpha=0.6 is not for custom_generate"),
            ({"prompt_lookup_num_tokens": 3}, r"prompt_lookup_num_tokens=3 .* custom_generate\(drafter='ngram'\)"),
            ({"guidance_scale": 2.0}, "guidance_scale=2.0 is not for custom_generate"),
            ({"output_attentions": True, "return_dict_in_generate": True}, "output_attentions=True"),
            ({"output_hidden_states": True, "return_dict_in_generate": True}, "output_hidden_states=True"),
            ({"cache_implementation": "static"}, "cache_implementation='static'"),
            ({"position_ids": torch.tensor([[4, 5, 6]])}, "position_ids of row 0 do not count"),
            ({"attention_mask": torch.tensor([[1, 1, 0]])}, "row 0 of attention_mask has zeros after its first one"),
            ({"attention_mask": torch.tensor([[0, 0, 0]])}, "row 0 of attention_mask is all zeros"),
            ({"synced_gpus": True}, "synced_gpus=True is not for custom_generate"),
        ],
    )
    def test_by_name(self, options: dict[str, Any], message: str) -> None:
        ids = {"input_ids": torch.tensor([[5, 6, 7]])}
        with pytest.raises((InvalidParameterError, PromptError), match=message):
            ours_alone(tiny("llama"), custom_generate(heads=None), ids, **options)

    def test_an_assistant(self) -> None:
        with pytest.raises(InvalidParameterError, match=r"assistant_model is not for custom_generate: .* draft_model="):
            ours_alone(tiny("llama"), custom_generate(heads=None), batch(PROMPTS[:1]), assistant_model=tiny("llama"))

    def test_the_callers_cache(self) -> None:
        from transformers import DynamicCache

        with pytest.raises(InvalidParameterError, match="is not for custom_generate: Headstart keeps its own cache"):
            ours_alone(tiny("llama"), custom_generate(heads=None), batch(PROMPTS[:1]), past_key_values=DynamicCache())

    def test_embeddings(self) -> None:
        embeds = tiny("llama").get_input_embeddings()(torch.tensor([[5, 6, 7]]))
        with pytest.raises(InvalidParameterError, match="inputs_embeds is not for custom_generate"):
            ours_alone(tiny("llama"), custom_generate(heads=None), {"inputs_embeds": embeds})

    def test_unknown_arguments(self) -> None:
        with pytest.raises(ValueError, match="temprature"):
            ours_alone(tiny("llama"), custom_generate(heads=None), batch(PROMPTS), temprature=1.0)

    def test_mistakes_in_our_own(self) -> None:
        with pytest.raises(InvalidParameterError, match="acceptance 'lucky' is not known"):
            custom_generate(acceptance="lucky")
        with pytest.raises(InvalidParameterError, match="nodes is 0; expected at least 1"):
            custom_generate(nodes=0)
        with pytest.raises(InvalidParameterError, match="drafter 'medusa' is not available"):
            ours_alone(tiny("llama"), custom_generate("medusa", heads=None), batch(PROMPTS))


def test_rejection(alphabet: PreTrainedModel, right_heads: Path) -> None:
    """Exact in distribution, so not lossy; at so sharp a model (the next letter has 0.98) nearly all letters are the next one."""
    fast = custom_generate("medusa", heads=right_heads, acceptance="rejection", draft_temperature=0.8)
    torch.manual_seed(1)
    out = ours_alone(alphabet, fast, letters("a", "c"), do_sample=True, top_k=0)
    assert (fast.stats[0].acceptance, fast.stats[0].lossy) == ("rejection", False)
    assert int((out[:, 2:] == out[:, 1:-1] + 1).sum()) > NEW
    with pytest.raises(InvalidParameterError, match="needs a drafter that draws its candidates, and 'ngram' does not"):
        ours_alone(alphabet, custom_generate("ngram", heads=right_heads, acceptance="rejection"), letters("a"), do_sample=True)


def test_lossy_rules_are_there_by_name(alphabet: PreTrainedModel, right_heads: Path) -> None:
    fast = custom_generate("medusa", heads=right_heads, acceptance="threshold", acceptance_options={"threshold": 0.01})
    torch.manual_seed(1)
    ours_alone(alphabet, fast, letters("a"), do_sample=True, top_k=0)
    assert (fast.stats[0].acceptance, fast.stats[0].lossy) == ("threshold", True)
