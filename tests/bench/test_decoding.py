"""Batches decoded by us and by transformers, on the model that writes the alphabet."""

import time
from collections.abc import Iterator

import pytest
import torch

from headstart.bench.contestants import OurWay, about, takes
from headstart.bench.decoding import OUTSIDE, TEXT
from headstart.bench.split import StepSplit, step_split
from headstart.bench.transformers_way import TransformersWay
from headstart.errors import InvalidParameterError
from headstart.llm import LLM
from tests.tiny_llm import busy, tiny_llm
from tests.tiny_models import alphabet_model, letter_ids, letters_tokenizer

GIVEN = {"max_new_tokens": 9, "temperature": 0.0}


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which every reading is a second after the one before."""

    def seconds() -> Iterator[float]:
        now = 0.0
        while True:
            now += 1.0
            yield now

    moments = seconds()
    monkeypatch.setattr(time, "perf_counter", lambda: next(moments))


def our(name: str, llm: LLM | None = None) -> OurWay:
    llm = llm or tiny_llm()
    return OurWay(llm, about(name, llm))


@pytest.mark.usefixtures("ticks")
def test_plain() -> None:
    """9 letters: one from the prompt's pass, 8 steps."""
    llm = tiny_llm()
    run = our("plain", llm).decode([letter_ids("a")], seeds=[0], **GIVEN)
    (text,) = run.texts
    assert text.ids == letter_ids("bcdefghij")
    assert (text.prompt_tokens, text.steps, text.proposed, text.accepted_per_depth, run.passes) == (1, 8, 0, [], 8)
    assert (run.tokens, run.decode_tokens) == (9, 8)
    assert run.seconds == text.last
    assert len(run.gaps) == 8
    assert text.first + sum(run.gaps) == text.last
    assert not busy(llm)


@pytest.mark.usefixtures("ticks")
def test_heads_that_are_always_right() -> None:
    """A chain of four nodes gives four letters a step: 8 after the first in two steps of three accepted guesses."""
    run = our("medusa@4").decode([letter_ids("a")], seeds=[0], **GIVEN)
    (text,) = run.texts
    assert text.ids == letter_ids("bcdefghij")
    assert (text.steps, text.accepted_per_depth, run.passes, len(run.gaps)) == (2, [2, 2, 2], 2, 2)


@pytest.mark.usefixtures("ticks")
@pytest.mark.parametrize("rows", [1, 3])
def test_the_parts_are_the_whole(rows: int) -> None:
    """Whatever a batch does, the phases and what lies outside of them add up to the time after the prompts'."""
    run = our("medusa@4").decode([letter_ids("abc"[b]) for b in range(rows)], seeds=[0] * rows, **GIVEN)
    assert sum(run.phases.values()) == pytest.approx(run.seconds - run.prefill)
    assert min(run.phases.values()) >= 0
    # a step is read at its ends and between its phases: each phase takes a second of two steps
    assert {phase: run.phases[phase] for phase in ("draft", "verify", "accept", "commit")} == {
        "draft": 2, "verify": 2, "accept": 2, "commit": 2,
    }  # fmt: skip
    assert run.phases[TEXT] == 3 * rows  # a second for each of three pieces
    # the batch's start, and each piece's own reading: what no phase claims
    assert run.phases[OUTSIDE] == run.decode - run.phases[TEXT] - sum(
        seconds for phase, seconds in run.phases.items() if phase not in (TEXT, OUTSIDE)
    )


@pytest.mark.usefixtures("ticks")
def test_prompts_of_several_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes of 4 positions: two for the long prompt, of which the first gives no token, and one for the short one, beside the long
    text's first step. A pass over prompts takes a second on this clock."""
    monkeypatch.setattr("headstart.engine.engine.PREFILL_TOKENS", 4)
    run = our("plain").decode([letter_ids("abcabc"), letter_ids("ab")], seeds=[0, 0], **GIVEN)
    assert [text.ids for text in run.texts] == [letter_ids("defghijkl"), letter_ids("cdefghijk")]
    assert run.prefill == 3
    assert min(run.phases.values()) >= 0
    assert sum(run.phases.values()) == pytest.approx(run.seconds - run.prefill)
    assert run.phases["verify"] == run.passes == 9  # eight of each text, the long one's first alone


def test_rows_of_a_batch_that_end_at_different_times() -> None:
    """ "." is eighth from the end of the alphabet, so that </s> comes early."""
    run = our("medusa@4").decode([letter_ids("a"), letter_ids(";")], seeds=[0, 1], **GIVEN)
    assert [len(text.ids) for text in run.texts] == [9, 3]
    assert run.texts[1].ids == [*letter_ids("-\n"), 2]
    assert run.texts[1].last < run.texts[0].last
    assert run.passes == 2


