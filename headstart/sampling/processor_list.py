"""The processors of a request: those that its parameters ask for, and no others."""

from collections.abc import Collection, Sequence

from headstart.errors import InvalidParameterError
from headstart.sampling.params import SamplingParams
from headstart.sampling.penalties import OutputPenalties, RepetitionPenalty
from headstart.sampling.processors import AllowedTokens, BadWords, LogitBias, MinNewTokens, Processor, UserProcessor


def processor_list(
    params: SamplingParams, prompt_ids: Sequence[int], *, vocab_size: int, min_new_tokens: int = 0, stop_ids: Collection[int] = ()
) -> list[Processor]:
    """In the order of :class:`SamplingParams`; empty where nothing changes the logits.

    Raises:
        InvalidParameterError: an id is outside the vocabulary.
    """
    _check_ids(params, vocab_size)
    processors: list[Processor] = []
    if any(params.logit_bias.values()):
        processors.append(LogitBias(params.logit_bias))
    if params.repetition_penalty != 1:
        processors.append(RepetitionPenalty(params.repetition_penalty, prompt_ids))
    if params.presence_penalty or params.frequency_penalty:
        processors.append(OutputPenalties(params.presence_penalty, params.frequency_penalty))
    if params.bad_words:
        processors.append(BadWords(params.bad_words, prompt_ids))
    if params.allowed_token_ids is not None:
        processors.append(AllowedTokens(params.allowed_token_ids))
    if min_new_tokens > 0 and stop_ids:
        processors.append(MinNewTokens(min_new_tokens, sorted(stop_ids)))
    processors += [
        UserProcessor(processor, prompt_ids, min_new_tokens=min_new_tokens, stop_ids=stop_ids)
        for processor in params.logits_processors
    ]
    return processors


def _check_ids(params: SamplingParams, vocab_size: int) -> None:
    named = {
        "logit_bias": params.logit_bias,
        "bad_words": [token for word in params.bad_words for token in word],
        "allowed_token_ids": params.allowed_token_ids or (),
    }
    for name, ids in named.items():
        foreign = [token for token in ids if not 0 <= token < vocab_size]
        if foreign:
            raise InvalidParameterError(f"{name} names the id {foreign[0]}; expected ids of this model, 0 to {vocab_size - 1}")
