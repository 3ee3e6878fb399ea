"""How likely a model thinks given continuations: one pass over each text, no decoding.

Shapes: B rows, T positions of a chunk, D hidden, M tokens of a continuation, V vocabulary.
"""

from collections.abc import Iterator, Sequence

import torch

from headstart.completion import TokenLogprob
from headstart.engine.engine import PREFILL_TOKENS
from headstart.errors import PromptError
from headstart.models.protocol import BaseModel
from headstart.sampling.logprobs import token_logprobs

Pair = tuple[Sequence[int], Sequence[int]]
"""A context, at least one id, and what continues it."""


@torch.inference_mode()
def continuation_logprobs(model: BaseModel, pairs: Sequence[Pair]) -> list[list[TokenLogprob]]:
    """For each pair the log-probability (nats) of each id of the continuation, and the likeliest id at its place.

    Of a pair that is longer than the model's context the end is taken. The model's cache has to be empty, and is so afterwards.

    Raises:
        PromptError: an empty context, or a continuation longer than the model's.
        CapacityError: a text does not fit into the cache.
    """
    assert model.cache.rows == 0, "somebody is decoding with this model"
    if not all(context for context, _ in pairs):
        raise PromptError("a context is empty; give at least one token, the BOS for instance")
    scored: list[list[TokenLogprob]] = [[] for _ in pairs]
    room = model.facts.context_length
    longest = max((len(continuation) for _, continuation in pairs), default=0)
    if longest > room:
        raise PromptError(f"a continuation has {longest} tokens and the model's context {room}; score it in parts")
    # the last id is never read, so one more than the context is long has room
    texts = [[*context, *continuation][-(room + 1) :][:-1] for context, continuation in pairs]
    for group in _groups(texts, model):
        try:
            for row, index in enumerate(group):
                model.cache.add_row(len(texts[index]))
                assert model.cache.rows == row + 1
            counts = [len(pairs[index][1]) for index in group]
            for index, hidden_MD in zip(group, _last_states(model, [texts[index] for index in group], counts), strict=True):
                scored[index] = list(token_logprobs(model.lm_head(hidden_MD), pairs[index][1], 1)) if len(hidden_MD) else []
        finally:
            model.cache.clear()
    return scored


def _groups(texts: Sequence[Sequence[int]], model: BaseModel) -> Iterator[list[int]]:
    """Texts of one pass, by index: long ones first, and about as long as each other."""
    group: list[int] = []
    longest = 0
    for index in sorted(range(len(texts)), key=lambda index: -len(texts[index])):
        rows = len(group) + 1
        if group and (rows * longest > PREFILL_TOKENS or not model.cache.fits(rows, longest)):
            yield group
            group = []
        longest = longest if group else len(texts[index])
        group.append(index)
    if group:
        yield group


def _last_states(model: BaseModel, texts: Sequence[Sequence[int]], counts: Sequence[int]) -> list[torch.Tensor]:
    """The hidden states of each text's last ``counts`` positions (M x D)."""
    parts: list[list[torch.Tensor]] = [[] for _ in texts]
    longest = max(map(len, texts))
    for start in range(0, longest, PREFILL_TOKENS):  # more than one chunk only where the text is alone
        chunks = [text[start : start + PREFILL_TOKENS] for text in texts]
        ids_BT = torch.full((len(texts), max(map(len, chunks))), -1, dtype=torch.int64)
        for b, chunk in enumerate(chunks):
            ids_BT[b, : len(chunk)] = torch.tensor(chunk)
        hidden_BTD = model.prefill(ids_BT.to(model.facts.device), 0, [len(chunk) for chunk in chunks])
        for b, chunk in enumerate(chunks):
            first = max(0, len(texts[b]) - counts[b] - start)
            parts[b].append(hidden_BTD[b, first : len(chunk)])
    return [torch.cat(part) for part in parts]