@pytest.mark.parametrize("lookup", [False, True])
def test_transformers_writes_the_same(lookup: bool) -> None:
    way = TransformersWay(alphabet_model(), letters_tokenizer(), stop_ids=frozenset([2]), lookup=lookup)
    run = way.decode([letter_ids("abcabc")], seeds=[0], **GIVEN)
    (text,) = run.texts
    assert text.ids == letter_ids("defghijkl")
    assert (text.prompt_tokens, run.tokens) == (6, 9)
    assert 0 < run.prefill == text.first < text.last <= run.seconds
    assert text.steps <= 8
    assert run.phases == {}
    assert not lookup or sum(text.accepted_per_depth) == 8 - text.steps  # what is no step is a guess that was right


def test_transformers_in_a_batch() -> None:
    """Prompts of different lengths are padded on the left, and what follows </s> is cut off."""
    way = TransformersWay(alphabet_model(), letters_tokenizer(), stop_ids=frozenset([2]), lookup=False)
    run = way.decode([letter_ids("abc"), letter_ids(";")], seeds=[0, 1], **GIVEN)
    assert [text.ids for text in run.texts] == [letter_ids("defghijkl"), [*letter_ids("-\n"), 2]]
    assert [text.prompt_tokens for text in run.texts] == [3, 1]
    assert run.texts[1].last < run.texts[0].last


def test_transformers_keeps_to_the_rule_of_the_others() -> None:
    """Each of these in a model's own generation config would forbid every letter of the prompt."""
    model = alphabet_model()
    model.generation_config.repetition_penalty = 1000.0
    model.generation_config.no_repeat_ngram_size = 1
    model.generation_config.suppress_tokens = letter_ids("bcd")
    way = TransformersWay(model, None, stop_ids=frozenset([2]), lookup=False)
    prompt = letter_ids("bcda")
    assert way.decode([prompt], seeds=[0], **GIVEN).texts[0].ids == letter_ids("bcdefghij")


def test_names() -> None:
    llm = tiny_llm()
    auto = about("auto", llm)
    assert (auto.name, auto.drafter, auto.lossy) == ("combined", "combined", False)
    assert about("plain", llm).name == about("none", llm).name == "plain"
    sized = about("medusa@8+typical", llm)
    assert (sized.name, sized.nodes, sized.acceptance, sized.lossy) == ("medusa@8+typical", 8, "typical", True)
    assert not about("prompt-lookup", llm).ours
    assert not takes(about("prompt-lookup", llm), 2)
    assert takes(about("transformers", llm), 2)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("vllm", "contestant 'vllm' is not known here"),
        ("medusa@many", "'many' is no number of nodes"),
        ("medusa+bold", "acceptance 'bold' is not known"),
        ("draft-model:here", "is not known here"),  # none was loaded
    ],
)
def test_unknown_names(name: str, message: str) -> None:
    with pytest.raises(InvalidParameterError) as error:
        about(name, tiny_llm())
    assert message in str(error.value)


def test_heads_are_needed() -> None:
    with pytest.raises(InvalidParameterError, match="Drafters of heads need --heads"):
        about("medusa", tiny_llm(heads=False))


def test_shares_of_a_watched_text() -> None:
    """The trees' part and the waiting are parts of their phases, and dividing loses nothing."""
    way = our("medusa@4")
    split = step_split(lambda: way.decode([letter_ids("a")], seeds=[0], max_new_tokens=30, temperature=0.0), None)
    assert 0 < split.tree < 1
    assert all(0 <= share <= 1 for share in split.waiting.values())
    assert split.waiting["accept"] > 0  # the accepted tokens are fetched from the device
    phases = {"draft": 1.0, "verify": 4.0, "accept": 0.5, "commit": 0.25, TEXT: 0.125, OUTSIDE: 0.125}
    assert sum(split.divide(phases).values()) == pytest.approx(6.0)


def test_dividing() -> None:
    split = StepSplit(tree=0.25, waiting={"accept": 0.5}, verify={"attention": 0.2, "products": 0.8})
    parts = split.divide({"draft": 4.0, "verify": 10.0, "accept": 2.0, "commit": 1.0, TEXT: 0.5, OUTSIDE: 0.25})
    assert parts == {
        "drafting": 3.0, "tree construction": 1.0, "attention": 2.0, "products": 8.0, "acceptance": 1.0, "commit": 1.0,
        "synchronisation": 1.0, "detokenisation": 0.5, "other": 0.25,
    }  # fmt: skip


def test_draws_follow_the_seed() -> None:
    """A flat model: which letters come is the seed's doing, and the same one draws the same in any batch."""
    way = our("medusa@4", tiny_llm(sharpness=0.05))
    one, other = ([letter_ids("a")], [letter_ids("b"), letter_ids("a")])
    given = {"max_new_tokens": 12, "temperature": 1.0}
    alone = way.decode(one, seeds=[7], **given).texts[0].ids
    assert way.decode(other, seeds=[3, 7], **given).texts[1].ids == alone
    assert way.decode(one, seeds=[8], **given).texts[0].ids != alone
    assert torch.tensor(alone).unique().numel() > 3
