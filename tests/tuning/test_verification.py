"""Predicted beside measured."""

from typing import Any

import pytest

from headstart.drafters.arrangement import StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.sampling.params import SamplingParams
from headstart.tuning.verification import verify
from tests.tiny_models import alphabet_heads, alphabet_model, letter_ids, native


@pytest.mark.parametrize(("rows", "nodes", "tokens_per_step"), [(1, 2, 2.0), (1, 4, 4.0), (2, 4, 4.0)])
def test_heads_that_are_always_right(rows: int, nodes: int, tokens_per_step: float) -> None:
    """A chain of n nodes gives n tokens a step; 16 tokens after the first one are whole steps of two and of four."""
    model = native(alphabet_model())
    heads = alphabet_heads(model)
    drafter = MedusaDrafter(HeadGuesses(heads.heads, model), StaticTree(heads.tree))
    prompts = [letter_ids(letter) for letter in "abcde"]
    found = verify(
        model, drafter, prompts, rows=rows, nodes=nodes, tokens=17, stop_ids=frozenset(), params=SamplingParams(), seed=0,
        predicted_tokens=3.5, predicted_speedup=2.0,
    )  # fmt: skip
    assert found is not None
    texts = 5 if rows == 1 else 4  # an odd one is left over
    assert (found.texts, found.same_texts) == (texts, texts)
    assert found.measured_tokens == tokens_per_step
    assert found.steps == texts // rows * 16 / tokens_per_step
    assert found.measured_speedup > 0
    assert found.speedup_q1 <= found.speedup_q3
    assert (found.predicted_tokens, found.predicted_speedup) == (3.5, 2.0)
    assert found.to_dict()["nodes"] == nodes


def test_steps_count_until_a_text_of_the_batch_ends() -> None:
    """ "-" has one letter, a line break, before </s>: with two texts, plain steps are counted until then."""
    model = native(alphabet_model())
    heads = alphabet_heads(model)
    drafter = MedusaDrafter(HeadGuesses(heads.heads, model), StaticTree(heads.tree))
    found = verify(
        model, drafter, [letter_ids("a"), letter_ids("-")], rows=2, nodes=2, tokens=20, stop_ids=frozenset([2]),
        params=SamplingParams(), seed=0, predicted_tokens=2.0, predicted_speedup=1.0,
    )  # fmt: skip
    assert found is not None
    # the first step gives "a" two tokens, and "-" its </s>
    assert (found.steps, found.measured_tokens) == (1, 1.5)
    assert found.same_texts == 2


def test_batches_in_which_a_text_ends_at_once_are_left_out() -> None:
    """The line break is followed by </s> at once: alone it gives no step, and beside "a" none that all rows take part in."""
    model = native(alphabet_model())
    heads = alphabet_heads(model)
    drafter = MedusaDrafter(HeadGuesses(heads.heads, model), StaticTree(heads.tree))
    given: dict[str, Any] = {"nodes": 2, "tokens": 9, "stop_ids": frozenset([2]), "params": SamplingParams(), "seed": 0}
    given |= {"predicted_tokens": 2.0, "predicted_speedup": 1.0}
    ends, goes_on = letter_ids("\n"), letter_ids("a")
    assert verify(model, drafter, [ends], rows=1, **given) is None
    assert verify(model, drafter, [ends, goes_on], rows=2, **given) is None
    found = verify(model, drafter, [ends, goes_on], rows=1, **given)
    assert found is not None
    assert (found.texts, found.same_texts, found.steps, found.measured_tokens) == (2, 2, 4, 2.0)
