"""What happens to one row leaves its neighbours as they are, and leaves no trace when the row is gone."""

import random
from collections.abc import Callable, Sequence
from functools import cache

import pytest
import torch

from headstart.drafters.arrangement import StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine import engine as engine_module
from headstart.engine.engine import Engine
from headstart.models.protocol import BaseModel
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.trees.shape import TreeShape
from tests.decoding import FailingDrafter, Outcome, ScriptedDrafter, StopAt, decode, run, texts
from tests.tiny_models import VOCAB, adapter, native, noise_heads, tiny

NEW = 18
TREE = TreeShape.full([2, 2, 2])
_random = random.Random(5)
PROMPTS = [[_random.randrange(3, VOCAB) for _ in range(length)] for length in (4, 13, 1, 9, 22, 6)]
MODELS: dict[str, Callable[[], BaseModel]] = {
    "native": lambda: native(tiny("llama")),
    "adapter with windows": lambda: adapter(tiny("gemma2")),
}
GREEDY, SAMPLED = SamplingParams(), SamplingParams(temperature=1.0, top_p=0.95)


def request(index: int, drafter: str = "none") -> Request:
    """Every second one is sampled."""
    return Request(
        prompt_ids=PROMPTS[index], drafter=drafter, max_new_tokens=NEW, seed=index, params=SAMPLED if index % 2 else GREEDY
    )


@cache
def alone(model: str) -> tuple[list[int], ...]:
    """Each text decoded plainly by an engine of its own."""
    return tuple(texts(Engine(MODELS[model](), {"none": PlainDrafter()}), [request(i)])[0] for i in range(len(PROMPTS)))


def engine(model: str) -> Engine:
    base = MODELS[model]()
    known = {tuple(prompt): text for prompt, text in zip(PROMPTS, alone(model), strict=True)}
    drafters = {
        "none": PlainDrafter(),
        "scripted": ScriptedDrafter(known, TREE, accuracy=0.6, vocab=VOCAB),
        "medusa": MedusaDrafter(HeadGuesses(noise_heads(base), base), StaticTree(TREE)),
    }
    return Engine(base, drafters, nodes=len(TREE))


@pytest.mark.parametrize("model", MODELS)
class TestNeighbours:
    @pytest.mark.parametrize("drafter", ["none", "scripted", "medusa"])
    @pytest.mark.parametrize("gap", [1, 3])
    def test_rows_that_come_late(self, model: str, drafter: str, gap: int) -> None:
        decoder, outcomes = engine(model), {}
        for i in range(len(PROMPTS)):
            outcomes[decoder.add(request(i, drafter))] = Outcome()
            run(decoder, outcomes, steps=gap)
        run(decoder, outcomes)
        assert [outcome.ids for outcome in outcomes.values()] == list(alone(model))

    def test_drafters_in_one_batch(self, model: str) -> None:
        names = ["none", "scripted", "medusa", "scripted", "none", "medusa"]
        assert texts(engine(model), [request(i, name) for i, name in enumerate(names)]) == list(alone(model))

    @pytest.mark.parametrize("victims", [(0,), (5,), (1, 2), (0, 2, 4)])
    @pytest.mark.parametrize("after", [0, 1, 3])
    def test_rows_that_are_cancelled(self, model: str, victims: Sequence[int], after: int) -> None:
        decoder = engine(model)
        outcomes = {decoder.add(request(i, "scripted")): Outcome() for i in range(len(PROMPTS))}
        numbers = list(outcomes)
        run(decoder, outcomes, steps=after)
        for victim in victims:
            event = decoder.cancel(numbers[victim])
            assert event is not None
            outcomes[numbers[victim]].take(event)
        run(decoder, outcomes)
        for i, outcome in enumerate(outcomes.values()):
            if i in victims:
                assert (outcome.finish, outcome.ids) == ("cancelled", alone(model)[i][: len(outcome.ids)])
            else:
                assert outcome.ids == alone(model)[i]

    def test_a_cancelled_prompt_in_the_middle_of_its_chunks(self, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engine_module, "PREFILL_TOKENS", 6)
        decoder = engine(model)
        outcomes = {decoder.add(request(i, "scripted")): Outcome() for i in (0, 4, 3)}
        numbers = list(outcomes)
        run(decoder, outcomes, steps=3)
        assert outcomes[numbers[1]].ids == []  # 22 positions take longer than that
        outcomes[numbers[1]].take(decoder.cancel(numbers[1]))  # type: ignore[arg-type]
        outcomes[decoder.add(request(5, "scripted"))] = Outcome()  # takes the place that became free
        run(decoder, outcomes)
        assert [outcome.ids for outcome in outcomes.values()] == [alone(model)[0], [], alone(model)[3], alone(model)[5]]

    def test_a_place_that_becomes_free_is_taken_again(self, model: str) -> None:
        # two rows only: each further text is written over what the finished and the cancelled ones left
        decoder = engine(model)
        decoder.model.cache.max_rows = 2
        outcomes: dict[int, Outcome] = {}
        for wave in range(3):
            numbers = [decoder.add(request(i, "scripted")) for i in range(len(PROMPTS))]
            outcomes.update({number: Outcome() for number in numbers})
            run(decoder, outcomes, steps=2)
            for number in numbers[wave::3]:
                if (event := decoder.cancel(number)) is not None:
                    outcomes[number].take(event)
            run(decoder, outcomes)
            for i, number in enumerate(numbers):
                if outcomes[number].finish != "cancelled":
                    assert outcomes[number].ids == alone(model)[i]
        assert decoder.model.cache.rows == 0


