"""The sampling state of one request, and the one rule by which the base model's token is chosen.

Shapes: R rows, V vocabulary.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import torch

from headstart.errors import InvalidParameterError
from headstart.sampling.filters import survivors
from headstart.sampling.likeliest import likeliest
from headstart.sampling.noise import gumbel
from headstart.sampling.params import SamplingParams
from headstart.sampling.processors import Processor


@dataclass(kw_only=True)
class RowSampling:
    """What decides the next token of one row, the logits aside."""

    params: SamplingParams
    seed: int
    prompt_length: int
    generated: list[int] = field(default_factory=list)
    """Every id emitted so far, the current root included."""
    processors: list[Processor] = field(default_factory=list)
    draft_temperature: float | None = None
    """Above 0: a drafter that can draws candidates from its q at this temperature, with the "draft" noise, and attaches
    ``CandidateTree.drawn``. None: candidates are taken by rank, with the noise of the row's own draw."""
    draft_replacement: bool = False
    """Whether a node's children are drawn with replacement."""

    @property
    def plain_argmax(self) -> bool:
        """Whether the token is the argmax of the untouched logits, so that all nodes can be decided in one call."""
        return self.params.greedy and not self.processors


def choose(logits_RV: torch.Tensor, rows: Sequence[RowSampling], paths: Sequence[Sequence[int]]) -> list[int]:
    """The base model's own token for each row: ``argmax_x(log p(x) + G(seed, position, x))``; at temperature 0 the argmax.

    ``paths[r]`` holds the ids on the candidate path behind ``rows[r].generated``; the token to choose comes after them.
    Ties go to the lowest id. The result for a row depends on that row's arguments alone.

    Raises:
        InvalidParameterError: a row's processors forbid every token.
    """
    if all(row.plain_argmax for row in rows):
        return [int(token) for token in likeliest(logits_RV).tolist()]
    tokens = [0] * len(rows)
    alike: dict[tuple[Hashable, bool], list[int]] = {}
    for r, row in enumerate(rows):
        alike.setdefault((row.params.choice, bool(row.processors)), []).append(r)
    for (_, changed), members in alike.items():
        params = rows[members[0]].params
        if changed:
            mine_RV = torch.stack([processed(logits_RV[r], rows[r], paths[r]) for r in members])
        else:
            mine_RV = logits_RV if len(members) == len(rows) else logits_RV[members]
        if params.greedy:
            drawn = likeliest(mine_RV)
        else:
            seeds = torch.tensor([rows[r].seed for r in members], dtype=torch.int64)
            positions = [rows[r].prompt_length + len(rows[r].generated) + len(paths[r]) for r in members]
            drawn = _draw(mine_RV, params, seeds, torch.tensor(positions))
        for r, token in zip(members, drawn.tolist(), strict=True):
            tokens[r] = token
    return tokens


def processed(logits_V: torch.Tensor, row: RowSampling, path: Sequence[int]) -> torch.Tensor:
    """Logits after the row's processors, in float32, for the token after ``row.generated`` and ``path``.

    Raises:
        InvalidParameterError: no token is left.
    """
    logits_V = logits_V.float()
    if not row.processors:
        return logits_V
    before = [*row.generated, *path]
    for processor in row.processors:
        logits_V = processor(logits_V, before)
    if bool(logits_V.max() == -torch.inf):
        raise InvalidParameterError(
            f"no token is left after {len(before)} new ones: bad_words, allowed_token_ids, min_new_tokens and logits_processors"
            " together forbid every id. Allow at least one at each place"
        )
    return logits_V


def probabilities(logits_V: torch.Tensor, row: RowSampling, path: Sequence[int]) -> torch.Tensor:
    """p of every token after ``row.generated`` and ``path``, float32: after processors, temperature and filters.

    The row's temperature must be above 0.

    Raises:
        InvalidParameterError: the row's processors forbid every token.
    """
    ids_1C, log_p_1C = survivors(processed(logits_V, row, path)[None], row.params)
    p_1C = log_p_1C.exp()
    if not row.params.filters:
        return p_1C[0]
    return torch.zeros_like(logits_V, dtype=p_1C.dtype).scatter_(0, ids_1C[0], p_1C[0])


def _draw(logits_RV: torch.Tensor, params: SamplingParams, seeds_R: torch.Tensor, positions_R: torch.Tensor) -> torch.Tensor:
    ids_RC, log_p_RC = survivors(logits_RV, params)
    noise_RC = gumbel(seeds_R.to(ids_RC.device), positions_R.to(ids_RC.device), ids_RC)
    best_R1 = (log_p_RC.double() + noise_RC).argmax(-1, keepdim=True)  # ids ascend, so that the first maximum is the lowest
    return ids_RC.gather(1, best_R1)[:, 0]
