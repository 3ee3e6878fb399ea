"""The model class of the evaluation harness, on the model that goes on with the next letter.

The harness itself is no dependency. Where it is not installed a stand-in has as much of it as the class uses: the base class
with its cache hook, and the registry.
"""

import importlib
import importlib.util
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from headstart.errors import HeadstartError, InvalidParameterError
from tests.tiny_llm import tiny_llm
from tests.tiny_models import CONTEXT, VOCAB, alphabet_model, letter_ids, letters_tokenizer, tiny

INSTALLED = importlib.util.find_spec("lm_eval") is not None
OWN = "headstart.interop.lm_eval"


class Hook:
    def __init__(self) -> None:
        self.seen: list[tuple[str, Any, Any]] = []

    def add_partial(self, attr: str, req: Any, res: Any) -> None:
        self.seen.append((attr, req, res))


class StandIn:
    def __init__(self) -> None:
        self.cache_hook = Hook()


@dataclass
class Instance:
    args: tuple[Any, ...]


def stand_in(registered: dict[str, type]) -> dict[str, ModuleType]:
    names = ("lm_eval", "lm_eval.api", "lm_eval.api.model", "lm_eval.api.registry")
    modules = {name: ModuleType(name) for name in names}
    modules["lm_eval.api.model"].LM = StandIn  # type: ignore[attr-defined]
    modules["lm_eval.api.registry"].register_model = lambda name: lambda cls: registered.setdefault(name, cls)  # type: ignore[attr-defined]
    return modules


@pytest.fixture(scope="module")
def model_class() -> Iterator[Any]:
    if INSTALLED:
        from headstart.interop.lm_eval import HeadstartLM

        yield HeadstartLM
        return
    registered: dict[str, type] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, module in stand_in(registered).items():
            patch.setitem(sys.modules, name, module)
        patch.delitem(sys.modules, OWN, raising=False)
        importlib.import_module(OWN)
        yield registered["headstart"]
    sys.modules.pop(OWN, None)


@pytest.fixture
def lm(model_class: Any) -> Any:
    made = model_class(tiny_llm(), batch_size=2)
    made.cache_hook = Hook()
    return made


def answers(lm: Any, *asked: tuple[str, dict[str, Any]]) -> list[str]:
    return lm.generate_until([Instance(args) for args in asked], disable_tqdm=True)  # type: ignore[no-any-return]