class TestFailures:
    """A row whose own part fails ends with the finish reason "error"; the others are none the wiser."""

    @pytest.mark.parametrize("method", ["start", "propose", "commit"])
    def test_drafter(self, method: str) -> None:
        decoder = engine("native")
        failing = FailingDrafter(method, PROMPTS[2])
        decoder.drafters["failing"] = failing
        outcomes = decode(decoder, [request(i, "failing") for i in range(len(PROMPTS))])
        assert [str(outcome.error) for outcome in outcomes if outcome.finish == "error"] == [f"{method} failed"]
        self._others_are_whole(outcomes, failed=2)
        assert sorted(failing.stopped) == list(range(len(PROMPTS)))  # the failed row's state is given back like any other's
        assert outcomes[2].ids == alone("native")[2][: {"start": 0, "propose": 1, "commit": 2}[method]]
        assert len(outcomes[2].ids) == outcomes[2].stats.emitted_tokens
        assert decoder.model.cache.rows == 0

    def test_all_rows_of_a_pass(self) -> None:
        decoder = engine("native")
        decoder.drafters["failing"] = FailingDrafter("propose", PROMPTS[0])
        (outcome,) = decode(decoder, [request(0, "failing")])
        assert (outcome.finish, str(outcome.error), outcome.ids) == ("error", "propose failed", list(alone("native")[0][:1]))

    @pytest.mark.parametrize("at", [0, 1, 7])
    def test_matcher(self, at: int) -> None:
        # it raises when it sees the token number `at`, or the next one that has not been seen before
        def boom() -> None:
            raise RuntimeError("matcher failed")

        requests = [request(i, "scripted") for i in range(len(PROMPTS))]
        text = alone("native")[3]
        at = next(i for i in range(at, NEW) if text.index(text[i]) == i)
        requests[3] = Request(**{**vars(requests[3]), "matcher": StopAt(text[at], boom)})
        decoder = engine("native")
        outcomes = decode(decoder, requests)
        assert (outcomes[3].finish, str(outcomes[3].error)) == ("error", "matcher failed")
        assert outcomes[3].ids == text[: len(outcomes[3].ids)]
        assert len(outcomes[3].ids) <= at
        self._others_are_whole(outcomes, failed=3)

    @pytest.mark.parametrize("at", [0, 1, 7])
    def test_processor(self, at: int) -> None:
        def boom(logits_V: torch.Tensor, generated: Sequence[int]) -> torch.Tensor:
            if len(generated) >= at:
                raise RuntimeError("processor failed")
            return logits_V

        decoder = engine("native")
        outcomes = {}
        for i in range(len(PROMPTS)):
            outcomes[decoder.add(request(i, "scripted"))] = Outcome()
            if i == 1:
                decoder.scheduler.waiting[-1].sampling.processors.append(boom)
        run(decoder, outcomes)
        failed = list(outcomes.values())[1]
        assert (failed.finish, str(failed.error)) == ("error", "processor failed")
        assert failed.ids == alone("native")[1][: len(failed.ids)]
        assert len(failed.ids) == failed.stats.emitted_tokens <= at
        self._others_are_whole(list(outcomes.values()), failed=1)

    def _others_are_whole(self, outcomes: Sequence[Outcome], failed: int) -> None:
        for i, outcome in enumerate(outcomes):
            if i != failed:
                assert (outcome.finish, outcome.ids) == ("length", alone("native")[i])
            else:
                assert outcome.finish == "error"


class TestTraces:
    def test_nothing_is_left_of_finished_rows(self) -> None:
        decoder = engine("native")
        decode(decoder, [request(i, name) for i, name in enumerate(["none", "scripted", "medusa"] * 2)])
        scripted, medusa = decoder.drafters["scripted"], decoder.drafters["medusa"]
        assert isinstance(scripted, ScriptedDrafter)
        assert isinstance(medusa, MedusaDrafter)
        assert (scripted._prompts, medusa._hidden) == ({}, {})
        assert (decoder.model.cache.lengths, decoder.scheduler.rows, list(decoder.scheduler.waiting)) == ([], [], [])
        assert not decoder.has_work
        assert decoder.step() == []

    def test_cancelling_what_waits_or_is_gone(self) -> None:
        decoder = engine("native")
        decoder.model.cache.max_rows = 1
        first, second = decoder.add(request(0)), decoder.add(request(1))
        decoder.step()
        event = decoder.cancel(second)
        assert event is not None
        assert (event.number, event.finish_reason, event.token_ids) == (second, "cancelled", ())
        outcomes = {first: Outcome(ids=list(alone("native")[0][:1]))}
        run(decoder, outcomes)
        assert outcomes[first].ids == alone("native")[0]
        assert decoder.cancel(first) is None
        assert decoder.cancel(second) is None
        assert decoder.cancel(99) is None

    @pytest.mark.parametrize("drafter", ["scripted", "medusa"])
    def test_a_row_of_a_cancelled_request_has_the_right_length(self, drafter: str) -> None:
        decoder = engine("native")
        number = decoder.add(request(4, drafter))
        for _ in range(3):
            decoder.step()
        assert decoder.model.cache.lengths[0] >= len(PROMPTS[4]) + 2
        decoder.cancel(number)
        assert decoder.model.cache.lengths == []
        outcomes = {decoder.add(request(2, drafter)): Outcome()}
        run(decoder, outcomes, steps=1)
        assert decoder.model.cache.lengths == [len(PROMPTS[2])]
        run(decoder, outcomes)
        assert [outcome.ids for outcome in outcomes.values()] == [alone("native")[2]]
