"""Mixture of experts: a router sends each token to a few of many feed-forward parts, and their results are weighed.

Shapes: M tokens of a pass, E experts, K of them for each token, D hidden.
"""

from collections.abc import Sequence

import torch

from headstart.models.native_mlp import GatedMlp, Product
from headstart.models.weights_format import Linear


class Experts:
    """``sum over the K likeliest experts e of p_e * expert_e(x)``, ... x D to ... x D.

    What a token gets does not depend on the tokens beside it: an expert's product treats each row alike, and the K results are
    added in the order of their probabilities.

    Args:
        router: to E numbers.
        top: K.
        shares: the K probabilities are made to sum to 1.
        fewest: rows that a product is filled up to; oneDNN is slower with fewer.
    """

    def __init__(
        self, router: Linear, experts: Sequence[GatedMlp], product: Product, *, top: int, shares: bool, fewest: int
    ) -> None:
        self.router, self.experts = router, list(experts)
        self._product, self._top, self._shares, self._fewest = product, top, shares, fewest

    @property
    def weight_bytes(self) -> int:
        """Of all experts; a pass reads those that its tokens are sent to."""
        return self.router.weight_bytes + sum(expert.weight_bytes for expert in self.experts)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        x_MD = x.reshape(-1, x.shape[-1])
        probability_ME = torch.softmax(self._product(self.router, x_MD).float(), -1)
        probability_MK, expert_MK = probability_ME.topk(self._top)
        if self._shares:
            probability_MK = probability_MK / probability_MK.sum(-1, keepdim=True)
        by_expert = expert_MK.flatten().argsort(stable=True)
        counts_E = expert_MK.flatten().bincount(minlength=len(self.experts)).tolist()
        sent = x_MD[by_expert // self._top].split(counts_E)
        done = torch.cat([self._one(expert, rows) for expert, rows in zip(self.experts, sent, strict=True) if len(rows)])
        out_MKD = torch.empty_like(done).index_copy_(0, by_expert, done).view(-1, self._top, x.shape[-1])
        sum_MD = out_MKD[:, 0] * probability_MK[:, :1]
        for k in range(1, self._top):
            sum_MD += out_MKD[:, k] * probability_MK[:, k : k + 1]
        return sum_MD.to(x.dtype).view(x.shape)

    def _one(self, expert: GatedMlp, rows: torch.Tensor) -> torch.Tensor:
        count = len(rows)
        return expert(rows if count >= self._fewest else rows.repeat(-(-self._fewest // count), 1))[:count]
