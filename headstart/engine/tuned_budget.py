"""The budgets that go with tuned heads, where what was measured holds."""

import logging
from dataclasses import replace

from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.tuned import heads_mark
from headstart.engine.budget import AutomaticBudget, TreeBudget
from headstart.engine.presumed_budget import can_learn
from headstart.models.compiled import CompiledModel
from headstart.models.conditions import Conditions
from headstart.models.protocol import BaseModel
from headstart.models.threads import cpu_threads

logger = logging.getLogger("headstart")


def tuned_budgets(heads: HeadsDirectory, model: BaseModel, threads: int | None) -> dict[str, TreeBudget]:
    """A budget that follows the running rows, for each drafter that was tuned; none where the heads never were.

    None either where times were measured for other heads or under other conditions, which is said in a warning; heads that could be
    tuned and were not even calibrated get a hint. Call it before the heads are moved to the model's precision.

    Raises:
        HeadsError: what is stored is malformed.
    """
    tuned = heads.tree_file.tuned
    if tuned is None:
        if heads.calibration is None and heads.config.kind == "medusa":  # no others can be tuned
            logger.warning(
                "the heads were never calibrated: trees take their probabilities as they are%s. Better: run `headstart tune`",
                "" if can_learn(heads, model) else f", and their size ({heads.nodes} nodes) is not made for this machine",
            )
        return {}
    with cpu_threads(threads):
        here = Conditions.of(model)
    then = replace(tuned.conditions, model=here.model)  # where it lies; that it is the right one is checked by its weights
    wrong = here.differences(then)
    if tuned.heads != heads_mark(heads.heads):
        wrong.insert(0, "the heads are others")
    if wrong:
        logger.warning(
            "what `headstart tune` measured does not hold here (%s): trees begin with %d nodes, as for heads that were never tuned."
            " Run it again here",
            "; ".join(wrong),
            heads.nodes,
        )
        return {}
    compiled = isinstance(model, CompiledModel)
    tables = dict(tuned.tables)
    if "medusa" in tables:  # passes and drafts take as long; that more is accepted is learned while decoding
        tables.setdefault("combined", tables["medusa"])
    return {name: AutomaticBudget(table, only_chosen=compiled) for name, table in tables.items()}
