"""The joint training loop: rows, forward, both losses, backward, step.

Everything random in a step follows from the seed and the step's number, dropout included, so that a resumed run goes on as one
that was not interrupted.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headstart.drafters.heads import MedusaHeads
from headstart.errors import TrainingError
from headstart.train.joint.backbone import Backbone
from headstart.train.joint.objective import Labels, Objective
from headstart.train.joint.options import JointOptions
from headstart.train.joint.packing import Packed, Row, RowOrder, pack
from headstart.train.loss import DECAY
from headstart.train.schedule import learning_rate

_BETAS = (0.9, 0.95)
_WEIGHT_DECAY = 0.01
_CLIP = 1.0
_WARM_UP = 0.1  # Adam's first steps move every number by the whole rate, and the heads are trained already


@dataclass(frozen=True)
class StepReport:
    """What a step did, for the log."""

    step: int
    """From 0."""
    positions: int
    """Tokens that the model was run over."""
    own: float
    """Mean cross-entropy of the model itself on the answers, in nats."""
    loss: float
    """The weighted mean of the heads' losses."""
    loss_K: list[float]
    rate: float
    """Of the model; the heads' is a multiple."""
    head_weight: float
    norm: float
    """Of the model's gradient."""
    heads_norm: float


def head_weight_at(step: int, total: int, most: float) -> float:
    """How much the heads' loss counts for the model: a quarter of a sine from 0 to ``most``. Source: Medusa, section 2.2.2."""
    return most * math.sin(0.5 * math.pi * (step + 1) / max(1, total))


class JointTrainer:
    """Model, heads and an optimizer. The state is in ``backbone``, ``heads``, ``optimizer`` and ``step`` alone."""

    def __init__(
        self,
        backbone: Backbone,
        heads: MedusaHeads,
        order: RowOrder,
        options: JointOptions,
        *,
        steps: int,
        by_frequency_V: torch.Tensor,
    ) -> None:
        self.backbone, self.order, self.steps, self.step = backbone, order, steps, 0
        self.heads = heads.to(backbone.device, torch.float32).train()
        self._options = options
        self.objective = Objective(
            backbone.base,
            self.heads,
            backbone.compute,
            distill=options.target == "distill",
            soft_targets=options.soft_targets,
            by_frequency_V=by_frequency_V,
            seed=options.seed,
        )
        self._model_parameters, self._head_parameters = list(backbone.trained().values()), list(self.heads.parameters())
        self.optimizer = _optimizer(backbone, self.heads, options)

    def train_step(self, *, still: bool = False) -> StepReport:
        """One step; ``still`` changes nothing but the optimizer.

        Raises:
            TrainingError: loss or gradient are not finite; nothing has changed.
        """
        options, step = self._options, self.step
        rate = learning_rate(step, self.steps, options.lr, _WARM_UP)
        for group in self.optimizer.param_groups:
            group["lr"] = 0.0 if still else rate * group["factor"]
        weight = head_weight_at(step, self.steps, options.head_weight)
        passes = self._passes(self.order[step])
        most = -(-options.batch // options.rows_at_once)
        whole = _together([self.objective.labels(packed) for packed in passes])
        self.backbone.train()
        own, heads_K = 0.0, [0.0] * self.heads.config.num_heads
        with torch.random.fork_rng(devices=[]):
            for number, packed in enumerate(passes):
                count = step * most + number  # the last step of an epoch may have fewer passes than most
                torch.manual_seed((options.seed * 9_176_263 + count) & 0x7FFFFFFFFFFFFFFF)
                hidden_BTD = self.backbone.hidden(packed.ids_BT, packed.positions_BT)
                hidden_AD = hidden_BTD.flatten(0, 1)[packed.at_A]
                sums = self.objective.backward(hidden_AD, packed, whole, head_weight=weight, number=count)
                own += sums.own
                heads_K = [before + added for before, added in zip(heads_K, sums.heads_K, strict=True)]
        norm = float(torch.nn.utils.clip_grad_norm_(self._model_parameters, _CLIP))
        heads_norm = float(torch.nn.utils.clip_grad_norm_(self._head_parameters, _CLIP))
        positions = sum(len(text.ids) - 1 for row in self.order[step] for text in row)
        report = _report(step, positions, own, heads_K, whole, rate=rate, head_weight=weight, norm=norm, heads_norm=heads_norm)
        heads_loss = report.loss if any(whole.heads_K) else 0.0
        if not all(map(math.isfinite, (report.own, heads_loss, norm, heads_norm))):
            self.optimizer.zero_grad(set_to_none=True)
            raise TrainingError(
                f"step {step + 1}: the model's loss is {report.own}, the heads' {report.loss}, the gradients' norms {norm} and"
                f" {heads_norm}; expected finite numbers. Nothing of this step was kept. Train with a lower learning rate"
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return report

    def seconds_per_step(self, count: int = 2) -> float:
        """Measured on the first steps at rate 0, after one to warm up; nothing of them is kept."""
        begun = 0.0
        for number in range(count + 1):
            begun = time.perf_counter() if number == 1 else begun
            self.step = number
            self.train_step(still=True)
        self.step = 0
        self.optimizer = _optimizer(self.backbone, self.heads, self._options)
        return (time.perf_counter() - begun) / count

    def _passes(self, rows: Sequence[Row]) -> list[Packed]:
        size = self._options.rows_at_once
        return [pack(rows[i : i + size], self.backbone.device) for i in range(0, len(rows), size)]


def _together(labels: Sequence[Labels]) -> Labels:
    return Labels(
        sum(each.answer for each in labels), tuple(sum(counts) for counts in zip(*(each.heads_K for each in labels), strict=True))
    )


def _report(
    step: int,
    positions: int,
    own: float,
    heads_K: list[float],
    whole: Labels,
    *,
    rate: float,
    head_weight: float,
    norm: float,
    heads_norm: float,
) -> StepReport:
    loss_K = [nats / count if count else float("nan") for nats, count in zip(heads_K, whole.heads_K, strict=True)]
    present = [DECAY**k * nats for k, nats in enumerate(loss_K) if whole.heads_K[k]]
    # a batch of answers of one token each has nothing for the heads
    loss = sum(present) / sum(DECAY**k for k in range(len(loss_K))) if present else float("nan")
    return StepReport(
        step, positions, own / whole.answer, loss, loss_K, rate=rate, head_weight=head_weight, norm=norm, heads_norm=heads_norm
    )


def _optimizer(backbone: Backbone, heads: MedusaHeads, options: JointOptions) -> torch.optim.AdamW:
    """AdamW; the heads, biases included, at a multiple of the model's rate; weight decay on matrices alone."""
    groups = []
    for parameters, factor in ((backbone.trained(), 1.0), (dict(heads.named_parameters()), options.heads_rate)):
        vectors = {name for name, p in parameters.items() if p.dim() < 2 or name.endswith("bias")}
        groups.append(
            {"params": [p for n, p in parameters.items() if n not in vectors], "weight_decay": _WEIGHT_DECAY, "factor": factor}
        )
        groups.append({"params": [p for n, p in parameters.items() if n in vectors], "weight_decay": 0.0, "factor": factor})
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=options.lr, betas=_BETAS, fused=True)
