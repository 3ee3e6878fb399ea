"""Whether what was tuned holds here."""

import logging
from dataclasses import replace

import pytest
import torch

from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.tuned import KEY, Tuned, heads_mark
from headstart.engine.budget import AutomaticBudget
from headstart.engine.tuned_budget import tuned_budgets
from headstart.llm import LLM
from headstart.models.compiled import TREE_SLOTS, CompiledModel
from headstart.models.conditions import Conditions
from headstart.models.protocol import BaseModel
from headstart.trees.calibration import Calibration
from headstart.trees.step_table import StepTable
from tests.tiny_models import CONTEXT, alphabet_heads, alphabet_model, letter_ids, native

# two nodes pay for one text, nothing pays for four
TABLE = StepTable((1, 2, 4), (1.0, 1.9, 3.0), (1, 4), ((10.0, 10.0, 40.0), (20.0, 60.0, 160.0)))


def tuned_heads(model: BaseModel, **changes: object) -> HeadsDirectory:
    heads = alphabet_heads(model)
    tuned = Tuned(heads=heads_mark(heads.heads), conditions=Conditions.of(model), tables={"medusa": TABLE})
    tuned = replace(tuned, **changes)  # type: ignore[arg-type]
    return HeadsDirectory(heads.heads, heads.tree, nodes=3, predicted={KEY: tuned.to_dict()})


def test_here() -> None:
    model = native(alphabet_model())
    budgets = tuned_budgets(tuned_heads(model), model, torch.get_num_threads())
    assert list(budgets) == ["medusa", "combined"]
    assert isinstance(budgets["medusa"], AutomaticBudget)
    assert [budgets["medusa"].nodes(rows) for rows in (1, 4)] == [2, 1]
    assert tuned_budgets(alphabet_heads(model), model, None) == {}


def test_heads_without_calibration_get_a_hint(caplog: pytest.LogCaptureFixture) -> None:
    """They draft all the same, by their own word; calibrated ones need no hint. Where it was counted what their trees give, their
    size is made for this machine."""
    model = native(alphabet_model())
    heads = alphabet_heads(model)
    with caplog.at_level(logging.WARNING, logger="headstart"):
        assert tuned_budgets(replace_calibration(heads, Calibration.none(3)), model, None) == {}
        assert caplog.records == []
        assert tuned_budgets(replace_calibration(heads, None), model, None) == {}
    (message,) = [record.getMessage() for record in caplog.records]
    said = "the heads were never calibrated: trees take their probabilities as they are"
    assert message == f"{said}, and their size (4 nodes) is not made for this machine. Better: run `headstart tune`"
    caplog.clear()
    counted = HeadsDirectory(heads.heads, heads.tree, nodes=3, counts={(0,): 90, (0, 0): 80}, total=100)
    with caplog.at_level(logging.WARNING, logger="headstart"):
        assert tuned_budgets(counted, model, None) == {}
    (message,) = [record.getMessage() for record in caplog.records]
    assert message == f"{said}. Better: run `headstart tune`"


def replace_calibration(heads: HeadsDirectory, calibration: Calibration | None) -> HeadsDirectory:
    return HeadsDirectory(heads.heads, heads.tree, nodes=heads.nodes, calibration=calibration)


def test_elsewhere(caplog: pytest.LogCaptureFixture) -> None:
    model = native(alphabet_model())
    conditions = replace(Conditions.of(model), processor="another", threads=64, model="/another/place")
    with caplog.at_level(logging.WARNING, logger="headstart"):
        assert tuned_budgets(tuned_heads(model, conditions=conditions), model, 1) == {}
    (message,) = [record.getMessage() for record in caplog.records]
    assert "was another; threads is 1, was 64)" in message
    assert "trees begin with 3 nodes" in message
    assert "place" not in message  # where the model lies is not a difference


def test_other_heads(caplog: pytest.LogCaptureFixture) -> None:
    model = native(alphabet_model())
    with caplog.at_level(logging.WARNING, logger="headstart"):
        assert tuned_budgets(tuned_heads(model, heads="ffffffff"), model, torch.get_num_threads()) == {}
    assert "the heads are others" in caplog.text


def test_sizes_to_compile() -> None:
    """What was chosen, 2 nodes or plain decoding; and the 3 that the heads recommend, for rules whose text depends on its trees."""
    model = CompiledModel(native(alphabet_model()), max_rows=2, cache_tokens=2 * (CONTEXT + TREE_SLOTS), backend=None)
    llm = LLM(model, None, heads=tuned_heads(model), threads=torch.get_num_threads())
    assert llm.engine.budget("medusa").sizes == (1, 2)
    assert llm.engine.sizes("medusa") == {1, 2, 3}
    assert LLM(model, None, heads=tuned_heads(model), nodes=4).engine.sizes("medusa") == {1, 4}


def test_an_llm_takes_it_up() -> None:
    model = native(alphabet_model())
    heads = tuned_heads(model)
    llm = LLM(model, None, heads=heads, threads=torch.get_num_threads())
    # two nodes, always right: two tokens a step, so that 8 after the first take 4 steps
    single = llm.generate(letter_ids("a"), max_new_tokens=9)
    assert (single.stats.steps, list(single.token_ids)) == (4, letter_ids("bcdefghij"))
    # four texts: plain decoding, a step a token
    several = llm.generate([letter_ids(letter) for letter in "abcd"], max_new_tokens=7)
    assert [completion.stats.steps for completion in several] == [6, 6, 6, 6]
    # who says how many nodes gets them
    assert llm.generate(letter_ids("a"), max_new_tokens=9, nodes=4).stats.steps == 2
    fixed = LLM(model, None, heads=tuned_heads(model), nodes=4)
    assert fixed._engine.budgets == {}
    assert fixed.generate(letter_ids("a"), max_new_tokens=9).stats.steps == 2
