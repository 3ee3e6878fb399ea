"""Medusa and Hydra heads: small networks on the base model's last hidden state, each guessing one position further ahead.

Head k (from 0) at position t predicts token t + 2 + k. Source: Medusa (Cai et al. 2024), section 2.1.1. Conditioning on the
root's embedding is ours: when drafting, the token t + 1 is known already. Hydra heads (Ankner et al. 2024) also read the embeddings
of the tokens t + 2 to t + 1 + k, the candidates before theirs on the path.

All heads are one stack of tensors, so that each layer is one batched product for all of them.

Shapes: B positions (any leading shape, flattened), K heads, D hidden, F width of the conditioning layer, V projected vocabulary,
S part of it, W narrow width of low-rank projections (the rank), P tokens of a path below the root.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import nn

from headstart.errors import HeadsError
from headstart.models.protocol import Projection


@dataclass(frozen=True, kw_only=True)
class HeadsConfig:
    """What a set of heads is made of; ``config.json`` of a heads directory."""

    hidden_size: int
    vocab_size: int
    kind: Literal["medusa", "hydra"] = "medusa"
    """medusa: all heads guess at once; hydra: each also reads the candidates before its own on the path."""
    num_heads: int = 4
    num_layers: int = 1
    """Blocks per head."""
    block: Literal["residual", "mlp"] = "residual"
    """residual: x + SiLU(W x + b), the paper's; mlp: ReLU(W x + b), which with its projection is a two-layer MLP."""
    projection: Literal["shared", "own", "low-rank"] = "shared"
    """shared: the base model's LM head; own: one matrix a head, starting as a copy of it (the paper's); low-rank: the LM head and,
    for each head, a matrix of low rank that is added to it."""
    projection_rank: int | None = None
    """Of what is added; None is 32. Read with a low-rank projection alone."""
    draft_vocab_size: int | None = None
    """How many frequent tokens the heads choose from; None is the whole vocabulary."""
    condition_on_root: bool = True
    """Read the root's embedding beside the hidden state."""
    condition_size: int | None = None
    """Width of the conditioning layer; None is twice the hidden size."""
    base_model: str = ""
    """The model that the heads were trained for, as it was named then."""

    def __post_init__(self) -> None:
        optionals = ("draft_vocab_size", "condition_size", "projection_rank")
        for name in ("hidden_size", "vocab_size", "num_heads", "num_layers", *optionals):
            value = getattr(self, name)
            optional = name in optionals
            if not (isinstance(value, int) and not isinstance(value, bool)) and not (optional and value is None):
                raise HeadsError(f"heads config: {name} is {value!r}; expected a whole number")
        if not isinstance(self.condition_on_root, bool):
            raise HeadsError(f"heads config: condition_on_root is {self.condition_on_root!r}; expected true or false")
        for name in ("hidden_size", "vocab_size", "num_heads"):
            if getattr(self, name) < 1:
                raise HeadsError(f"heads config: {name} is {getattr(self, name)}; expected at least 1")
        if self.num_layers < 0:
            raise HeadsError(f"heads config: num_layers is {self.num_layers}; expected at least 0")
        if self.kind not in ("medusa", "hydra"):
            raise HeadsError(f"heads config: kind is {self.kind!r}; expected 'medusa' or 'hydra'")
        if self.kind == "hydra" and not self.condition_on_root:
            raise HeadsError(
                "heads config: hydra heads read all tokens of a path, so condition_on_root is false in vain; leave it out"
            )
        if self.block not in ("residual", "mlp"):
            raise HeadsError(f"heads config: block is {self.block!r}; expected 'residual' or 'mlp'")
        if self.projection not in ("shared", "own", "low-rank"):
            raise HeadsError(f"heads config: projection is {self.projection!r}; expected 'shared', 'own' or 'low-rank'")
        if self.projection_rank is not None and self.projection_rank < 1:
            raise HeadsError(f"heads config: projection_rank is {self.projection_rank}; expected at least 1")
        if self.condition_size is not None and self.condition_size < 1:
            raise HeadsError(f"heads config: condition_size is {self.condition_size}; expected at least 1")
        if self.draft_vocab_size is not None and not 1 <= self.draft_vocab_size <= self.vocab_size:
            raise HeadsError(f"heads config: draft_vocab_size is {self.draft_vocab_size}; expected 1 to {self.vocab_size}")

    @property
    def condition_width(self) -> int:
        return self.condition_size or 2 * self.hidden_size

    @property
    def rank(self) -> int:
        """Of what each head adds to the LM head."""
        return self.projection_rank or 32

    @property
    def reads_lm_head(self) -> bool:
        """Whether the base model's LM head has a part in the heads' projections."""
        return self.projection != "own"

    @property
    def projected_vocab(self) -> int:
        """Tokens that a head can guess."""
        return self.draft_vocab_size or self.vocab_size

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class MedusaHeads(nn.Module):
    """K heads over one hidden state. Untrained residual heads predict exactly what the LM head does.

    ``draft_ids_V`` (int64, ascending) are the tokens that the projection covers; None where it is the whole vocabulary.
    """

    draft_ids_V: torch.Tensor | None

    def __init__(self, config: HeadsConfig, draft_ids_V: torch.Tensor | None = None) -> None:
        super().__init__()
        if (draft_ids_V is None) != (config.draft_vocab_size is None):
            raise HeadsError("heads: draft_vocab_size and the list of draft ids have to be given together")
        if draft_ids_V is not None and len(draft_ids_V) != config.draft_vocab_size:
            raise HeadsError(f"heads: {len(draft_ids_V)} draft ids, but draft_vocab_size is {config.draft_vocab_size}")
        self.config = config
        heads, hidden, layers = config.num_heads, config.hidden_size, config.num_layers
        self.register_buffer("draft_ids_V", draft_ids_V)
        self.block_weight = nn.Parameter(torch.zeros(layers, heads, hidden, hidden))
        self.block_bias = nn.Parameter(torch.zeros(layers, heads, hidden))
        if config.block == "mlp":
            nn.init.normal_(self.block_weight, std=hidden**-0.5)
        if config.condition_on_root:
            width = config.condition_width
            self.condition_in = nn.Parameter(torch.empty(heads * width, 2 * hidden).normal_(std=(2 * hidden) ** -0.5))
            self.condition_bias = nn.Parameter(torch.zeros(heads * width))
            self.condition_out = nn.Parameter(torch.zeros(heads, hidden, width))
        if config.kind == "hydra":
            sizes = [k * hidden for k in range(1, heads)]
            self.path_in = nn.ParameterList(torch.empty(width, size).normal_(std=(2 * hidden + size) ** -0.5) for size in sizes)
        if config.projection == "own":
            self.own_projection = nn.Parameter(torch.zeros(heads, config.projected_vocab, hidden))
        if config.projection == "low-rank":  # nothing is added at first
            self.projection_in = nn.Parameter(torch.empty(heads, config.rank, hidden).normal_(std=hidden**-0.5))
            self.projection_out = nn.Parameter(torch.zeros(heads, config.projected_vocab, config.rank))

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.parameters())

    @torch.no_grad()
    def copy_lm_head(self, weight_VD: torch.Tensor) -> None:
        """Start every head's own projection as a copy of the LM head's rows (paper). Only for ``projection="own"``."""
        self.own_projection.copy_(weight_VD.to(self.own_projection.dtype).expand_as(self.own_projection))

    def matrices(self, lm_head_SD: torch.Tensor | None, index_S: torch.Tensor | None = None) -> torch.Tensor:
        """What each head's states are multiplied by, K x S x D, where that is not the LM head alone; over the places ``index_S``
        among the draft ids, or all. ``lm_head_SD`` are the LM head's rows there, for low-rank projections."""
        if self.config.projection == "own":
            return self.own_projection if index_S is None else self.own_projection.index_select(1, index_S)
        assert lm_head_SD is not None, "these heads read the base model's LM head"
        out_KSW = self.projection_out if index_S is None else self.projection_out.index_select(1, index_S)
        return lm_head_SD.to(out_KSW.dtype) + torch.bmm(out_KSW, self.projection_in)

    def matrix(self, head: int, lm_head_VD: torch.Tensor | None) -> torch.Tensor:
        """One head's of :meth:`matrices`, V x D."""
        if self.config.projection == "own":
            return self.own_projection[head]
        assert lm_head_VD is not None, "these heads read the base model's LM head"
        return lm_head_VD.to(self.projection_out.dtype) + self.projection_out[head] @ self.projection_in[head]

    def states(self, hidden_BD: torch.Tensor, root_BD: torch.Tensor | None, path_BPD: torch.Tensor | None = None) -> torch.Tensor:
        """Each head's state before its projection, K x B x D.

        ``root_BD`` is the embedding of the token after the hidden state's position; read only when conditioned on it.
        ``path_BPD`` are those of the K - 1 tokens after that one; only Hydra heads read them, head k the first k.
        """
        x_KBD = hidden_BD.expand(self.config.num_heads, *hidden_BD.shape)
        if self.config.condition_on_root:
            assert root_BD is not None, "these heads read the root's embedding"
            x_KBD = x_KBD + self._conditioning(hidden_BD, root_BD, path_BPD)
        for weight_KDD, bias_KD in zip(self.block_weight, self.block_bias, strict=True):
            z_KBD = torch.baddbmm(bias_KD[:, None], x_KBD, weight_KDD.transpose(1, 2))
            x_KBD = x_KBD + F.silu(z_KBD) if self.config.block == "residual" else F.relu(z_KBD)
        return x_KBD

    def _conditioning(self, hidden_BD: torch.Tensor, root_BD: torch.Tensor, path_BPD: torch.Tensor | None) -> torch.Tensor:
        size = (self.config.hidden_size,)
        # all normalised: an embedding is much smaller than a hidden state after the final norm
        joined = torch.cat([F.rms_norm(hidden_BD, size), F.rms_norm(root_BD.to(hidden_BD.dtype), size)], -1)
        z_BF = F.linear(joined, self.condition_in, self.condition_bias)
        z_KBF = z_BF.unflatten(-1, (self.config.num_heads, -1)).transpose(0, 1)
        if self.config.kind == "hydra":
            assert path_BPD is not None, "these heads read the tokens of the path"
            # the first layer's product over [hidden; root; path], in the part that all paths of a row share and the rest
            path_BPD = F.rms_norm(path_BPD.to(hidden_BD.dtype), size)
            parts = [F.linear(path_BPD[:, : k + 1].flatten(1), weight_FI) for k, weight_FI in enumerate(self.path_in)]
            z_KBF = torch.stack([z_KBF[0], *(z_BF + part_BF for z_BF, part_BF in zip(z_KBF[1:], parts, strict=True))])
        return torch.bmm(F.silu(z_KBF), self.condition_out.transpose(1, 2))

    def logits(self, states_KBD: torch.Tensor, shared: Projection | None) -> torch.Tensor:
        """Logits K x B x V over ``draft_ids_V``. ``shared`` is the base model's LM head over those ids."""
        if self.config.projection == "own":
            return torch.bmm(states_KBD, self.own_projection.transpose(1, 2))
        assert shared is not None, "these heads read the base model's LM head"
        heads, rows, size = states_KBD.shape
        logits_KBV = shared(states_KBD.reshape(heads * rows, size)).view(heads, rows, -1)
        if self.config.projection == "shared":
            return logits_KBV
        narrow_KBW = torch.bmm(states_KBD, self.projection_in.transpose(1, 2))
        return torch.baddbmm(logits_KBV.to(narrow_KBW.dtype), narrow_KBW, self.projection_out.transpose(1, 2))

    def forward(
        self,
        hidden_BD: torch.Tensor,
        root_BD: torch.Tensor | None,
        shared: Projection | None,
        path_BPD: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Logits K x B x V of all heads."""
        return self.logits(self.states(hidden_BD, root_BD, path_BPD), shared)
