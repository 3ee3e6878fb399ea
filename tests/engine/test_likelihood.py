"""Continuations are scored as one pass of transformers over each text scores them."""

from collections.abc import Sequence

import pytest
import torch

from headstart.engine import likelihood
from headstart.engine.likelihood import Pair, continuation_logprobs
from headstart.errors import PromptError
from tests.tiny_models import CONTEXT, VOCAB, adapter, native, tiny

PAIRS: list[Pair] = [
    ([5, 9, 11], [7, 3]),
    ([40], [12]),
    ([1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]),
    ([60, 61], []),
    ([33, 5], list(range(20, 50))),
]


def scored_by_transformers(pair: Pair) -> tuple[list[float], list[int]]:
    """Log-probabilities of the continuation, and the likeliest ids at its places."""
    context, continuation = pair
    ids = [*context, *continuation]
    with torch.no_grad():
        log_p_TV = tiny("llama")(input_ids=torch.tensor([ids[-(CONTEXT + 1) :]])).logits[0].log_softmax(-1)
    log_p_MV = log_p_TV[-len(continuation) - 1 : -1]
    return log_p_MV.gather(1, torch.tensor(continuation)[:, None])[:, 0].tolist(), log_p_MV.argmax(-1).tolist()


@pytest.mark.parametrize("chunk", [4, 16, 1024])
@pytest.mark.parametrize("make", [adapter, native], ids=["adapter", "native"])
def test_as_transformers(make: object, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one pass, in passes of a few rows, and (chunk 4) each text alone and in parts."""
    monkeypatch.setattr(likelihood, "PREFILL_TOKENS", chunk)
    model = make(tiny("llama"))  # type: ignore[operator]
    scored = continuation_logprobs(model, PAIRS)
    for pair, tokens in zip(PAIRS, scored):
        assert [one.token_id for one in tokens] == list(pair[1])
        if tokens:
            log_p, likeliest = scored_by_transformers(pair)
            assert [one.logprob for one in tokens] == pytest.approx(log_p, abs=1e-9)
            assert [one.top[0][0] for one in tokens] == likeliest
    assert model.cache.rows == 0


def test_the_end_of_what_is_too_long() -> None:
    """129 ids fit into a context of 128, since the last one is never read; of 140 the first eleven are dropped."""
    model = adapter(tiny("llama"))
    ids = [(7 * i) % VOCAB for i in range(140)]
    whole = continuation_logprobs(model, [(ids[:120], ids[120:])])[0]
    cut = continuation_logprobs(model, [(ids[11:120], ids[120:])])[0]
    assert whole == cut


def test_mistakes() -> None:
    model = adapter(tiny("llama"))
    with pytest.raises(PromptError, match="a context is empty"):
        continuation_logprobs(model, [([], [3])])
    with pytest.raises(PromptError, match="a continuation has 129 tokens and the model's context 128"):
        continuation_logprobs(model, [([3], [4] * 129)])


def test_nothing_asked() -> None:
    nothing: Sequence[Pair] = []
    assert continuation_logprobs(adapter(tiny("llama")), nothing) == []
