"""Running the engine to the end, and drafters that do what a test tells them."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from headstart.completion import Stats
from headstart.drafters.plain import PlainDrafter
from headstart.drafters.protocol import DrafterFacts
from headstart.engine.engine import Engine
from headstart.engine.event import Event
from headstart.request import Request
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape


@dataclass
class Outcome:
    """All events of one request together."""

    ids: list[int] = field(default_factory=list)
    blocks: list[tuple[int, ...]] = field(default_factory=list)
    finish: str | None = None
    ended_by: str | None = None
    error: Exception | None = None
    stats: Stats = field(default_factory=Stats)

    def take(self, event: Event) -> None:
        assert self.finish is None, "an event after the last one"
        self.ids += event.token_ids
        self.blocks.append(tuple(event.token_ids))
        self.finish, self.ended_by, self.error, self.stats = event.finish_reason, event.ended_by, event.error, event.stats


def run(engine: Engine, outcomes: Mapping[int, Outcome], steps: int | None = None) -> None:
    """Step until nothing is left, or ``steps`` times; each event goes to its request's outcome."""
    while engine.has_work and steps != 0:
        for event in engine.step():
            outcomes[event.number].take(event)
        steps = None if steps is None else steps - 1


def decode(engine: Engine, requests: Iterable[Request]) -> list[Outcome]:
    """All requests at once, in order."""
    outcomes = {engine.add(request): Outcome() for request in requests}
    run(engine, outcomes)
    return list(outcomes.values())


def texts(engine: Engine, requests: Iterable[Request]) -> list[list[int]]:
    return [outcome.ids for outcome in decode(engine, requests)]


class ScriptedDrafter:
    """Knows the true text of each prompt, and puts the right token among a node's children with probability ``accuracy``.

    Where it stands among them is drawn at random, and it is offered below wrong nodes as well, where it must not be taken.
    """

    def __init__(
        self, known: Mapping[tuple[int, ...], Sequence[int]], shape: TreeShape, *, accuracy: float, vocab: int, seed: int = 0
    ) -> None:
        self.facts = DrafterFacts(name="scripted", depth=shape.depth, hidden="none")
        self._known, self._shape, self._accuracy, self._vocab = known, shape, accuracy, vocab
        self._random = random.Random(seed)
        self._prompts: dict[int, tuple[int, ...]] = {}
        self.stopped: list[int] = []

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        self._prompts[row] = tuple(ids)

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        parts = []
        for b, (row, state, budget) in enumerate(zip(rows, sampling, budgets, strict=True)):
            shape = self._shape.limited(nodes=budget.nodes, depth=budget.depth)
            right = self._known[self._prompts[row]][len(state.generated) :]
            tokens_BN = torch.tensor([[state.generated[-1], *self._guesses(shape, right)]])
            parts.append(([b], CandidateTree.of_shape(shape, tokens_BN)))
        return CandidateTree.assembled(len(rows), parts, torch.device("cpu"))

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        assert len(tokens) == len(hidden_MD), "a state for each token"

    def stop(self, row: int) -> None:
        self._prompts.pop(row, None)
        self.stopped.append(row)

    def _guesses(self, shape: TreeShape, right: Sequence[int]) -> list[int]:
        """Ids of all nodes but the root; siblings differ."""
        children: dict[int, list[int]] = defaultdict(list)
        for node, parent in enumerate(shape.parent_N[1:], 1):
            children[parent].append(node)
        tokens = {}
        for siblings in children.values():
            depth = shape.depth_N[siblings[0]]
            true = right[depth - 1] if depth <= len(right) else None
            guesses = self._random.sample([token for token in range(self._vocab) if token != true], len(siblings))
            if true is not None and self._random.random() < self._accuracy:
                guesses[self._random.randrange(len(siblings))] = true
            tokens.update(zip(siblings, guesses, strict=True))
        return [tokens[node] for node in range(1, len(shape))]


class FailingDrafter(PlainDrafter):
    """Decodes plainly until the named method is called for the prompt ``victim``, which raises."""

    def __init__(self, method: str, victim: Sequence[int]) -> None:
        self._method, self._victim = method, tuple(victim)
        self._victims: set[int] = set()
        self.stopped: list[int] = []

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        if tuple(ids) == self._victim:
            self._victims.add(row)
        self._fail("start", [row])

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        self._fail("propose", rows)
        return super().propose(rows, sampling, budgets)

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        self._fail("commit", [row])

    def stop(self, row: int) -> None:
        self.stopped.append(row)

    def _fail(self, method: str, rows: Sequence[int]) -> None:
        if method == self._method and self._victims & set(rows):
            raise RuntimeError(f"{method} failed")


class Spy:
    """A base model that counts its verify passes and the rows that its LM head multiplies, and is otherwise the one given."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.verified: list[tuple[int, int]] = []
        """Rows and nodes of each pass."""
        self.projected: list[int] = []
        """Hidden states of each product with the LM head."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def verify(self, tree: CandidateTree) -> torch.Tensor:
        self.verified.append((tree.rows, tree.nodes))
        return self._model.verify(tree)  # type: ignore[no-any-return]

    def lm_head(self, hidden: torch.Tensor) -> torch.Tensor:
        self.projected.append(hidden.shape[:-1].numel())
        return self._model.lm_head(hidden)  # type: ignore[no-any-return]


class StopAt:
    """A matcher that ends the text at a token, or does what it is told to instead."""

    def __init__(self, token: int, then: Callable[[], None] | None = None) -> None:
        self._token, self._then = token, then
        self.fed: list[int] = []

    def feed(self, ids: Sequence[int]) -> int | None:
        for i, token in enumerate(ids):
            self.fed.append(token)
            if token == self._token:
                if self._then is not None:
                    self._then()
                return i + 1
        return None
