"""The training loop: gather, forward, loss, backward, step. The base model stays frozen.

Shapes: B examples of a step, K heads, V draft vocabulary, D hidden.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass

import torch

from headstart.drafters.heads import MedusaHeads
from headstart.errors import TrainingError
from headstart.models.dtype import DTYPES, training_dtype
from headstart.models.protocol import BaseModel
from headstart.train.batches import Batch, Examples
from headstart.train.draft_vocab import lookup_table
from headstart.train.loss import DECAY, LossParts, loss_and_gradient
from headstart.train.output_matrix import shared_matrix
from headstart.train.plan import Plan
from headstart.train.processes import ALONE, Processes
from headstart.train.projections import Projections
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
        processes: Processes = ALONE,
    ) -> None:
        """``processes`` share each step's batch; all of them are given the same of everything else."""
        self.device = model.facts.device
        self.heads = heads.to(self.device, torch.float32).train()
        self.examples = examples
        self.step = 0
        self.order = examples.order(batch, seed)
        self.plan = plan
        self.steps = plan.steps_for(self.order.per_epoch)
        self.optimizer = _optimizer(self.heads, peak_rate)
        self._peak_rate = peak_rate
        self._advice = "Start anew with a lower --lr"
        if not plan.recorded:
            self._advice += ", or delete these shards and use --resume: they are made anew"
        self.model = model
        self.compute_dtype = DTYPES[plan.compute] if plan.compute else training_dtype(self.device)
        self._table = lookup_table(heads.draft_ids_V, heads.config.vocab_size).to(self.device)
        self._sampler = VocabSampler(by_frequency_V, seed)
        self._soft, self.processes = soft_targets, processes
        reads = heads.config.reads_lm_head
        self._base = shared_matrix(model, heads.draft_ids_V, self.compute_dtype) if reads or soft_targets else None
        self._projections = Projections(self.heads, self._base, self.compute_dtype)

    def states(self, batch: Batch) -> torch.Tensor:
        """The heads' states for a batch, K x B x D, in the compute dtype."""
        root_BD = self.model.embed(batch.roots_B).clone() if self.heads.config.condition_on_root else None
        reduced = self.compute_dtype != torch.float32
        with torch.autocast(self.device.type, self.compute_dtype) if reduced else nullcontext():
            states_KBD = self.heads.states(batch.hidden_BD.to(self.compute_dtype), root_BD, self._path(batch))
        return states_KBD.to(self.compute_dtype)

    def _path(self, batch: Batch) -> torch.Tensor | None:
        """What Hydra heads read besides: the true tokens before each head's own, B x (K - 1) x D."""
        if self.heads.config.kind != "hydra":
            return None
        # beyond the end of an answer any token will do: no head that reads it has a label there
        return self.model.embed(batch.targets_BK[:, :-1].clamp(min=0)).clone()

    def labels(self, batch: Batch) -> torch.Tensor:
        """Places of the targets among the draft ids, K x B; -1 outside them or beyond the answer."""
        return self._table[batch.targets_BK.T]

    def logits(self, head: int, states_BD: torch.Tensor) -> torch.Tensor:
        """What a head says of the whole draft vocabulary, B x V, as it does when drafting, but for rounding (see
        :meth:`Projections.matrix_of`): a shared LM head caps its logits."""
        return self._projections.matrix_of(head).logits(states_BD)

    def train_step(self) -> StepReport:
        """One step.

        Raises:
            TrainingError: loss or gradient are not finite, or no target is in the draft vocabulary; it names the step and the
                batch, and nothing has changed.
        """
        index_B = self.order[self.step]
        mine, heads = self.processes.share(len(index_B)), self.heads.config.num_heads
        batch = self.examples.gather(index_B[mine], heads, self.device, deciding=self._soft > 0)
        labels_KB = self._table[self.examples.targets_at(index_B, heads).to(self.device).T]
        rate = learning_rate(self.step, self.steps, self._peak_rate)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        states_KBD = self.states(batch)
        parts = self._loss(states_KBD.detach(), batch, labels_KB, mine)
        if not bool((labels_KB >= 0).any()):
            raise TrainingError(
                f"step {self.step + 1}: no token that the heads have to guess is among the {self.heads.config.projected_vocab:,}"
                f" that they choose from, so there is nothing to learn. The batch came from {self.examples.describe(index_B)}."
                " Start anew with a larger --draft-vocab-size or --batch"
            )
        states_KBD.backward(parts.grad_KBD)
        self.processes.add_up(p.grad for p in self.heads.parameters() if p.grad is not None)
        norm = float(torch.nn.utils.clip_grad_norm_(self.heads.parameters(), _CLIP))
        if not (math.isfinite(parts.loss) and math.isfinite(norm)):
            raise TrainingError(
                f"step {self.step + 1}: the loss is {parts.loss} and the gradient's norm {norm}; expected finite numbers. The batch"
                f" came from {self.examples.describe(index_B)}. Nothing of this step was kept. {self._advice}"
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return StepReport(self.step - 1, parts.loss, parts.loss_K, rate, norm)

    def _loss(self, states_KBD: torch.Tensor, batch: Batch, labels_KB: torch.Tensor, mine: slice) -> LossParts:
        """The loss of the whole step, and this process's part of the gradient: ``labels_KB`` are the whole step's, ``states_KBD``
        and ``batch`` are ``mine``."""
        part = self._sampler.part(self.step, labels_KB.cpu())  # of all labels, so that all processes look at the same
        index_S = None if part.index_S is None else part.index_S.to(self.device)
        own_KSD = self._projections.learned_matrices(index_S)
        parts = loss_and_gradient(
            states_KBD,
            part.labels_KB[:, mine].to(self.device),
            self._projections.shared(index_S),
            None if own_KSD is None else own_KSD.detach().to(self.compute_dtype),
            part.log_weight_S,
            self._teacher(batch, index_S),
        )
        if self.processes.count > 1:
            parts = added_up(parts, labels_KB[:, mine], labels_KB, self.processes)
        if own_KSD is not None:
            own_KSD.backward(parts.grad_KVD)
        return parts

    def _teacher(self, batch: Batch, index_S: torch.Tensor | None) -> Teacher | None:
        if batch.deciding_BKD is None or batch.known_BK is None or self._base is None:
            return None
        return Teacher(
            matrix=self._base.part(index_S),
            states_KBD=batch.deciding_BKD.transpose(0, 1).to(self.compute_dtype),
            known_KB=batch.known_BK.T,
            weight=self._soft,
        )


def added_up(parts: LossParts, mine_KB: torch.Tensor, all_KB: torch.Tensor, processes: Processes) -> LossParts:
    """From means over this process's labels to means over all: the whole loss, and what this process adds to its gradient."""
    mine_K, all_K = (mine_KB >= 0).sum(-1), (all_KB >= 0).sum(-1)
    share_K = mine_K.double() / all_K.clamp(min=1)
    loss_K = torch.tensor(parts.loss_K, dtype=torch.float64, device=share_K.device).nan_to_num(0.0) * share_K
    processes.add_up([loss_K])
    weights = [DECAY**k for k in range(len(loss_K))]
    share_K11 = share_K[:, None, None]
    return LossParts(
        loss=sum(weight * nats for weight, nats in zip(weights, loss_K.tolist(), strict=True)) / sum(weights),
        loss_K=[nats if count else math.nan for nats, count in zip(loss_K.tolist(), all_K.tolist(), strict=True)],
        grad_KBD=parts.grad_KBD * share_K11.to(parts.grad_KBD.dtype),
        grad_KVD=None if parts.grad_KVD is None else parts.grad_KVD * share_K11.to(parts.grad_KVD.dtype),
    )


def _optimizer(heads: MedusaHeads, rate: float) -> torch.optim.AdamW:
    """AdamW; weight decay on matrices, not on biases."""
    named = list(heads.named_parameters())
    groups = [
        {"params": [p for name, p in named if not name.endswith("bias")], "weight_decay": _WEIGHT_DECAY},
        {"params": [p for name, p in named if name.endswith("bias")], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=_BETAS, fused=True)
