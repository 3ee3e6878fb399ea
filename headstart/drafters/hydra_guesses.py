"""The ranked guesses of Hydra heads, one level of a tree at a time.

Where the processor packs matrices (see :mod:`headstart.drafters.packed_heads`), each head's are packed here as well.

Shapes: B rows, M tree nodes of all rows, R ranks, K heads, D hidden, F width of the conditioning layer, V projected vocabulary,
W narrow width of low-rank projections, k tokens of a path below the root.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F

from headstart.drafters.heads import MedusaHeads
from headstart.drafters.low_rank import CorrectedProjection, LowRankCorrection, Product
from headstart.drafters.noisy_guesses import drawn, ranked_with_noise
from headstart.drafters.packed_heads import PackedHeads, packed_matrix
from headstart.models.protocol import BaseModel, Projection
from headstart.sampling.row import RowSampling


@dataclass(frozen=True)
class Rows:
    """What all nodes of a step share, by row."""

    hidden_BD: torch.Tensor
    known_BKF: torch.Tensor
    """The part of each head's first layer that hidden state and root decide."""
    sampling: Sequence[RowSampling]


class HydraGuesses:
    """Heads ready to draft for ``model``, moved to its device and dtype. Several drafters may share one."""

    def __init__(self, heads: MedusaHeads, model: BaseModel) -> None:
        assert heads.config.kind == "hydra", "these heads guess all at once"
        self.heads = heads.to(device=model.facts.device, dtype=model.facts.dtype).eval().requires_grad_(False)
        self.device = model.facts.device
        self._embed = model.embed
        self._size = (heads.config.hidden_size,)
        self._residual = heads.config.block == "residual"
        packs = PackedHeads.worthwhile(heads)
        product = packed_matrix if packs else _plain
        self._known_in = product(heads.condition_in, heads.condition_bias)
        self._path_in_K: list[Product | None] = [None, *(product(weight, None) for weight in heads.path_in)]
        self._out_K = [product(weight, None) for weight in heads.condition_out]
        self._blocks_KL = [
            [product(weight, bias) for weight, bias in zip(heads.block_weight[:, k], heads.block_bias[:, k], strict=True)]
            for k in range(heads.config.num_heads)
        ]
        self._project_K: Sequence[Projection]
        if heads.config.projection == "own":
            self._project_K = [product(weight, None) for weight in heads.own_projection]
        else:
            shared = model.projection(heads.draft_ids_V, rough=packs)
            self._project_K = [shared] * heads.config.num_heads
            if heads.config.projection == "low-rank":
                pairs = zip(heads.projection_in, heads.projection_out, strict=True)
                added = (LowRankCorrection(product(into_WD, None), product(out_VW, None)) for into_WD, out_VW in pairs)
                self._project_K = [CorrectedProjection(shared, correction) for correction in added]

    def rows(self, hidden_BD: torch.Tensor, roots_B: torch.Tensor, sampling: Sequence[RowSampling]) -> Rows:
        """What the guesses of a step start from: each row's last hidden state, and the root that followed it."""
        joined = torch.cat([F.rms_norm(hidden_BD, self._size), self._tokens(roots_B)], -1)
        return Rows(hidden_BD, self._known_in(joined).unflatten(-1, (self.heads.config.num_heads, -1)), sampling)

    def best(
        self, rows: Rows, row_M: torch.Tensor, path_Mk: torch.Tensor, ranks: int, *, probabilities: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Head k's ``ranks`` best guesses after each path of k tokens, M x R, as ids of the whole vocabulary in order; and their
        log probabilities if wanted.

        With noise, the probabilities are those that remain once the noise is known: a softmax of the noisy scores.
        """
        head = path_Mk.shape[1]
        logits_MV = self._logits(head, rows.hidden_BD[row_M], rows.known_BKF[row_M, head], path_Mk)
        ids_V = self.heads.draft_ids_V
        if not all(row.params.greedy for row in rows.sampling):
            states = [rows.sampling[b] for b in row_M.tolist()]
            return ranked_with_noise(logits_MV, states, [head] * len(states), ranks, ids_V)
        best_MR = logits_MV.topk(ranks, sorted=True)
        guesses_MR = best_MR.indices if ids_V is None else ids_V[best_MR.indices]
        if not probabilities:
            return guesses_MR, None
        return guesses_MR, best_MR.values.float() - logits_MV.float().logsumexp(-1, keepdim=True)

    def draw(self, rows: Rows, row_M: torch.Tensor, path_Mk: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """``count`` guesses after each path drawn at the rows' ``draft_temperature``, M x count, in the order drawn; and what they
        were drawn from, M x base vocabulary: the head's likeliest tokens."""
        head = path_Mk.shape[1]
        logits_MV = self._logits(head, rows.hidden_BD[row_M], rows.known_BKF[row_M, head], path_Mk)
        states = [rows.sampling[b] for b in row_M.tolist()]
        config = self.heads.config
        tokens_MR, _, q_MV = drawn(logits_MV, states, [head] * len(states), count, self.heads.draft_ids_V, config.vocab_size)
        return tokens_MR, q_MV

    def _logits(self, head: int, hidden_MD: torch.Tensor, known_MF: torch.Tensor, path_Mk: torch.Tensor) -> torch.Tensor:
        """As :meth:`MedusaHeads.forward` for one head."""
        path_in = self._path_in_K[head]
        z_MF = known_MF if path_in is None else known_MF + path_in(self._tokens(path_Mk).flatten(1))
        x_MD = hidden_MD + self._out_K[head](F.silu(z_MF))
        for block in self._blocks_KL[head]:
            x_MD = x_MD + F.silu(block(x_MD)) if self._residual else F.relu(block(x_MD))
        return self._project_K[head](x_MD)

    def _tokens(self, ids: torch.Tensor) -> torch.Tensor:
        # below padding nothing is ever accepted, whatever is guessed there
        return F.rms_norm(self._embed(ids.clamp(min=0)).to(self.heads.condition_in.dtype), self._size)


def _plain(weight_OI: torch.Tensor, bias_O: torch.Tensor | None) -> Product:
    return partial(F.linear, weight=weight_OI, bias=bias_O)
