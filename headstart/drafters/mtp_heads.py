"""Multi-token prediction heads: one transformer layer each, all on the output of the same trunk.

The model is trained with n heads on one trunk. Its first head is its own last layer, so that trunk and first head together are an
ordinary model; the others are here. Head k (from 0) reads the trunk's output at positions 0 to t, and predicts token t + 2 + k.
Behind a head's layer come the model's final norm and its LM head, which all heads share. Source: Gloeckle et al. 2024, section 2.

Shapes: K heads, B rows, T positions, R positions of any rows one after another, H query heads, J key/value heads, D hidden size
or size of an attention head.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import nn

from headstart.errors import HeadsError
from headstart.models.protocol import Projection

_COUNTS = ("hidden_size", "vocab_size", "num_heads", "attention_heads", "kv_heads", "head_size", "intermediate_size")


@dataclass(frozen=True, kw_only=True)
class MtpConfig:
    """What a set of heads is made of; ``config.json`` of a heads directory whose kind is "mtp"."""

    hidden_size: int
    vocab_size: int
    kind: Literal["mtp"] = "mtp"
    num_heads: int
    """Without the model's own: one less than the tokens that a step can emit."""
    attention_heads: int
    """Of a layer, for queries."""
    kv_heads: int
    head_size: int
    intermediate_size: int
    qkv_bias: bool = False
    norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    base_model: str = ""
    """The model that the heads were trained with, as it was named then."""

    def __post_init__(self) -> None:
        for name in _COUNTS:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise HeadsError(f"heads config: {name} is {value!r}; expected a whole number from 1 on")
        if self.kind != "mtp":
            raise HeadsError(f"heads config: kind is {self.kind!r}; expected 'mtp'")
        for name in ("norm_eps", "rope_theta"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not value > 0:
                raise HeadsError(f"heads config: {name} is {value!r}; expected a number above 0")
        if not isinstance(self.qkv_bias, bool):
            raise HeadsError(f"heads config: qkv_bias is {self.qkv_bias!r}; expected true or false")
        if self.attention_heads % self.kv_heads or self.head_size % 2:
            raise HeadsError(
                f"heads config: {self.attention_heads} attention heads of size {self.head_size} over {self.kv_heads} key/value"
                " heads; expected a multiple of the latter, and an even size"
            )

    @property
    def draft_vocab_size(self) -> None:
        """These heads choose from the whole vocabulary."""
        return None

    @property
    def condition_on_root(self) -> bool:
        """Another head has guessed the root."""
        return False

    @property
    def projected_vocab(self) -> int:
        """Tokens that a head can guess."""
        return self.vocab_size

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class MtpLayer(nn.Module):
    """A layer of the Llama kind: attention with rotary positions, then a gated MLP, each behind a norm."""

    def __init__(self, config: MtpConfig) -> None:
        super().__init__()
        self.config = config
        hidden, queries = config.hidden_size, config.attention_heads * config.head_size
        self.attention_norm = nn.Parameter(torch.ones(hidden))
        self.qkv = nn.Linear(hidden, queries + 2 * config.kv_heads * config.head_size, bias=config.qkv_bias)
        self.out = nn.Linear(queries, hidden, bias=False)
        self.mlp_norm = nn.Parameter(torch.ones(hidden))
        self.gate_up = nn.Linear(hidden, 2 * config.intermediate_size, bias=False)
        self.down = nn.Linear(config.intermediate_size, hidden, bias=False)

    def forward(self, trunk_BTD: torch.Tensor) -> torch.Tensor:
        """Whole texts from their first position on; returns states B x T x D before the final norm."""
        positions_T = torch.arange(trunk_BTD.shape[1], device=trunk_BTD.device)
        q, (k, v) = self.queries(trunk_BTD, positions_T), self.keys_values(trunk_BTD, positions_T)
        if (groups := self.config.attention_heads // self.config.kv_heads) > 1:
            k, v = k.repeat_interleave(groups, 2), v.repeat_interleave(groups, 2)
        mixed = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return self.finished(trunk_BTD, mixed.transpose(1, 2).flatten(2))

    def queries(self, trunk: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """From (..., D) at positions (...) to (..., H, D)."""
        rows = slice(0, self.config.attention_heads * self.config.head_size)
        return self._rotated(self._part(trunk, rows).unflatten(-1, (-1, self.config.head_size)), positions)

    def keys_values(self, trunk: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """From (..., D) at positions (...) to two of (..., J, D)."""
        rows = slice(self.config.attention_heads * self.config.head_size, None)
        k, v = self._part(trunk, rows).unflatten(-1, (2, self.config.kv_heads, self.config.head_size)).unbind(-3)
        return self._rotated(k, positions), v

    def finished(self, trunk: torch.Tensor, mixed: torch.Tensor) -> torch.Tensor:
        """From (..., D) and what attention made of it, (..., H * D), to states (..., D) before the final norm."""
        x: torch.Tensor = trunk + self.out(mixed)
        gate, up = self.gate_up(self._normed(x, self.mlp_norm)).chunk(2, -1)
        added: torch.Tensor = self.down(F.silu(gate) * up)
        return x + added

    def _part(self, trunk: torch.Tensor, rows: slice) -> torch.Tensor:
        bias = None if self.qkv.bias is None else self.qkv.bias[rows]
        return F.linear(self._normed(trunk, self.attention_norm), self.qkv.weight[rows], bias)

    def _normed(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, (self.config.hidden_size,), weight.to(x.dtype), self.config.norm_eps)

    def _rotated(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        half = self.config.head_size // 2
        wide = torch.promote_types(x.dtype, torch.float32)
        exponents = torch.arange(half, dtype=wide, device=x.device) / half
        angles = positions.to(wide)[..., None, None] * self.config.rope_theta**-exponents
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        left, right = x[..., :half], x[..., half:]
        return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)


class MtpHeads(nn.Module):
    """The heads beyond the model's own, and a copy of the model's final norm, which stands between them and its LM head."""

    draft_ids_V: None = None

    def __init__(self, config: MtpConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(MtpLayer(config) for _ in range(config.num_heads))
        self.norm = nn.Parameter(torch.ones(config.hidden_size))

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.parameters())

    def layer(self, head: int) -> MtpLayer:
        layer = self.layers[head]
        assert isinstance(layer, MtpLayer)
        return layer

    def logits(self, states_BKD: torch.Tensor, root_BD: None, shared: Projection) -> torch.Tensor:
        """Logits K x B x V of what the layers made, B x K x D, by the model's LM head ``shared``. They do not read the root."""
        normed_BKD = F.rms_norm(states_BKD, (self.config.hidden_size,), self.norm, self.config.norm_eps)
        heads, rows = self.config.num_heads, len(states_BKD)
        return shared(normed_BKD.transpose(0, 1).flatten(0, 1)).view(heads, rows, -1)
