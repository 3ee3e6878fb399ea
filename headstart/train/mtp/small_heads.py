"""Output heads that are small maps on a model's last hidden state, where Medusa heads are; decoding takes them for those.

Source: Gloeckle et al. 2024, appendix B (linear heads); Medusa (Cai et al. 2024), section 2.1.1 (residual ones).

Shapes: B texts, T positions, D hidden.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from transformers import PreTrainedModel

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.errors import UnsupportedModelError
from headstart.models.config_facts import logit_scale
from headstart.models.projection import finish
from headstart.train.mtp.objective import Trunk


class SmallHeads:
    """Residual or linear heads behind the model's last hidden state; the first head is the LM head alone.

    Raises:
        UnsupportedModelError: linear heads for a model whose logits are more than a product.
    """

    def __init__(self, model: PreTrainedModel, count: int, *, residual: bool) -> None:
        self.model, self._base = model, model.base_model
        unembedding: Any = model.get_output_embeddings()
        self.vocab_size = int(unembedding.weight.shape[0])
        self._scale, self._softcap = logit_scale(model.config)
        if not residual and (unembedding.bias is not None or self._softcap is not None):
            raise UnsupportedModelError(
                f"the logits of {type(model).__name__} have a bias or a cap, and linear heads are saved as matrices alone; use"
                " --head residual"
            )
        hidden = int(model.config.get_text_config().hidden_size)
        self._residual = residual
        self._maps = [_SmallHead(hidden, residual) for _ in range(count)]
        self.layers = nn.ModuleList(self._maps)

    def trunk(self, ids_BT: torch.Tensor) -> Trunk:
        base: Any = self._base
        output_BTD = base(input_ids=ids_BT, use_cache=False).last_hidden_state
        leaf_BTD = output_BTD.detach().requires_grad_()
        return Trunk(output_BTD, leaf_BTD, leaf_BTD)

    def unembed(self, states: torch.Tensor) -> torch.Tensor:
        head: Any = self.model.get_output_embeddings()
        return finish(head(states), self._scale, self._softcap)

    def heads(self, base_model: str) -> MedusaHeads:
        unembedding: Any = self.model.get_output_embeddings()
        vocab, hidden = unembedding.weight.shape
        config = HeadsConfig(
            hidden_size=hidden,
            vocab_size=vocab,
            num_heads=len(self._maps),
            num_layers=1 if self._residual else 0,
            projection="shared" if self._residual else "own",
            condition_on_root=False,
            base_model=base_model,
        )
        heads = MedusaHeads(config)
        with torch.no_grad():
            if self._residual:
                heads.block_weight.copy_(torch.stack([each.map.weight for each in self._maps])[None])
                heads.block_bias.copy_(torch.stack([each.map.bias for each in self._maps])[None])
            else:  # two linear maps, one after the other, are one
                weight_VD = unembedding.weight.cpu() * self._scale
                heads.own_projection.copy_(torch.stack([weight_VD + weight_VD @ each.map.weight.cpu() for each in self._maps]))
        return heads


class _SmallHead(nn.Module):
    """x + SiLU(W x + b), or x + W x; it begins as the LM head alone."""

    def __init__(self, hidden: int, residual: bool) -> None:
        super().__init__()
        self.map, self._residual = nn.Linear(hidden, hidden, bias=residual), residual
        for parameter in self.map.parameters():
            nn.init.zeros_(parameter)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        moved: torch.Tensor = self.map(x)
        return x + (F.silu(moved) if self._residual else moved)