class TestGenerateUntil:
    def test_in_order_and_by_their_own_rules(self, lm: Any) -> None:
        greedy = {"until": ["h", "\n"], "max_gen_toks": 20, "do_sample": False}
        asked = [("a", greedy), ("w", {**greedy, "max_gen_toks": 3}), ("bc", greedy), ("d", {**greedy, "until": "g"})]
        assert answers(lm, *asked) == ["bcdefg", "xyz", "defg", "ef"]
        kept = [("generate_until", args, text) for args, text in zip(asked, ["bcdefg", "xyz", "defg", "ef"])]
        assert sorted(lm.cache_hook.seen, key=repr) == sorted(kept, key=repr)
        assert lm.tokens_per_step > 1.5  # the heads are right

    def test_special_tokens_stop_as_ids(self, lm: Any) -> None:
        """No text shows the id of "</s>", so it would never be found as a string; what follows it is "a"."""
        rules = {"ignore_eos": True, "max_gen_toks": 6}
        assert answers(lm, (":", rules), (":", {**rules, "until": ["</s>"]})) == [";-\nab", ";-\n"]

    def test_an_added_token_that_texts_show_stops_as_a_string_too(self, lm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """ "e" as if it had been added to the vocabulary under an id that is never written."""
        monkeypatch.setattr(lm.tokenizer, "get_added_vocab", lambda: {"e": 0})
        assert answers(lm, ("a", {"until": ["e"], "max_gen_toks": 20})) == ["bcd"]

    def test_the_end_of_a_long_context(self, lm: Any) -> None:
        """Of the context 128 - 5 letters are read; the last one decides what comes."""
        assert answers(lm, ("xyz" * 100 + "k", {"until": [], "max_gen_toks": 5})) == ["lmnop"]

    def test_sampling_is_repeated_by_the_seed(self, model_class: Any) -> None:
        flat = {"until": [], "max_gen_toks": 12, "do_sample": True, "temperature": 8.0, "top_k": 0}
        once, again = (answers(model_class(tiny_llm(), seed=3), *[("a", flat)] * 3) for _ in range(2))
        assert once == again
        assert len(set(once)) == 3  # each request has noise of its own
        assert answers(model_class(tiny_llm(), seed=4, batch_size=1), ("a", flat)) != once[:1]
        alone = model_class(tiny_llm(), seed=3, batch_size=1)
        assert answers(alone, *[("a", flat)] * 3) == once  # whatever the batch

    def test_what_is_not_known(self, lm: Any) -> None:
        with pytest.raises(InvalidParameterError, match=r"unknown options \['num_beams'\]"):
            answers(lm, ("a", {"until": [], "max_gen_toks": 5, "num_beams": 4}))
        with pytest.raises(InvalidParameterError, match=f"{CONTEXT} new tokens are asked for, and the model's context"):
            answers(lm, ("a", {"until": [], "max_gen_toks": CONTEXT}))


class TestLoglikelihood:
    RIGHT = 8 - math.log(math.exp(8) + VOCAB - 1)  # the next letter's logit is 8, those of 63 others 0
    WRONG = -math.log(math.exp(8) + VOCAB - 1)

    def test_continuations(self, lm: Any) -> None:
        asked = [("ab", "cd"), ("ab", "ce"), ("x", "yzABC"), ("", "b"), ("", "a")]
        found = lm.loglikelihood([Instance(args) for args in asked], disable_tqdm=True)
        # nothing before "b" is the BOS, after which comes "a"
        expected = [2 * self.RIGHT, self.RIGHT + self.WRONG, 5 * self.RIGHT, self.WRONG, self.RIGHT]
        assert [log_p for log_p, _ in found] == pytest.approx(expected, abs=2e-3)  # the norm's epsilon
        assert [greedy for _, greedy in found] == [True, False, True, False, True]
        assert [(name, req) for name, req, _ in lm.cache_hook.seen] == [("loglikelihood", args) for args in asked]

    def test_spaces_between_belong_to_the_continuation(self, lm: Any) -> None:
        """ "a " and "b": scored are the space and the b, both wrong."""
        ((log_p, greedy),) = lm.loglikelihood([Instance(("a ", "b"))], disable_tqdm=True)
        assert log_p == pytest.approx(2 * self.WRONG, abs=2e-3)
        assert not greedy

    def test_a_continuation_that_has_become_one_with_the_context(self, lm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """A tokenizer that has one id for "bc": it is scored after what stands before it, and not given away."""
        merged = {"abc": [*letter_ids("a"), 60], "ab": letter_ids("ab")}
        monkeypatch.setattr(lm, "_encode", merged.__getitem__)
        ((log_p, greedy),) = lm.loglikelihood([Instance(("ab", "c"))], disable_tqdm=True)
        assert log_p == pytest.approx(self.WRONG, abs=2e-3)
        assert not greedy
        monkeypatch.setattr(lm, "_encode", {"abc": [60], "ab": [40]}.__getitem__)  # nothing is left before it
        assert lm._pair("ab", "c") == ([lm.prefix_token_id], [60])

    def test_rolling_windows(self, lm: Any) -> None:
        """300 letters in a context of 128, each scored once, as a pass of transformers over the same windows scores them."""
        ids = [3 + (5 * i) % 60 for i in range(300)]
        text = lm.llm.tokenizer.decode(ids)
        assert letter_ids(text) == ids
        (total,) = lm.loglikelihood_rolling([Instance((text,))], disable_tqdm=True)
        # full windows have one id before them; the last one, of 44 ids, has as many as the context holds
        windows = [([1, *ids[:127]], ids[:128]), (ids[127:255], ids[128:256]), (ids[171:299], ids[256:])]
        expected = 0.0
        for inputs, targets in windows:
            with torch.no_grad():
                log_p_TV = alphabet_model()(input_ids=torch.tensor([inputs])).logits[0].log_softmax(-1)
            expected += float(log_p_TV[-len(targets) :].gather(1, torch.tensor(targets)[:, None]).sum())
        assert total == pytest.approx(expected, rel=1e-9)

    def test_an_empty_text(self, lm: Any) -> None:
        assert lm.loglikelihood_rolling([Instance(("",)), Instance(("a",))], disable_tqdm=True) == [
            0,
            pytest.approx(self.RIGHT, abs=2e-3),
        ]


def test_chat_templates(lm: Any) -> None:
    history = [{"role": "user", "content": "ab"}]
    assert lm.apply_chat_template(history) == "<s>ab"
    assert lm.chat_template(True) == lm.tokenizer.chat_template
    assert lm.tokenizer_name == ""
    # the template has written the BOS: a second one would be another prompt, and is not put in
    assert answers(lm, (lm.apply_chat_template(history), {"until": [], "max_gen_toks": 2})) == ["cd"]
    assert lm._encode("<s>ab") == [1, *letter_ids("ab")]


def test_mistakes(model_class: Any) -> None:
    with pytest.raises(InvalidParameterError, match="came without a tokenizer"):
        model_class(tiny_llm(tokenizer=False))
    with pytest.raises(InvalidParameterError, match=r"\['nodes'\] come too late for a loaded LLM"):
        model_class(tiny_llm(), nodes=4)
    with pytest.raises(InvalidParameterError, match="batch_size is 0"):
        model_class(tiny_llm(), batch_size=0)


@pytest.mark.skipif(not INSTALLED, reason="compares with the harness's own class; pip install lm-eval")
def test_as_the_harness_scores(tmp_path: Path) -> None:
    """Its class for transformers' models, on a random model in float64."""
    from lm_eval.api.instance import Instance as Real
    from lm_eval.models.huggingface import HFLM

    from headstart.interop.lm_eval import HeadstartLM

    tiny("llama").save_pretrained(tmp_path)
    letters_tokenizer().hf.save_pretrained(tmp_path)
    theirs = HFLM(pretrained=tiny("llama"), tokenizer=letters_tokenizer().hf, batch_size=1)
    ours = HeadstartLM(tmp_path, heads=None, dtype="float64", batch_size=2)

    def asked(kind: str, *args: tuple[Any, ...]) -> list[Any]:
        return [Real(request_type=kind, doc={}, arguments=each, idx=0) for each in args]

    pairs = asked("loglikelihood", ("ab", "cd"), ("hello ", "world"), ("", "xyz"), ("x" * 150, "yz"))
    for (mine, greedy), (other, other_greedy) in zip(ours.loglikelihood(pairs), theirs.loglikelihood(pairs)):
        assert (mine, greedy) == (pytest.approx(other, abs=1e-9), other_greedy)
    rolling = asked("loglikelihood_rolling", ("abc" * 100,), ("hello world",), ("q",))
    assert ours.loglikelihood_rolling(rolling) == pytest.approx(theirs.loglikelihood_rolling(rolling), abs=1e-9)
    greedy_rules = {"max_gen_toks": 20, "do_sample": False}
    written = asked(
        "generate_until", ("hello world", {"until": ["a"], **greedy_rules}), ("abc", {"until": ["</s>"], **greedy_rules})
    )
    assert ours.generate_until(written) == theirs.generate_until(written)


def test_without_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("lm_eval", "lm_eval.api.model"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, OWN, raising=False)
    with pytest.raises(HeadstartError, match="install it: pip install lm-eval"):
        importlib.import_module(OWN)
