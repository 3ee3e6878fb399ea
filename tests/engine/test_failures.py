"""Whatever a caller brought along may raise at any time: that ends its own request and nothing else.

Each round draws what fails, when and for whom; the texts of all others are compared with those of undisturbed requests.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import pytest
import torch

from headstart.completion import TokenLogprob
from headstart.drafters.plain import PlainDrafter
from headstart.engine import engine as engine_module
from headstart.engine.engine import Engine
from headstart.request import Request
from headstart.sampling.logprobs import token_logprobs
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape
from tests.decoding import Outcome, ScriptedDrafter, decode, run, texts
from tests.tiny_models import VOCAB, native, tiny

NEW = 12
TREE = TreeShape.full([2, 2])
_random = random.Random(3)
PROMPTS = [[_random.randrange(3, VOCAB) for _ in range(length)] for length in (5, 9, 1, 14, 3, 7, 2, 11)]
MARKED = 5  # from here on, the number of likeliest tokens asked for tells whose log-probabilities are being made
PARTS = ("start", "propose", "commit", "stop", "processor", "matcher", "logprobs")


class Broken(Exception):
    """What fails here on purpose."""


@dataclass
class Fuse:
    """Raises at the n-th use, and at each one after it."""

    left: int

    def burn(self) -> None:
        self.left -= 1
        if self.left <= 0:
            raise Broken


class Fused(ScriptedDrafter):
    """A drafter that is right more often than not, and raises in one of its methods for some prompts."""

    def __init__(self, fuses: dict[tuple[int, ...], tuple[str, Fuse]], seed: int) -> None:
        known = {tuple(prompt): text for prompt, text in zip(PROMPTS, alone(), strict=True)}
        super().__init__(known, TREE, accuracy=0.7, vocab=VOCAB, seed=seed)
        self._fuses = fuses

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        super().start(row, ids, hidden_TD)
        self._burn("start", [row])

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        self._burn("propose", rows)
        return super().propose(rows, sampling, budgets)

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        super().commit(row, tokens, hidden_MD)
        self._burn("commit", [row])

    def stop(self, row: int) -> None:
        prompt = self._prompts.get(row)
        super().stop(row)
        if prompt in self._fuses and self._fuses[prompt][0] == "stop":
            self._fuses[prompt][1].burn()

    def _burn(self, method: str, rows: Sequence[int]) -> None:
        for row in rows:
            part, fuse = self._fuses.get(self._prompts[row], ("", Fuse(0)))
            if part == method:
                fuse.burn()


class FusedMatcher:
    def __init__(self, fuse: Fuse) -> None:
        self._fuse = fuse

    def feed(self, ids: Sequence[int]) -> int | None:
        for _ in ids:
            self._fuse.burn()
        return None


def fused_processor(fuse: Fuse) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    def process(ids_1T: torch.Tensor, scores_1V: torch.Tensor) -> torch.Tensor:
        fuse.burn()
        return scores_1V

    return process


@cache
def alone() -> tuple[list[int], ...]:
    """Each text decoded plainly by itself."""
    engine = Engine(native(tiny("llama")), {"none": PlainDrafter()})
    return tuple(texts(engine, [request(i)])[0] for i in range(len(PROMPTS)))


def request(index: int, drafter: str = "none") -> Request:
    """Every second one is sampled."""
    params = SamplingParams(temperature=1.0) if index % 2 else SamplingParams()
    return Request(prompt_ids=PROMPTS[index], drafter=drafter, max_new_tokens=NEW, seed=index, params=params, logprobs=index % 3)


@pytest.mark.parametrize("seed", range(12))
def test_any_part_of_any_row_at_any_time(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    victims = {i: (draw.choice(PARTS), Fuse(draw.randrange(1, 7))) for i in draw.sample(range(len(PROMPTS)), draw.randrange(1, 6))}
    fuses = {tuple(PROMPTS[i]): (part, fuse) for i, (part, fuse) in victims.items()}
    marked = {MARKED + i: fuse for i, (part, fuse) in victims.items() if part == "logprobs"}

    def logprobs(logits_MV: torch.Tensor, token_ids: Sequence[int], top: int) -> tuple[TokenLogprob, ...]:
        if top in marked:
            marked[top].burn()
        return token_logprobs(logits_MV, token_ids, top)

    monkeypatch.setattr(engine_module, "token_logprobs", logprobs)
    monkeypatch.setattr(engine_module, "PREFILL_TOKENS", draw.choice([6, 1024]))
    engine = Engine(
        native(tiny("llama"), max_rows=draw.choice([2, 8])), {"none": PlainDrafter(), "fused": Fused(fuses, seed)}, nodes=7
    )
    requests = []
    for i in range(len(PROMPTS)):
        one = request(i, draw.choice(["fused", "fused", "none"]) if i not in victims else "fused")
        part, fuse = victims.get(i, ("", Fuse(0)))
        if part == "processor":
            one = replace(one, params=replace(one.params, logits_processors=(fused_processor(fuse),)))
        if part == "matcher":
            one = replace(one, matcher=FusedMatcher(fuse))
        if part == "logprobs":
            one = replace(one, logprobs=MARKED + i)
        requests.append(one)
    outcomes = decode(engine, requests)
    for i, outcome in enumerate(outcomes):
        failed = i in victims and victims[i][1].left <= 0
        assert outcome.finish == ("error" if failed else "length"), (i, victims)
        assert isinstance(outcome.error, Broken) == failed
        assert outcome.ids == alone()[i][: len(outcome.ids)]
        assert len(outcome.ids) == outcome.stats.emitted_tokens
        if not failed:
            assert outcome.ids == alone()[i]
    assert not engine.has_work
    assert (engine.model.cache.lengths, engine.scheduler.rows) == ([], [])


def test_log_probabilities_that_fail_leave_no_ids_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "token_logprobs", lambda *_: Fuse(0).burn())
    engine = Engine(native(tiny("llama")), {"none": PlainDrafter()})
    first, second = decode(engine, [replace(request(0), logprobs=1), replace(request(1), logprobs=None)])
    assert (first.finish, first.ids, first.stats.emitted_tokens) == ("error", [], 0)
    assert (second.finish, second.ids) == ("length", alone()[1])


def test_a_drafter_that_cannot_let_go_ends_a_whole_text_with_an_error() -> None:
    drafter = Fused({tuple(PROMPTS[0]): ("stop", Fuse(1))}, seed=0)
    engine = Engine(native(tiny("llama")), {"fused": drafter}, nodes=7)
    first, second = decode(engine, [request(0, "fused"), request(1, "fused")])
    assert (first.finish, first.ids) == ("error", alone()[0])
    assert (second.finish, second.ids) == ("length", alone()[1])
    number = engine.add(request(0, "fused"))
    engine.step()
    event = engine.cancel(number)
    assert event is not None
    assert (event.finish_reason, type(event.error)) == ("cancelled", Broken)
    assert engine.model.cache.rows == 0


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["prefill", "verify", "lm_head"])
def test_a_model_that_fails_ends_everything_and_the_engine_goes_on(
    error: BaseException, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows how far the step had come: no text may go on from there."""
    model = native(tiny("llama"), max_rows=2)
    drafter = Fused({}, seed=0)
    engine = Engine(model, {"fused": drafter}, nodes=7)
    numbers = [engine.add(request(i, "fused")) for i in range(4)]
    engine.step()

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(model, where, fail)
        with pytest.raises(type(error)):
            run(engine, {number: Outcome() for number in numbers})
    assert not engine.has_work
    assert (engine.model.cache.rows, drafter._prompts) == (0, {})
    assert [engine.cancel(number) for number in numbers] == [None] * 4
    outcomes = {engine.add(request(i, "fused")): Outcome() for i in range(4)}
    run(engine, outcomes)
    assert [outcome.ids for outcome in outcomes.values()] == list(alone()[:4])
