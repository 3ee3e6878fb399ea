"""Log-probabilities of emitted tokens: one for each id, the model's own, and the same whatever was guessed."""

import math

import pytest
import torch

from headstart.completion import TokenLogprob
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.engine.event import Event
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.trees.shape import TreeShape
from tests.decoding import FailingDrafter, ScriptedDrafter, StopAt
from tests.tiny_models import VOCAB, native, tiny

NEW = 14
PROMPTS = [[5, 9], [40, 41, 42], [33]]
SHAPE = TreeShape.full([3, 2])
PARAMS = {
    "greedy": SamplingParams(),
    "warm": SamplingParams(temperature=1.0, top_k=10),
    "penalised": SamplingParams(temperature=0.7, repetition_penalty=1.4, bad_words=[[7]]),
}


def told(engine: Engine, requests: list[Request]) -> list[tuple[list[int], list[TokenLogprob]]]:
    """Ids and log-probs of each request, which must be as many in every single event."""
    events: dict[int, list[Event]] = {engine.add(request): [] for request in requests}
    while engine.has_work:
        for event in engine.step():
            events[event.number].append(event)
            assert event.logprobs is not None
            assert [one.token_id for one in event.logprobs] == list(event.token_ids)
    return [
        ([token for event in row for token in event.token_ids], [one for event in row for one in event.logprobs or ()])
        for row in events.values()
    ]


def requests(params: str, drafter: str = "none", **options: object) -> list[Request]:
    settings = {"max_new_tokens": NEW, "logprobs": 3, "params": PARAMS[params], "drafter": drafter, **options}
    return [Request(prompt_ids=prompt, seed=i, **settings) for i, prompt in enumerate(PROMPTS)]  # type: ignore[arg-type]


def plain_engine() -> Engine:
    return Engine(native(tiny("llama")), {"none": PlainDrafter()})


@pytest.mark.parametrize("params", PARAMS)
def test_they_are_the_models_own(params: str) -> None:
    """From transformers' logits over the whole text at once: before penalties, temperature and filters. In float64, where two ways
    to compute the same differ by less than 1e-9."""
    for prompt, (ids, logprobs) in zip(PROMPTS, told(plain_engine(), requests(params))):
        with torch.inference_mode():
            logits_TV = tiny("llama")(torch.tensor([[*prompt, *ids]])).logits[0, len(prompt) - 1 : -1]
        log_p_TV = torch.log_softmax(logits_TV, -1)
        assert [one.logprob for one in logprobs] == pytest.approx([float(log_p_TV[t, token]) for t, token in enumerate(ids)])
        for one, log_p_V in zip(logprobs, log_p_TV):
            best = log_p_V.topk(3)
            assert [token for token, _ in one.top] == best.indices.tolist()
            assert [log_p for _, log_p in one.top] == pytest.approx(best.values.tolist())


@pytest.mark.parametrize("accuracy", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("params", PARAMS)
def test_guesses_do_not_change_them(params: str, accuracy: float) -> None:
    true = told(plain_engine(), requests(params))
    known = {tuple(prompt): ids for prompt, (ids, _) in zip(PROMPTS, true)}
    drafter = ScriptedDrafter(known, SHAPE, accuracy=accuracy, vocab=VOCAB)
    engine = Engine(native(tiny("llama")), {"none": PlainDrafter(), "guesses": drafter}, nodes=len(SHAPE))
    for (ids, logprobs), (true_ids, true_logprobs) in zip(told(engine, requests(params, "guesses")), true):
        assert ids == true_ids
        assert [one.logprob for one in logprobs] == pytest.approx([one.logprob for one in true_logprobs], abs=1e-9)
        assert [[token for token, _ in one.top] for one in logprobs] == [[token for token, _ in one.top] for one in true_logprobs]


def test_they_end_where_the_text_ends() -> None:
    """Guesses are right, so that a stop id, a matcher and the length all cut in the middle of a block of three."""
    ids = told(plain_engine(), requests("warm"))[1][0]
    assert ids[4] not in ids[:4]
    drafter = ScriptedDrafter({tuple(PROMPTS[1]): ids}, SHAPE, accuracy=1.0, vocab=VOCAB)
    for ending in ({"stop_ids": frozenset({ids[4]})}, {"matcher": StopAt(ids[4])}, {"max_new_tokens": 5}, {"max_new_tokens": 1}):
        engine = Engine(native(tiny("llama")), {"none": PlainDrafter(), "guesses": drafter}, nodes=len(SHAPE))
        ((cut, logprobs),) = told(engine, requests("warm", "guesses", **ending)[1:2])
        assert cut == ids[: 1 if ending == {"max_new_tokens": 1} else 5]
        assert len(logprobs) == len(cut)


def test_a_failure_after_acceptance_keeps_both() -> None:
    drafter = FailingDrafter("commit", PROMPTS[0])
    engine = Engine(native(tiny("llama")), {"none": PlainDrafter(), "failing": drafter})
    ((ids, logprobs),) = told(engine, requests("greedy", "failing")[:1])
    assert len(ids) == len(logprobs) == 2  # the first from prefill, the second from the step whose commit failed


def test_none_unless_asked_for() -> None:
    engine = plain_engine()
    engine.add(Request(prompt_ids=[5], max_new_tokens=2))
    assert [event.logprobs for _ in range(2) for event in engine.step()] == [None, None]


def test_without_the_most_likely_ones() -> None:
    (ids, logprobs), *_ = told(plain_engine(), requests("greedy", logprobs=0))
    assert len(logprobs) == len(ids) == NEW
    assert all(one.top == () and -math.inf < one.logprob < 0 for one in logprobs)
