"""The ranked guesses of Medusa heads for a batch of rows.

At temperature above 0 guesses are ranked by ``log q(x) + G(seed, t, x)``, with the very noise that the base model's choice will
see, so that a head that agrees with the model agrees on the draw as well.

Shapes: B rows, K heads, R ranks, V projected vocabulary, D hidden.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from headstart.drafters.heads import MedusaHeads
from headstart.drafters.packed_heads import PackedHeads
from headstart.models.protocol import BaseModel
from headstart.sampling.filters import COLDEST
from headstart.sampling.noise import gumbel
from headstart.sampling.row import RowSampling


class HeadGuesses:
    """Heads ready to draft for ``model``, moved to its device and dtype. Several drafters may share one."""

    def __init__(self, heads: MedusaHeads, model: BaseModel) -> None:
        self.heads = heads.to(device=model.facts.device, dtype=model.facts.dtype).eval().requires_grad_(False)
        self.device = model.facts.device
        self._embed = model.embed
        self._logits: Callable[[torch.Tensor, torch.Tensor | None], torch.Tensor]
        shares = heads.config.projection == "shared"
        if PackedHeads.worthwhile(heads):
            self._logits = PackedHeads(heads, model.projection(heads.draft_ids_V, rough=True) if shares else None)
        else:
            self._logits = partial(heads, shared=model.projection(heads.draft_ids_V) if shares else None)

    def best(
        self, hidden_BD: torch.Tensor, roots_B: torch.Tensor, sampling: Sequence[RowSampling], ranks: int, *, probabilities: bool
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Each head's ``ranks`` best guesses in order, as ids of the whole vocabulary, and their log probabilities if wanted.

        With noise, the probabilities are those that remain once the noise is known: a softmax of the noisy scores.
        """
        root_BD = self._embed(roots_B) if self.heads.config.condition_on_root else None
        logits_KBV = self._logits(hidden_BD, root_BD)
        if not all(row.params.greedy for row in sampling):
            logits_KBV = self._with_noise(logits_KBV, sampling)
        best_KBR = logits_KBV.topk(ranks, sorted=True)
        ids_V = self.heads.draft_ids_V
        guesses_KBR = best_KBR.indices if ids_V is None else ids_V[best_KBR.indices]
        if not probabilities:
            return guesses_KBR, None
        return guesses_KBR, best_KBR.values.float() - logits_KBV.float().logsumexp(-1, keepdim=True)

    def _with_noise(self, logits_KBV: torch.Tensor, sampling: Sequence[RowSampling]) -> torch.Tensor:
        heads, _, vocab = logits_KBV.shape
        device = logits_KBV.device
        ids_V = self.heads.draft_ids_V if self.heads.draft_ids_V is not None else torch.arange(vocab, device=device)
        scores_KBV = logits_KBV.double()
        for b, row in enumerate(sampling):
            if row.params.greedy:
                continue
            first = row.prompt_length + len(row.generated)
            positions_K = torch.arange(first, first + heads, device=device)
            seeds_K = torch.full((heads,), row.seed, dtype=torch.int64, device=device)
            noise_KV = gumbel(seeds_K, positions_K, ids_V[None])
            scores_KBV[:, b] = torch.log_softmax(scores_KBV[:, b] / max(row.params.temperature, COLDEST), -1) + noise_KV
        return scores_KBV
