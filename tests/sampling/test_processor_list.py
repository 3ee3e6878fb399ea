"""Which processors a request gets, and in what order."""

from typing import Any

import pytest
import torch

from headstart.errors import InvalidParameterError
from headstart.sampling.params import SamplingParams
from headstart.sampling.processor_list import processor_list
from headstart.sampling.row import RowSampling, processed

PROMPT = [1, 2]


def listed(**params: Any) -> list[str]:
    return [type(processor).__name__ for processor in processor_list(SamplingParams(**params), PROMPT, vocab_size=10)]


def test_what_is_unused_costs_nothing() -> None:
    """No processor, so that greedy rows are decided in one argmax over all nodes."""
    assert listed() == []
    assert listed(temperature=0.7, top_k=5, top_p=0.9, min_p=0.1, typical_p=0.9) == []
    assert listed(repetition_penalty=1.0, presence_penalty=0.0, frequency_penalty=0.0, logit_bias={}, bad_words=[]) == []
    assert listed(logit_bias={3: 0.0}) == []
    assert processor_list(SamplingParams(), PROMPT, vocab_size=10, min_new_tokens=5) == []  # nothing stops it anyway
    assert processor_list(SamplingParams(), PROMPT, vocab_size=10, stop_ids=[2]) == []


def test_the_order() -> None:
    everything = SamplingParams(
        repetition_penalty=2.0,
        presence_penalty=1.0,
        logit_bias={3: 1.0},
        bad_words=[[4]],
        allowed_token_ids=[3, 4],
        logits_processors=[lambda ids, scores: scores],
    )
    made = processor_list(everything, PROMPT, vocab_size=10, min_new_tokens=3, stop_ids=frozenset({9, 8}))
    names = ["LogitBias", "RepetitionPenalty", "OutputPenalties", "BadWords", "AllowedTokens", "MinNewTokens", "UserProcessor"]
    assert [type(processor).__name__ for processor in made] == names


def test_bias_comes_before_the_repetition_penalty() -> None:
    """As in transformers and vLLM: (1 + 3) / 2 and not 1 / 2 + 3."""
    params = SamplingParams(repetition_penalty=2.0, logit_bias={1: 3.0})
    row = RowSampling(params=params, seed=0, prompt_length=2, processors=processor_list(params, PROMPT, vocab_size=4))
    assert processed(torch.ones(4), row, []).tolist() == [1.0, 2.0, 0.5, 1.0]


def test_logits_are_changed_in_float32() -> None:
    """In bfloat16 8 - 0.01 would be 8 again."""
    params = SamplingParams(frequency_penalty=0.01)
    row = RowSampling(params=params, seed=0, prompt_length=2, generated=[1])
    row.processors += processor_list(params, PROMPT, vocab_size=2)
    assert processed(torch.tensor([8.0, 8.0], dtype=torch.bfloat16), row, []).tolist() == pytest.approx([8.0, 7.99])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"logit_bias": {10: 1.0}}, "logit_bias names the id 10; expected ids of this model, 0 to 9"),
        ({"bad_words": [[1, -2]]}, "bad_words names the id -2"),
        ({"allowed_token_ids": [0, 11, 12]}, "allowed_token_ids names the id 11"),
    ],
)
def test_ids_of_another_vocabulary(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        listed(**params)


def test_nothing_left_to_say() -> None:
    params = SamplingParams(allowed_token_ids=[3], bad_words=[[3]])
    row = RowSampling(params=params, seed=0, prompt_length=2, processors=processor_list(params, PROMPT, vocab_size=5))
    with pytest.raises(InvalidParameterError, match="no token is left after 2 new ones: bad_words, allowed_token_ids"):
        processed(torch.zeros(5), row, [1, 2])
