"""The ranked guesses of Medusa heads for a batch of rows.

At temperature above 0 guesses are ranked by ``log q(x) + G(seed, t, x)``, with the very noise that the base model's choice will
see, so that a head that agrees with the model agrees on the draw as well.

Shapes: B rows, K heads, R ranks (alone also heads x rows), V projected vocabulary, D hidden.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from headstart.drafters.heads import MedusaHeads
from headstart.drafters.mtp_heads import MtpHeads
from headstart.drafters.noisy_guesses import drawn, ranked_with_noise
from headstart.drafters.packed_heads import PackedHeads
from headstart.errors import HeadsError
from headstart.models.protocol import BaseModel
from headstart.sampling.row import RowSampling


class HeadGuesses:
    """Heads ready to draft for ``model``, moved to its device and dtype. Several drafters may share one.

    The hidden states of MTP heads are those that their layers have made, B x K x D.

    Raises:
        HeadsError: the heads do not guess all at once.
    """

    def __init__(self, heads: MedusaHeads | MtpHeads, model: BaseModel) -> None:
        if heads.config.kind == "hydra":
            raise HeadsError(
                "hydra heads guess level by level, and what was asked for needs heads that guess all at once: medusa's"
            )
        self.heads = heads.to(device=model.facts.device, dtype=model.facts.dtype).eval().requires_grad_(False)
        self.device = model.facts.device
        self._embed = model.embed
        self._vocab = model.facts.vocab_size
        self._logits: Callable[[torch.Tensor, torch.Tensor | None], torch.Tensor]
        if isinstance(heads, MtpHeads):
            self._logits = partial(heads.logits, shared=model.projection(rough=True))
            return
        reads = heads.config.reads_lm_head
        if PackedHeads.worthwhile(heads):
            self._logits = PackedHeads(heads, model.projection(heads.draft_ids_V, rough=True) if reads else None)
        else:
            self._logits = partial(heads, shared=model.projection(heads.draft_ids_V) if reads else None)

    def best(
        self, hidden_BD: torch.Tensor, roots_B: torch.Tensor, sampling: Sequence[RowSampling], ranks: int, *, probabilities: bool
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Each head's ``ranks`` best guesses in order, as ids of the whole vocabulary, and their log probabilities if wanted.

        With noise, the probabilities are those that remain once the noise is known: a softmax of the noisy scores.
        """
        logits_KBV = self._head_logits(hidden_BD, roots_B)
        if all(row.params.greedy for row in sampling):
            best_KBR = logits_KBV.topk(ranks, sorted=True)
            log_q_KBR = best_KBR.values.float() - logits_KBV.float().logsumexp(-1, keepdim=True) if probabilities else None
            return self._ids(best_KBR.indices), log_q_KBR
        heads, rows, _ = logits_KBV.shape
        guesses_RR, log_q_RR = ranked_with_noise(logits_KBV.flatten(0, 1), *_places(heads, sampling), ranks, self.heads.draft_ids_V)
        return guesses_RR.unflatten(0, (heads, rows)), log_q_RR.unflatten(0, (heads, rows))

    def draw(
        self, hidden_BD: torch.Tensor, roots_B: torch.Tensor, sampling: Sequence[RowSampling], ranks: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """``ranks`` guesses of each head drawn at the rows' ``draft_temperature``, in the order drawn.

        They are drawn from the head's likeliest tokens alone; its q is that. Also returned: the log probabilities of the
        likeliest guesses in order (K x B x R), which know nothing of what was drawn, and q (B x K x base vocabulary).
        """
        logits_KBV = self._head_logits(hidden_BD, roots_B)
        heads, rows, _ = logits_KBV.shape
        guesses_RR, log_q_RR, q_RV = drawn(
            logits_KBV.flatten(0, 1), *_places(heads, sampling), ranks, self.heads.draft_ids_V, self._vocab
        )
        guesses_KBR, log_q_KBR = guesses_RR.unflatten(0, (heads, rows)), log_q_RR.unflatten(0, (heads, rows))
        return guesses_KBR, log_q_KBR, q_RV.unflatten(0, (heads, rows)).transpose(0, 1)

    def _head_logits(self, hidden_BD: torch.Tensor, roots_B: torch.Tensor) -> torch.Tensor:
        return self._logits(hidden_BD, self._embed(roots_B) if self.heads.config.condition_on_root else None)

    def _ids(self, places: torch.Tensor) -> torch.Tensor:
        ids_V = self.heads.draft_ids_V
        return places if ids_V is None else ids_V[places]


def _places(heads: int, sampling: Sequence[RowSampling]) -> tuple[list[RowSampling], list[int]]:
    """Rows and heads of K x B logits as one list: head k guesses k positions ahead."""
    return [*sampling] * heads, [k for k in range(heads) for _ in sampling]
