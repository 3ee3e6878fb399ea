"""The decode loop: propose, verify, accept, commit, for a batch of rows that come and go.

Token ids only; text is made above. One step is one pass of the base model over all running rows (and, while prompts wait,
one pass over a chunk of those). Not thread-safe: one caller at a time.

Shapes: B rows, N tree nodes, T positions of a chunk, V vocabulary, D hidden.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeVar

import torch

from headstart.acceptance.rules import accept
from headstart.acceptance.walk import Accepted
from headstart.completion import TokenLogprob
from headstart.drafters.protocol import Drafter
from headstart.engine.admission import Admission
from headstart.engine.budget import TreeBudget
from headstart.engine.clock import Clock
from headstart.engine.event import Event
from headstart.engine.row import Row
from headstart.engine.scheduler import Scheduler
from headstart.engine.stop import crop
from headstart.models.protocol import BaseModel
from headstart.request import Request
from headstart.sampling.logprobs import token_logprobs
from headstart.sampling.row import choose
from headstart.trees.candidate import CandidateTree

logger = logging.getLogger("headstart")

Outcome = TypeVar("Outcome")

PREFILL_TOKENS = 1024
"""Positions of prompt in one pass: enough to be bound by arithmetic, few enough that running rows hardly wait."""


class Engine:
    """Decodes requests with the named drafters.

    Args:
        model: the base model; its cache must not be used by anybody else meanwhile.
        drafters: by the name that requests use; "none" has to be among them.
        nodes: tree nodes a row's pass may hold where neither the request nor a budget says, the root included.
        nodes_of: by a drafter's name, the same where it has a number of its own.
        budgets: by a drafter's name, what decides about the nodes of its requests' trees where the request does not say.
    """

    def __init__(
        self,
        model: BaseModel,
        drafters: Mapping[str, Drafter],
        *,
        nodes: int = 8,
        nodes_of: Mapping[str, int] | None = None,
        budgets: Mapping[str, TreeBudget] | None = None,
    ) -> None:
        self.model = model
        self.drafters = dict(drafters)
        self.budgets = dict(budgets or {})
        self.scheduler = Scheduler(model.cache)
        self._admission = Admission(model.facts, self.drafters, nodes=nodes, nodes_of=nodes_of or {}, budgets=self.budgets)
        self._counts_padding = model.facts.device.type == "cpu"
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
        row = self._admission.row(next(self._numbers), request)
        self.scheduler.add(row)
        return row.number

    def check(self, request: Request) -> int:
        """Raises whatever :meth:`add` would raise, and queues nothing. Returns how many positions the text can take."""
        row = self._admission.row(-1, request)
        self.scheduler.check(row)
        return row.slots

    def budget(self, drafter: str, nodes: int | None = None, *, timed: bool = True) -> TreeBudget:
        """What decides about the trees of a request with this drafter that asks for so many nodes; None asks for nothing.

        ``timed`` False is for rules whose text depends on its trees (lossy ones, those that draw): no clock decides there.
        """
        return self._admission.budget(drafter, nodes, timed=timed)

    def sizes(self, drafter: str) -> set[int]:
        """Numbers of nodes that this drafter's trees can be asked for where no request says how many, by any rule of acceptance.

        1 is among them: near a text's end trees shrink to the root.
        """
        return {1, *self.budget(drafter).sizes, *self.budget(drafter, timed=False).sizes}

    @torch.inference_mode()
    def cancel(self, number: int) -> Event | None:
        """Stop a request now, its cache row and its drafter's state given back; None if it has finished already."""
        for row in [*self.scheduler.rows, *self.scheduler.waiting]:
            if row.number == number:
                return Event(number, (), "cancelled", None, row.stats, self._forget(row))
        return None

    @torch.inference_mode()
    def step(self) -> list[Event]:
        """Admit, prefill one chunk, decode one step. Returns what each request emitted.

        What goes wrong with one request ends that request alone. An exception is of the model, or an interruption: then nobody
        knows how far each row has come, and all requests are gone, the waiting ones too.
        """
        try:
            return self._step()
        except BaseException:
            for row in self.scheduler.clear():
                _also(self._stop_drafting(row))
            raise

    def _step(self) -> list[Event]:
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
                self._start_drafting(row, n, self._read_by(row, hidden_BTD)[b])
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

    def _read_by(self, row: Row, hidden: torch.Tensor) -> torch.Tensor:
        """The states of the newest pass that the row's drafter reads; ``hidden`` are the final ones."""
        return self.model.tap.states_BND if self.drafters[row.request.drafter].facts.layer == "trunk" else hidden

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
        tree, outcomes = self._propose(rows, observed=learning is not None)
        clock.lap("draft")
        if len(outcomes) < len(decoding):
            hidden_BND = self.model.verify(tree)
            logits_BNV = self._logits(tree, hidden_BND)
            clock.lap("verify")
            outcomes |= self._accept(tree, logits_BNV, [None if b in outcomes else row for b, row in enumerate(rows)])
            clock.lap("accept")
        events = []
        # from the last cache row down: a row that finishes hands its place to the last one
        for row in sorted(decoding, key=lambda row: row.slot_row, reverse=True):
            b = row.slot_row
            outcome = outcomes[b]
            if isinstance(outcome, Exception):
                events.append(self._failed(row, outcome))
                continue
            row.stats.steps += 1
            row.stats.proposed_tokens += sum(token >= 0 for token in tree.read()[0][b]) - 1
            _count_depths(row, len(outcome.path) - 1)
            events.append(self._emit(row, outcome, logits_BNV[b], self._read_by(row, hidden_BND)[b]))
        clock.lap("commit")
        clock.lap("other")
        accepted = [len(outcome.path) - 1 for outcome in outcomes.values() if isinstance(outcome, Accepted)]
        if learning is not None and len(accepted) == len(decoding):
            count, width = len(decoding), tree.tokens_BN.shape[1]
            learning.observe(count, learning.nodes(count), accepted, sum(clock.seconds.values()), width)
        for row in decoding:
            clock.charge(row.stats)
        return events[::-1]

    def _propose(self, rows: Sequence[Row | None], *, observed: bool) -> tuple[CandidateTree, dict[int, Exception | Accepted]]:
        """Each drafter proposes for its own rows; the trees are joined with padding. Also what went wrong, by cache row."""
        parts: list[tuple[list[int], CandidateTree]] = []
        failed: dict[int, Exception | Accepted] = {}
        running = sum(row is not None for row in rows)
        for name in sorted({row.request.drafter for row in rows if row is not None}):
            mine = [row for row in rows if row is not None and row.request.drafter == name]
            try:
                parts.append(([row.slot_row for row in mine], self._tree(name, mine, running, observed=observed)))
            except Exception:  # noqa: BLE001  (find which row it is, and let the others go on)
                for row in mine:
                    try:
                        parts.append(([row.slot_row], self._tree(name, [row], running, observed=observed)))
                    except Exception as error:  # noqa: BLE001  (reported with the row)
                        failed[row.slot_row] = error
        return CandidateTree.assembled(len(rows), parts, self.model.facts.device), failed

    def _tree(self, drafter: str, rows: Sequence[Row], running: int, *, observed: bool) -> CandidateTree:
        deepest = self.model.facts.deepest_tree
        budgets = [row.budget(running, observed=observed) for row in rows]
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
        """Logits of the nodes that are no padding; the others' mean nothing and are never read.

        On a device all nodes are multiplied: to know how many are real the host would have to wait for it.
        """
        real_BN = (tree.tokens_BN >= 0).to(hidden_BND.device)
        if not self._counts_padding or bool(real_BN.all()):
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
        logprobs = None
        try:
            if row.request.logprobs is not None:
                logprobs = token_logprobs(logits_NV[list(accepted.path)], accepted.tokens, row.request.logprobs)
            cut = crop(accepted.tokens, len(row.sampling.generated), row.limit, row.request)
        except Exception as error:  # noqa: BLE001  (the request's own matcher failed, for instance)
            return self._failed(row, error)
        row.sampling.generated += cut.token_ids
        row.stats.emitted_tokens += len(cut.token_ids)
        logprobs = None if logprobs is None else logprobs[: len(cut.token_ids)]
        if cut.finish_reason is not None:
            wrong = self._forget(row)
            if wrong is not None:
                return Event(row.number, cut.token_ids, "error", cut.ended_by, row.stats, wrong, logprobs)
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
        _also(self._forget(row))
        return Event(row.number, token_ids, "error", None, row.stats, error, logprobs)

    def _forget(self, row: Row) -> Exception | None:
        """Give the row's places back, in the cache and at its drafter, whose failure is returned."""
        self.scheduler.remove(row)
        return self._stop_drafting(row)

    def _stop_drafting(self, row: Row) -> Exception | None:
        try:
            self.drafters[row.request.drafter].stop(row.number)
        except Exception as error:  # noqa: BLE001  (reported with the row; the others go on)
            return error
        return None


def _also(error: Exception | None) -> None:
    """What a drafter did wrong when it was told of a failure; the failure itself is what is reported."""
    if error is not None:
        logger.warning("after that failure the drafter failed too: %s: %s", type(error).__name__, error)


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
