"""From a request to a row: everything about a request is checked here, before it waits."""

import math
from collections.abc import Mapping

from headstart.acceptance.rejection import Rejection
from headstart.acceptance.rules import Rule, rule_of
from headstart.drafters.protocol import Drafter
from headstart.engine.budget import FixedBudget, TreeBudget
from headstart.engine.row import Row
from headstart.errors import InvalidParameterError, PromptError
from headstart.models.protocol import ModelFacts
from headstart.request import Request
from headstart.sampling.kinds import check_number
from headstart.sampling.noise import fold
from headstart.sampling.processor_list import processor_list
from headstart.sampling.row import RowSampling


class Admission:
    """Makes rows of requests.

    Args:
        drafters: by the name that requests use.
        nodes: tree nodes of a row's pass where neither the request nor a budget says.
        nodes_of: by a drafter's name, the same where it has a number of its own.
        budgets: by a drafter's name, what decides about the nodes of its requests' trees where the request does not say.
    """

    def __init__(
        self,
        facts: ModelFacts,
        drafters: Mapping[str, Drafter],
        *,
        nodes: int,
        nodes_of: Mapping[str, int],
        budgets: Mapping[str, TreeBudget],
    ) -> None:
        self._facts = facts
        self._drafters = drafters
        self._nodes, self._nodes_of = nodes, nodes_of
        self._budgets = budgets

    def row(self, number: int, request: Request) -> Row:
        """A row that nobody has run yet.

        Raises:
            PromptError: empty prompt, unknown ids, or no room in the context for one more token.
            InvalidParameterError: a parameter is out of range.
        """
        rule = rule_of(request.acceptance, request.acceptance_options)
        row = Row(
            number=number,
            request=request,
            sampling=RowSampling(params=request.params, seed=fold(request.seed, 0), prompt_length=len(request.prompt_ids)),
            limit=self._limit(request),
            tree=self.budget(request.drafter, request.nodes, timed=not (rule.lossy or rule.draws)),
            rule=rule,
        )
        row.sampling.draft_temperature = self._draft_temperature(request, rule)
        row.sampling.draft_replacement = isinstance(rule, Rejection) and rule.replacement
        row.sampling.processors += processor_list(
            request.params,
            request.prompt_ids,
            vocab_size=self._facts.vocab_size,
            min_new_tokens=request.min_new_tokens,
            stop_ids=request.stop_ids,
        )
        row.stats.prompt_tokens = len(request.prompt_ids)
        row.stats.acceptance, row.stats.lossy, row.stats.weights = rule.name, rule.lossy, self._facts.weights
        return row

    def budget(self, drafter: str, nodes: int | None = None, *, timed: bool = True) -> TreeBudget:
        """What decides about the trees of a request with this drafter that asks for so many nodes; None asks for nothing.

        ``timed`` says that their size may follow the clock. Where the text depends on the tree (lossy rules, drawn candidates) it
        may not, or the same seed would give another text the next time.
        """
        if nodes is None and timed and drafter in self._budgets:
            return self._budgets[drafter]
        nodes = self._nodes_of.get(drafter, self._nodes) if nodes is None else nodes
        if nodes < 1:
            raise InvalidParameterError(f"nodes is {nodes}; expected at least 1, the root (1 is plain decoding)")
        facts = self._drafters[drafter].facts
        return FixedBudget(1 if not facts.depth else nodes if facts.nodes is None else min(nodes, facts.nodes))

    def _limit(self, request: Request) -> int:
        """How many ids the request may emit."""
        context = min(self._facts.context_length, request.max_context or self._facts.context_length)
        ids = request.prompt_ids
        if not ids:
            raise PromptError("the prompt is empty; give at least one token (a model with a BOS token can start from that)")
        if len(ids) >= context:
            raise PromptError(
                f"the prompt has {len(ids)} tokens and the context {context}: no room for one more token. Shorten the prompt"
            )
        if min(ids) < 0 or max(ids) >= self._facts.vocab_size:
            raise PromptError(
                f"the prompt holds ids outside 0 to {self._facts.vocab_size - 1}; were they made by another tokenizer?"
            )
        if request.drafter not in self._drafters:
            raise InvalidParameterError(f"drafter {request.drafter!r} is not available; expected one of {sorted(self._drafters)}")
        for name, least in (("max_new_tokens", 1), ("min_new_tokens", 0), ("logprobs", 0)):
            value = getattr(request, name)
            if value is not None and value < least:
                raise InvalidParameterError(f"{name} is {value}; expected at least {least}")
        room = context - len(ids)
        return room if request.max_new_tokens is None else min(request.max_new_tokens, room)

    def _draft_temperature(self, request: Request, rule: Rule) -> float | None:
        """At which candidates are drawn; None where they are taken by rank."""
        asked = request.draft_temperature
        if asked is not None:
            check_number("draft_temperature", asked)
            if not (math.isfinite(asked) and asked > 0):
                raise InvalidParameterError(
                    f"draft_temperature is {asked}; expected a number above 0, or None, which ranks candidates"
                )
        facts = self._drafters[request.drafter].facts
        if facts.depth and not facts.samples and (rule.draws or asked is not None):
            wanting = f"the acceptance {rule.name!r}" if rule.draws else "draft_temperature"
            able = sorted(name for name, drafter in self._drafters.items() if drafter.facts.samples)
            raise InvalidParameterError(
                f"{wanting} needs a drafter that draws its candidates, and {request.drafter!r} does not;"
                + (f" expected one of {able}" if able else " none that does is loaded: name heads or a draft model")
                + (", or choose the acceptance 'exact'" if rule.draws else ", or leave draft_temperature out")
            )
        return (request.params.temperature or None) if asked is None and rule.draws else asked
