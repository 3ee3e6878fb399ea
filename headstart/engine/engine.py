"""The decode loop: propose, verify, accept, commit, for a batch of rows that come and go.

Token ids only; text is made above. One step is one pass of the base model over all running rows (and, while prompts wait,
one pass over a chunk of those). Not thread-safe: one caller at a time.

Shapes: B rows, N tree nodes, T positions of a chunk, V vocabulary, D hidden.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeVar

import torch

from headstart.acceptance.rules import accept, rule_of
from headstart.acceptance.walk import Accepted
from headstart.completion import TokenLogprob
from headstart.drafters.protocol import Drafter
from headstart.engine.budget import FixedBudget, TreeBudget
from headstart.engine.clock import Clock
from headstart.engine.event import Event
from headstart.engine.row import Row
from headstart.engine.scheduler import Scheduler
from headstart.engine.stop import crop
from headstart.errors import InvalidParameterError, PromptError
from headstart.models.protocol import BaseModel
from headstart.request import Request
from headstart.sampling.logprobs import token_logprobs
from headstart.sampling.noise import fold
from headstart.sampling.processor_list import processor_list
from headstart.sampling.row import RowSampling, choose
from headstart.trees.candidate import CandidateTree

Outcome = TypeVar("Outcome")

PREFILL_TOKENS = 1024
"""Positions of prompt in one pass: enough to be bound by arithmetic, few enough that running rows hardly wait."""


class Engine:
    """Decodes requests with the named drafters.

    Args:
        model: the base model; its cache must not be used by anybody else meanwhile.
        drafters: by the name that requests use; "none" has to be among them.
        nodes: tree nodes a row's pass may hold where neither the request nor a budget says, the root included.
        budgets: by a drafter's name, what decides about the nodes of its requests' trees where the request does not say.
    """

    def __init__(
        self,
        model: BaseModel,
        drafters: Mapping[str, Drafter],
        *,
        nodes: int = 8,
        budgets: Mapping[str, TreeBudget] | None = None,
    ) -> None:
        self.model = model
        self.drafters = dict(drafters)
        self.nodes = nodes
        self.budgets = dict(budgets or {})
        self.scheduler = Scheduler(model.cache)
        self._numbers = count()

    @property
    def has_work(self) -> bool:
        return self.scheduler.has_work

    def add(self, request: Request) -> int:
        """Queue a request; returns its number.

        Raises:
            PromptError: empty prompt, unknown ids, or no room in the context for one more token.
            CapacityError: it can never fit into the cache.
            InvalidParameterError: a parameter is out of range.
        """
        row = Row(
            number=next(self._numbers),
            request=request,
            sampling=RowSampling(params=request.params, seed=fold(request.seed, 0), prompt_length=len(request.prompt_ids)),
            limit=self._limit(request),
            tree=self._tree_budget(request),
            rule=rule_of(request.acceptance, request.acceptance_options),
        )
        row.sampling.processors += processor_list(
            request.params,
            request.prompt_ids,
            vocab_size=self.model.facts.vocab_size,
            min_new_tokens=request.min_new_tokens,
            stop_ids=request.stop_ids,
        )
        row.stats.prompt_tokens = len(request.prompt_ids)
        row.stats.acceptance, row.stats.lossy = row.rule.name, row.rule.lossy
        self.scheduler.add(row)
        return row.number

    @torch.inference_mode()
    def cancel(self, number: int) -> Event | None:
        """Stop a request now, its cache row and its drafter's state given back; None if it has finished already."""
        for row in [*self.scheduler.rows, *self.scheduler.waiting]:
            if row.number == number:
                self._forget(row)
                return Event(number, (), "cancelled", None, row.stats)
        return None

    @torch.inference_mode()
    def step(self) -> list[Event]:
        """Admit, prefill one chunk, decode one step. Returns what each request emitted."""
        self.scheduler.admit()
        decoding = [row for row in self.scheduler.rows if row.running]
        events = self._prefill(self.scheduler.next_prefill(PREFILL_TOKENS))
        if decoding:
            events += self._decode([row for row in decoding if row.slot_row >= 0])
        return events

    def _prefill(self, rows: Sequence[Row]) -> list[Event]:
        """One chunk of prompt for neighbouring rows; those whose prompt ends get their first root."""
        if not rows:
            return []
        clock = Clock()
        per_row = max(1, PREFILL_TOKENS // len(rows))
        counts = [min(per_row, len(row.request.prompt_ids) - row.prefilled) for row in rows]
        ids_BT = torch.full((len(rows), max(counts)), -1, dtype=torch.int64)
        for b, (row, n) in enumerate(zip(rows, counts, strict=True)):
            ids_BT[b, :n] = torch.tensor(row.request.prompt_ids[row.prefilled : row.prefilled + n])
        hidden_BTD = self.model.prefill(ids_BT.to(self.model.facts.device), rows[0].slot_row, counts)
        done: list[int] = []
        failed: list[tuple[Row, Exception]] = []
        for b, (row, n) in enumerate(zip(rows, counts, strict=True)):
            try:
                self._start_drafting(row, n, hidden_BTD[b])
            except Exception as error:  # noqa: BLE001  (the drafter failed on this prompt)
                failed.append((row, error))
                continue
            row.prefilled += n
            if row.prefilled == len(row.request.prompt_ids):
                done.append(b)
        events = []
        if done:
            events = self._first_roots([rows[b] for b in done], hidden_BTD[done, [counts[b] - 1 for b in done]])
        events += [self._failed(row, error) for row, error in failed]
        clock.lap("prefill")
        for row in rows:
            clock.charge(row.stats)
        return events

    def _start_drafting(self, row: Row, n: int, hidden_TD: torch.Tensor) -> None:
        """Show the drafter what it wants of the prompt's next ``n`` positions."""
        drafter, ids = self.drafters[row.request.drafter], row.request.prompt_ids
        end = row.prefilled + n
        if drafter.facts.hidden == "all":
            drafter.start(row.number, ids[row.prefilled : end], hidden_TD[:n])
        elif end == len(ids):
            drafter.start(row.number, ids, hidden_TD[n - 1 : n])

    def _first_roots(self, done: Sequence[Row], last_BD: torch.Tensor) -> list[Event]:
        """Logits of the last prompt position alone, the token chosen there, and what that makes of the row."""
        logits_BV = self.model.lm_head(last_BD)

        def some(few: Sequence[int]) -> list[int]:
            return choose(logits_BV[list(few)], [done[i].sampling for i in few], [()] * len(few))

        return [
            self._failed(row, root) if isinstance(root, Exception) else self._emit(row, Accepted((0,), (root,)), logits_V[None])
            for row, root, logits_V in zip(done, _each_alone(some, len(done)), logits_BV, strict=True)
        ]

    def _decode(self, decoding: Sequence[Row]) -> list[Event]:
        """Propose, verify, accept, commit."""
        clock = Clock()
        by_slot = {row.slot_row: row for row in decoding}
        rows = [by_slot.get(slot) for slot in range(max(by_slot) + 1)]
        learning = self._learning(decoding)
        tree, outcomes = self._propose(rows)
        clock.lap("draft")
        if len(outcomes) < len(decoding):
            hidden_BND = self.model.verify(tree)
            logits_BNV = self._logits(tree, hidden_BND)
            clock.lap("verify")
            outcomes |= self._accept(tree, logits_BNV, [None if b in outcomes else row for b, row in enumerate(rows)])
            clock.lap("accept")
        events = []
        proposed_B = ((tree.tokens_BN >= 0).sum(-1) - 1).tolist()
        # from the last cache row down: a row that finishes hands its place to the last one
        for row in sorted(decoding, key=lambda row: row.slot_row, reverse=True):
            b = row.slot_row
            outcome = outcomes[b]
            if isinstance(outcome, Exception):
                events.append(self._failed(row, outcome))
                continue
            row.stats.steps += 1
            row.stats.proposed_tokens += proposed_B[b]
            _count_depths(row, len(outcome.path) - 1)
            events.append(self._emit(row, outcome, logits_BNV[b], hidden_BND[b]))
        clock.lap("commit")
        clock.lap("other")
        accepted = [len(outcome.path) - 1 for outcome in outcomes.values() if isinstance(outcome, Accepted)]
        if learning is not None and len(accepted) == len(decoding):
            learning.observe(len(decoding), learning.nodes(len(decoding)), accepted, sum(clock.seconds.values()))
        for row in decoding:
            clock.charge(row.stats)
        return events[::-1]

    def _propose(self, rows: Sequence[Row | None]) -> tuple[CandidateTree, dict[int, Exception | Accepted]]:
        """Each drafter proposes for its own rows; the trees are joined with padding. Also what went wrong, by cache row."""
        parts: list[tuple[list[int], CandidateTree]] = []
        failed: dict[int, Exception | Accepted] = {}
        running = sum(row is not None for row in rows)
        for name in sorted({row.request.drafter for row in rows if row is not None}):
            mine = [row for row in rows if row is not None and row.request.drafter == name]
            try:
                parts.append(([row.slot_row for row in mine], self._tree(name, mine, running)))
            except Exception:  # noqa: BLE001  (find which row it is, and let the others go on)
                for row in mine:
                    try:
                        parts.append(([row.slot_row], self._tree(name, [row], running)))
                    except Exception as error:  # noqa: BLE001  (reported with the row)
                        failed[row.slot_row] = error
        return CandidateTree.assembled(len(rows), parts, self.model.facts.device), failed

    def _tree(self, drafter: str, rows: Sequence[Row], running: int) -> CandidateTree:
        deepest = self.model.facts.deepest_tree
        budgets = [row.budget(running) for row in rows]
        if deepest is not None:
            budgets = [replace(budget, depth=min(budget.depth, deepest)) for budget in budgets]
        return self.drafters[drafter].propose([row.number for row in rows], [row.sampling for row in rows], budgets)

    def _learning(self, rows: Sequence[Row]) -> TreeBudget | None:
        """The budget that a step of these rows can teach something: all have it, and none is so near its end that its tree
        shrinks."""
        budget, drafter = rows[0].tree, rows[0].request.drafter
        if budget is not self.budgets.get(drafter):
            return None
        depth = min(budget.nodes(len(rows)) - 1, self.drafters[drafter].facts.depth)
        whole = all(row.tree is budget and row.budget(len(rows)).depth >= depth for row in rows)
        return budget if whole else None

    def _logits(self, tree: CandidateTree, hidden_BND: torch.Tensor) -> torch.Tensor:
        """Logits of the nodes that are no padding; the others' are zero and never read."""
        real_BN = (tree.tokens_BN >= 0).to(hidden_BND.device)
        if bool(real_BN.all()):
            return self.model.lm_head(hidden_BND)
        logits_MV = self.model.lm_head(hidden_BND[real_BN])
        logits_BNV = logits_MV.new_zeros((*real_BN.shape, logits_MV.shape[-1]))
        logits_BNV[real_BN] = logits_MV
        return logits_BNV

    def _accept(self, tree: CandidateTree, logits_BNV: torch.Tensor, rows: Sequence[Row | None]) -> dict[int, Exception | Accepted]:
        """The outcome of each row, by cache row."""
        numbers = [b for b, row in enumerate(rows) if row is not None]

        def some(few: Sequence[int]) -> list[Accepted]:
            asked = {numbers[i] for i in few}
            mine = [row if b in asked else None for b, row in enumerate(rows)]
            sampling = [None if row is None else row.sampling for row in mine]
            outcomes = accept(tree, logits_BNV, sampling, [None if row is None else row.rule for row in mine])
            return [accepted for accepted in outcomes if accepted is not None]

        return dict(zip(numbers, _each_alone(some, len(numbers)), strict=True))

    def _emit(self, row: Row, accepted: Accepted, logits_NV: torch.Tensor, hidden_ND: torch.Tensor | None = None) -> Event:
        """Crop a block, then either commit it and go on, or finish the row, which commits nothing.

        ``hidden_ND`` is None after prefill, which leaves nothing to commit.
        """
        try:
            cut = crop(accepted.tokens, len(row.sampling.generated), row.limit, row.request)
        except Exception as error:  # noqa: BLE001  (the request's own matcher failed)
            return self._failed(row, error)
        row.sampling.generated += cut.token_ids
        row.stats.emitted_tokens += len(cut.token_ids)
        logprobs = None
        if row.request.logprobs is not None:
            where = list(accepted.path[: len(cut.token_ids)])
            logprobs = token_logprobs(logits_NV[where], cut.token_ids, row.request.logprobs)
        if cut.finish_reason is not None:
            self._forget(row)
        elif hidden_ND is not None:
            self.model.cache.commit(row.slot_row, accepted.path)
            path = list(accepted.path)
            hidden_MD = hidden_ND[: len(path)] if path == list(range(len(path))) else hidden_ND[path]
            try:
                self.drafters[row.request.drafter].commit(row.number, accepted.tokens, hidden_MD)
            except Exception as error:  # noqa: BLE001  (the drafter failed; the ids are right all the same)
                return self._failed(row, error, cut.token_ids, logprobs)
        return Event(row.number, cut.token_ids, cut.finish_reason, cut.ended_by, row.stats, logprobs=logprobs)

    def _failed(
        self, row: Row, error: Exception, token_ids: Sequence[int] = (), logprobs: Sequence[TokenLogprob] | None = None
    ) -> Event:
        self._forget(row)
        return Event(row.number, token_ids, "error", None, row.stats, error, logprobs)

    def _forget(self, row: Row) -> None:
        self.scheduler.remove(row)
        self.drafters[row.request.drafter].stop(row.number)

    def _limit(self, request: Request) -> int:
        """How many ids the request may emit; everything about it is checked here."""
        facts = self.model.facts
        context = min(facts.context_length, request.max_context or facts.context_length)
        ids = request.prompt_ids
        if not ids:
            raise PromptError("the prompt is empty; give at least one token (a model with a BOS token can start from that)")
        if len(ids) >= context:
            raise PromptError(
                f"the prompt has {len(ids)} tokens and the context {context}: no room for one more token. Shorten the prompt"
            )
        if min(ids) < 0 or max(ids) >= facts.vocab_size:
            raise PromptError(f"the prompt holds ids outside 0 to {facts.vocab_size - 1}; were they made by another tokenizer?")
        if request.drafter not in self.drafters:
            raise InvalidParameterError(f"drafter {request.drafter!r} is not available; expected one of {sorted(self.drafters)}")
        for name, least in (("max_new_tokens", 1), ("min_new_tokens", 0), ("logprobs", 0)):
            value = getattr(request, name)
            if value is not None and value < least:
                raise InvalidParameterError(f"{name} is {value}; expected at least {least}")
        room = context - len(ids)
        return room if request.max_new_tokens is None else min(request.max_new_tokens, room)

    def _tree_budget(self, request: Request) -> TreeBudget:
        if request.nodes is None and request.drafter in self.budgets:
            return self.budgets[request.drafter]
        nodes = self.nodes if request.nodes is None else request.nodes
        if nodes < 1:
            raise InvalidParameterError(f"nodes is {nodes}; expected at least 1, the root (1 is plain decoding)")
        facts = self.drafters[request.drafter].facts
        return FixedBudget(1 if not facts.depth else nodes if facts.nodes is None else min(nodes, facts.nodes))


def _count_depths(row: Row, accepted: int) -> None:
    counts = row.stats.accepted_per_depth
    counts += [0] * (accepted - len(counts))
    for depth in range(accepted):
        counts[depth] += 1


def _each_alone(decide: Callable[[Sequence[int]], Sequence[Outcome]], rows: int) -> list[Outcome | Exception]:
    """``decide`` for all rows at once; if that fails, for each alone, an exception standing for the row that raised it."""
    try:
        return list(decide(range(rows)))
    except Exception:  # noqa: BLE001  (a row's own part failed: find which, and let the others go on)
        outcomes: list[Outcome | Exception] = []
        for b in range(rows):
            try:
                outcomes += decide([b])
            except Exception as error:  # noqa: BLE001  (reported with the row)
                outcomes.append(error)
        return outcomes
