"""Loss and gradient of a pass: what the model itself is held to, and the heads on its hidden states.

Both losses are turned into gradients by the hidden states first, so that the model is run backward once.

Shapes: A answer tokens, E examples of the heads, K heads, D hidden, V vocabulary.
"""

from contextlib import nullcontext
from dataclasses import dataclass

import torch

from headstart.drafters.heads import MedusaHeads
from headstart.models.protocol import BaseModel
from headstart.train.draft_vocab import lookup_table
from headstart.train.joint.packing import Packed
from headstart.train.loss import DECAY, loss_and_gradient
from headstart.train.output_matrix import OutputMatrix, shared_matrix
from headstart.train.projections import Projections
from headstart.train.teacher import Teacher
from headstart.train.vocab_sample import VocabSampler


@dataclass(frozen=True)
class Labels:
    """How many labels a step has, over all its passes: what its means are taken over."""

    answer: int
    heads_K: tuple[int, ...]


@dataclass(frozen=True)
class Sums:
    """What a pass adds to a step: sums over its labels, in nats."""

    own: float
    heads_K: tuple[float, ...]


class Objective:
    """Turns hidden states into losses and gradients. LM head and embeddings are the untouched model's."""

    def __init__(
        self,
        base: BaseModel,
        heads: MedusaHeads,
        compute: torch.dtype,
        *,
        distill: bool,
        soft_targets: float,
        by_frequency_V: torch.Tensor,
        seed: int,
    ) -> None:
        """``by_frequency_V`` lists places among the heads' draft ids, the most frequent first."""
        self.heads, self.base, self.compute, self.distill, self._soft = heads, base, compute, distill, soft_targets
        self.matrix = shared_matrix(base, None, compute)
        self._shared = self.matrix.part(heads.draft_ids_V)
        self._projections = Projections(heads, self._shared, compute)
        self._table = lookup_table(heads.draft_ids_V, heads.config.vocab_size).to(base.facts.device)
        self._sampler = VocabSampler(by_frequency_V, seed)

    def labels(self, packed: Packed) -> Labels:
        """What a pass has."""
        targets_AK = packed.ahead(self.heads.config.num_heads)
        inside_EK = self._table[targets_AK[packed.left_A > 0]] >= 0
        return Labels(len(packed.next_A), tuple(int(count) for count in inside_EK.sum(0)))

    def backward(self, hidden_AD: torch.Tensor, packed: Packed, whole: Labels, *, head_weight: float, number: int) -> Sums:
        """Add the gradients of a pass to everything that is trained. Head k's loss counts ``head_weight`` * DECAY ** k for
        the model; the heads themselves learn all of it. ``number`` tells passes apart, for the sample of the vocabulary."""
        leaf_AD = hidden_AD.detach().to(self.compute).requires_grad_()
        heads_K = self._heads_backward(leaf_AD, packed, whole, number)
        own = loss_and_gradient(leaf_AD.detach()[None], packed.next_A[None], self.matrix, None, None, self._untouched(packed))
        grad_AD = own.grad_KBD[0] * (len(packed.next_A) / whole.answer)
        if leaf_AD.grad is not None and head_weight:
            mean_to_sum = sum(DECAY**k for k in range(self.heads.config.num_heads))
            grad_AD = grad_AD.add(leaf_AD.grad, alpha=head_weight * mean_to_sum)
        if hidden_AD.requires_grad:
            hidden_AD.backward(grad_AD.to(hidden_AD.dtype))
        return Sums(own.loss_K[0] * len(packed.next_A), heads_K)

    def states(self, hidden_ED: torch.Tensor, roots_E: torch.Tensor, targets_EK: torch.Tensor) -> torch.Tensor:
        """The heads' states, K x E x D, in the compute dtype."""
        config = self.heads.config
        root_ED = self.base.embed(roots_E).clone() if config.condition_on_root else None
        # beyond the end of an answer any token will do: no head that reads it has a label there
        path = self.base.embed(targets_EK[:, :-1].clamp(min=0)).clone() if config.kind == "hydra" else None
        reduced = self.compute != torch.float32
        with torch.autocast(hidden_ED.device.type, self.compute) if reduced else nullcontext():
            states_KED = self.heads.states(hidden_ED, root_ED, path)
        return states_KED.to(self.compute)

    def places(self, targets_EK: torch.Tensor) -> torch.Tensor:
        """Places of targets among the draft ids, K x E; -1 outside them or beyond the answer."""
        return self._table[targets_EK.T]

    def projected(self, head: int) -> OutputMatrix:
        """What a head's states are multiplied by."""
        return self._projections.matrix_of(head)

    def _heads_backward(self, leaf_AD: torch.Tensor, packed: Packed, whole: Labels, number: int) -> tuple[float, ...]:
        config = self.heads.config
        example_A = packed.left_A > 0
        targets_EK = packed.ahead(config.num_heads)[example_A]
        labels_KE = self.places(targets_EK)
        if not bool((labels_KE >= 0).any()):
            return (0.0,) * config.num_heads
        states_KED = self.states(leaf_AD[example_A], packed.next_A[example_A], targets_EK)
        part = self._sampler.part(number, labels_KE.cpu())
        index_S = None if part.index_S is None else part.index_S.to(leaf_AD.device)
        own_KSD = self._projections.learned_matrices(index_S)
        parts = loss_and_gradient(
            states_KED.detach(),
            part.labels_KB.to(leaf_AD.device),
            self._projections.shared(index_S),
            None if own_KSD is None else own_KSD.detach().to(self.compute),
            part.log_weight_S,
            self._deciding(packed, example_A, index_S),
        )
        counts_K = (labels_KE >= 0).sum(-1).tolist()
        share_K = [count / max(1, all_) for count, all_ in zip(counts_K, whole.heads_K, strict=True)]
        grad_KED = parts.grad_KBD * torch.tensor(share_K, dtype=parts.grad_KBD.dtype, device=leaf_AD.device)[:, None, None]
        states_KED.backward(grad_KED)
        if own_KSD is not None and parts.grad_KVD is not None:
            own_KSD.backward(parts.grad_KVD * torch.tensor(share_K, device=leaf_AD.device)[:, None, None])
        return tuple(nats * count if count else 0.0 for nats, count in zip(parts.loss_K, counts_K, strict=True))

    def _deciding(self, packed: Packed, example_A: torch.Tensor, index_S: torch.Tensor | None) -> Teacher | None:
        """What the untouched model thought of the heads' tokens, over the part of the vocabulary that a pass looks at."""
        deciding = packed.deciding(self.heads.config.num_heads) if self._soft else None
        if deciding is None:
            return None
        states_AKD, known_AK = deciding
        return Teacher(
            matrix=self._shared.part(index_S),
            states_KBD=states_AKD[example_A].transpose(0, 1).to(self.compute),
            known_KB=known_AK[example_A].T,
            weight=self._soft,
        )

    def _untouched(self, packed: Packed) -> Teacher | None:
        """The untouched model's distributions over the whole vocabulary, where its states are known."""
        if not self.distill or packed.recorded_AD is None:
            return None
        return Teacher(
            matrix=self.matrix,
            states_KBD=packed.recorded_AD.to(self.compute)[None],
            known_KB=packed.known_A[None],
            weight=1.0,
        )
