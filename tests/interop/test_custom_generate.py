"""``model.generate(custom_generate=...)`` writes what ``model.generate`` writes, whatever it is asked for, or refuses by name.

The alphabet model goes on with the next letter, and its heads are right, so that blocks are four tokens long and stops fall
into the middle of them.
"""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    LogitsProcessorList,
    PreTrainedModel,
    StoppingCriteriaList,
    StopStringCriteria,
)

from headstart.errors import InvalidParameterError
from headstart.interop.custom_generate import CustomGenerate, custom_generate
from tests.interop.calls import NEW, PROMPTS, batch, both, letters, ours_alone
from tests.tiny_models import (
    EOS,
    VOCAB,
    alphabet_model,
    build,
    letter_ids,
    letters_tokenizer,
    tiny,
)

DRAFTERS = ["none", "ngram", "medusa", "medusa-static", "combined"]


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
