"""Decoding one batch one way: what is counted."""

from headstart.drafters.arrangement import StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine.budget import FixedBudget
from headstart.engine.engine import Engine
from headstart.sampling.params import SamplingParams
from headstart.tuning.batch_run import BatchRun, decode_batch, rate
from tests.tiny_models import alphabet_heads, alphabet_model, letter_ids, native


def test_the_engines_own_budget_decides_where_no_size_is_given() -> None:
    """Heads that are always right: 2 nodes by the budget give 2 tokens a step, 4 by request give 4; the ids are the same."""
    model = native(alphabet_model())
    heads = alphabet_heads(model)
    drafter = MedusaDrafter(HeadGuesses(heads.heads, model), StaticTree(heads.tree))
    engine = Engine(model, {"none": PlainDrafter(), "medusa": drafter}, budgets={"medusa": FixedBudget(2)})
    batch = [letter_ids("a"), letter_ids("c")]
    runs = {
        (name, nodes): decode_batch(
            engine, batch, 17, frozenset(), drafter=name, nodes=nodes, params=SamplingParams(), seed=0
        )
        for name, nodes in (("none", None), ("medusa", None), ("medusa", 4))
    }  # fmt: skip
    assert [(run.steps, run.tokens) for run in runs.values()] == [(16, 32), (8, 32), (4, 32)]
    assert runs["none", None].texts == runs["medusa", None].texts == runs["medusa", 4].texts
    assert (runs["none", None].nodes, runs["none", None].guesses) == (1.0, 0)
    # the last step has room for fewer guesses
    assert runs["medusa", None].row_steps == 16
    assert 1.8 < runs["medusa", None].nodes <= 2.0
    assert model.cache.rows == 0


def test_rate() -> None:
    """30 tokens in 3 seconds, all runs together."""
    assert rate([BatchRun([], tokens=10, seconds=2.0), BatchRun([], tokens=20, seconds=1.0)]) == 10.0
    assert BatchRun([]).nodes == 1.0
