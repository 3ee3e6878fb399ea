"""What the heads guess while the model writes: the observations that calibration and trees are made from.

The model decodes plainly; before each step the heads guess as they would when drafting, noise included, and what they guessed
is compared with what the model then wrote.

Shapes: E observed positions, K heads, R ranks, B rows, D hidden, M accepted nodes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.plain import PlainDrafter
from headstart.drafters.protocol import DrafterFacts
from headstart.engine.engine import Engine
from headstart.errors import DataError
from headstart.models.protocol import BaseModel
from headstart.request import Request
from headstart.sampling.noise import fold
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree
from headstart.trees.growth import WIDEST

OBSERVE = "observe"
BEYOND = -1
"""Instead of a rank: the answer ended before this head's token."""
LEAST_POSITIONS = 200
"""Fewer say nothing: the error of tokens per step would be about a tenth."""


@dataclass(frozen=True)
class Observations:
    """Positions of answers in order, and what the heads guessed at each."""

    rank_EK: torch.Tensor
    """int64; the place of the right token among the head's guesses, R where it was not among them, or ``BEYOND``."""
    log_q_EKR: torch.Tensor
    """Log probabilities of the guesses, the best first."""
    lengths: tuple[int, ...]
    """Positions of each answer; they follow one another."""

    def part(self, answers: Sequence[int]) -> "Observations":
        """Some of the answers."""
        first = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        index_E = torch.tensor([e for i in answers for e in range(first[i], first[i] + self.lengths[i])], dtype=torch.int64)
        return Observations(self.rank_EK[index_E], self.log_q_EKR[index_E], tuple(self.lengths[i] for i in answers))


class Observer:
    """A drafter that proposes nothing and keeps what it would have guessed."""

    facts = DrafterFacts(name=OBSERVE, depth=0, hidden="last")

    def __init__(self, guesses: HeadGuesses) -> None:
        self._guesses = guesses
        self._ranks = min(WIDEST, guesses.heads.config.projected_vocab)
        self._hidden: dict[int, torch.Tensor] = {}
        self.seen: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {}
        """By row, for each step: guesses K x R and their log probabilities, on the CPU."""

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        self._hidden[row] = hidden_TD[-1].clone()
        self.seen[row] = []

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        roots_B = torch.tensor([row.generated[-1] for row in sampling], device=self._guesses.device)
        hidden_BD = torch.stack([self._hidden[row] for row in rows])
        guesses_KBR, log_q_KBR = self._guesses.best(hidden_BD, roots_B, sampling, self._ranks, probabilities=True)
        assert log_q_KBR is not None
        for row, guesses_KR, log_q_KR in zip(rows, guesses_KBR.cpu().unbind(1), log_q_KBR.cpu().unbind(1), strict=True):
            self.seen[row].append((guesses_KR, log_q_KR))
        return CandidateTree.roots_only(roots_B)

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        self._hidden[row] = hidden_MD[-1].clone()

    def stop(self, row: int) -> None:
        self._hidden.pop(row, None)


def observe(
    model: BaseModel,
    guesses: HeadGuesses,
    prompts: Sequence[Sequence[int]],
    *,
    tokens: int,
    stop_ids: frozenset[int] = frozenset(),
    params: SamplingParams | None = None,
    seed: int = 0,
    on_answer: Callable[[int], None] | None = None,
) -> Observations:
    """Write up to ``tokens`` tokens after each prompt and watch the heads. Prompt i samples with ``fold(seed, i)``.

    Raises:
        DataError: fewer than ``LEAST_POSITIONS`` positions came together.
        PromptError, CapacityError: a prompt does not fit.
    """
    observer = Observer(guesses)
    engine = Engine(model, {"none": PlainDrafter(), OBSERVE: observer}, nodes=1)
    written: dict[int, list[int]] = {}
    for i, ids in enumerate(prompts):
        request = Request(
            prompt_ids=ids,
            params=params or SamplingParams(),
            seed=fold(seed, i),
            max_new_tokens=tokens,
            stop_ids=stop_ids,
            drafter=OBSERVE,
        )
        written[engine.add(request)] = []
    while engine.has_work:
        for event in engine.step():
            if event.error is not None:
                raise event.error
            written[event.number] += event.token_ids
            if event.finish_reason is not None and on_answer is not None:
                on_answer(len(written[event.number]))
    parts = [compared(observer.seen.pop(number), ids) for number, ids in written.items() if len(ids) > 1]
    positions = sum(len(rank_EK) for rank_EK, _ in parts)
    if positions < LEAST_POSITIONS:
        raise DataError(
            f"{len(prompts)} prompts gave {positions} positions to learn from; expected at least {LEAST_POSITIONS}. Give"
            " more prompts, or prompts with longer answers"
        )
    return Observations(
        torch.cat([rank_EK for rank_EK, _ in parts]),
        torch.cat([log_q_EKR for _, log_q_EKR in parts]),
        tuple(len(rank_EK) for rank_EK, _ in parts),
    )


def compared(seen: Sequence[tuple[torch.Tensor, torch.Tensor]], ids: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ranks E x K and log probabilities E x K x R of one answer. Step e has root ``ids[e]``; head k guesses ``ids[e + 1 + k]``.
    ``seen`` are guesses and their log probabilities, K x R, by step."""
    positions = len(ids) - 1
    guesses_EKR = torch.stack([guesses for guesses, _ in seen[:positions]])
    log_q_EKR = torch.stack([log_q for _, log_q in seen[:positions]])
    heads, ranks = guesses_EKR.shape[1:]
    padded = torch.tensor([*ids, *[BEYOND] * heads])
    truth_EK = torch.stack([padded[1 + k : 1 + k + positions] for k in range(heads)], 1)
    hit_EKR = guesses_EKR == truth_EK[:, :, None]
    rank_EK = torch.where(hit_EKR.any(-1), hit_EKR.int().argmax(-1), ranks)
    return rank_EK.masked_fill(truth_EK == BEYOND, BEYOND), log_q_EKR.clamp(max=0)
