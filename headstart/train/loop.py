"""The training loop: gather, forward, loss, backward, step. One processor or one accelerator; the base model stays frozen.

Shapes: B examples of a step, K heads, V draft vocabulary, D hidden.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from headstart.drafters.heads import MedusaHeads
from headstart.errors import TrainingError
from headstart.models.dtype import has_bfloat16
from headstart.models.projection import finish
from headstart.models.protocol import BaseModel
from headstart.train.batches import Batch, Examples, Order
from headstart.train.draft_vocab import lookup_table
from headstart.train.loss import LossParts, loss_and_gradient
from headstart.train.output_matrix import shared_matrix
from headstart.train.plan import Plan
from headstart.train.schedule import learning_rate
from headstart.train.teacher import Teacher
from headstart.train.vocab_sample import VocabSampler

_BETAS = (0.9, 0.95)
_WEIGHT_DECAY = 0.01
_CLIP = 1.0


@dataclass(frozen=True)
class StepReport:
    """What a step did, for the log."""

    step: int
    """From 0."""
    loss: float
    loss_K: list[float]
    rate: float
    grad_norm: float


class Trainer:
    """Heads, optimizer, and everything that a step needs. The state is in ``heads``, ``optimizer`` and ``step`` alone."""

    def __init__(
        self,
        model: BaseModel,
        heads: MedusaHeads,
        examples: Examples,
        *,
        by_frequency_V: torch.Tensor,
        plan: Plan,
        batch: int,
        peak_rate: float,
        seed: int,
        soft_targets: float = 0.0,
    ) -> None:
        self.device = model.facts.device
        self.heads = heads.to(self.device, torch.float32).train()
        self.examples = examples
        self.step = 0
        self.order = Order(len(examples), batch, seed)
        self.steps = plan.steps_for(self.order.per_epoch)
        self.optimizer = _optimizer(self.heads, peak_rate)
        self._peak_rate = peak_rate
        self._model = model
        self.compute_dtype = torch.bfloat16 if has_bfloat16(self.device) else torch.float32
        self._table = lookup_table(heads.draft_ids_V, heads.config.vocab_size).to(self.device)
        self._sampler = VocabSampler(by_frequency_V, seed)
        shares = heads.config.projection == "shared"
        self._soft = soft_targets
        base = shared_matrix(model, heads.draft_ids_V, self.compute_dtype) if shares or soft_targets else None
        self._shared, self._base = base if shares else None, base

    def states(self, batch: Batch) -> torch.Tensor:
        """The heads' states for a batch, K x B x D, in the compute dtype."""
        root_BD = self._model.embed(batch.roots_B).clone() if self.heads.config.condition_on_root else None
        reduced = self.compute_dtype != torch.float32
        with torch.autocast(self.device.type, self.compute_dtype) if reduced else nullcontext():
            states_KBD = self.heads.states(batch.hidden_BD.to(self.compute_dtype), root_BD)
        return states_KBD.to(self.compute_dtype)

    def labels(self, batch: Batch) -> torch.Tensor:
        """Places of the targets among the draft ids, K x B; -1 outside them or beyond the answer."""
        return self._table[batch.targets_BK.T]

    def logits(self, head: int, states_BD: torch.Tensor) -> torch.Tensor:
        """What a head says of the whole draft vocabulary, B x V, as it does when drafting: a shared LM head caps its logits."""
        if self._shared is None:
            return F.linear(states_BD, self.heads.own_projection[head].detach().to(self.compute_dtype))
        return finish(F.linear(states_BD, self._shared.weight_VD, self._shared.bias_V), 1.0, self._model.facts.softcap)

    def train_step(self) -> StepReport:
        """One step.

        Raises:
            TrainingError: loss or gradient are not finite; it names the step and the batch, and nothing has changed.
        """
        index_B = self.order[self.step]
        batch = self.examples.gather(index_B, self.heads.config.num_heads, self.device, deciding=self._soft > 0)
        rate = learning_rate(self.step, self.steps, self._peak_rate)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        states_KBD = self.states(batch)
        parts = self._loss(states_KBD.detach(), batch)
        states_KBD.backward(parts.grad_KBD)
        norm = float(torch.nn.utils.clip_grad_norm_(self.heads.parameters(), _CLIP))
        if not (math.isfinite(parts.loss) and math.isfinite(norm)):
            raise TrainingError(
                f"step {self.step + 1}: the loss is {parts.loss} and the gradient's norm {norm}; expected finite numbers. The batch"
                f" came from {self.examples.describe(index_B)}. Nothing of this step was kept. Resume with a lower learning rate,"
                " or delete these shards to have them made anew"
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return StepReport(self.step - 1, parts.loss, parts.loss_K, rate, norm)

    def _loss(self, states_KBD: torch.Tensor, batch: Batch) -> LossParts:
        labels_KB = self.labels(batch)
        part = self._sampler.part(self.step, labels_KB.cpu())
        index_S = None if part.index_S is None else part.index_S.to(self.device)
        own = None if self._shared is not None else self.heads.own_projection.detach()
        if own is not None:
            own = (own if index_S is None else own[:, index_S]).to(self.compute_dtype)
        shared = None if self._shared is None else self._shared.part(index_S)
        parts = loss_and_gradient(
            states_KBD, part.labels_KB.to(self.device), shared, own, part.log_weight_S, self._teacher(batch, index_S)
        )
        if parts.grad_KVD is not None:
            grad = torch.zeros_like(self.heads.own_projection)
            if index_S is None:
                grad.copy_(parts.grad_KVD)
            else:
                grad[:, index_S] = parts.grad_KVD
            self.heads.own_projection.grad = grad
        return parts

    def _teacher(self, batch: Batch, index_S: torch.Tensor | None) -> Teacher | None:
        if batch.deciding_BKD is None or batch.known_BK is None or self._base is None:
            return None
        return Teacher(
            matrix=self._base.part(index_S),
            states_KBD=batch.deciding_BKD.transpose(0, 1).to(self.compute_dtype),
            known_KB=batch.known_BK.T,
            weight=self._soft,
            softcap=self._model.facts.softcap,
        )


def _optimizer(heads: MedusaHeads, rate: float) -> torch.optim.AdamW:
    """AdamW; weight decay on matrices, not on biases."""
    named = list(heads.named_parameters())
    groups = [
        {"params": [p for name, p in named if not name.endswith("bias")], "weight_decay": _WEIGHT_DECAY},
        {"params": [p for name, p in named if name.endswith("bias")], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=_BETAS, fused=True)
