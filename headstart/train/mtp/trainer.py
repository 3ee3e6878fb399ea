"""The training loop of a model with several heads: cut, forward and backward by heads, step.

Shapes: B texts, T positions, N heads.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from headstart.errors import TrainingError
from headstart.models.dtype import training_dtype
from headstart.train.mtp.curriculum import weights_at
from headstart.train.mtp.headed_model import HeadedModel, matrix_parameters
from headstart.train.mtp.objective import backward_by_heads
from headstart.train.mtp.options import MtpOptions
from headstart.train.mtp.stream import Crops, step_seed
from headstart.train.schedule import learning_rate

_BETAS = (0.9, 0.95)
_WEIGHT_DECAY = 0.1
_CLIP = 1.0


@dataclass(frozen=True)
class StepReport:
    """What a step did, for the log."""

    step: int
    """From 0."""
    loss: float
    """The weighted sum."""
    loss_N: list[float | None]
    """Of each head, in nats; None for one that the schedule leaves out."""
    rate: float
    grad_norm: float


class MtpTrainer:
    """A model, its heads and an optimizer.

    ``operations`` counts the floating-point operations of the steps so far: 6 for each token and each number of a matrix that it is
    multiplied by (two forward, four backward). Attention's own products are left out.
    """

    def __init__(self, headed: HeadedModel, stream: torch.Tensor, options: MtpOptions, device: torch.device) -> None:
        self.headed, self.device, self.steps = headed, device, options.steps
        self.operations = 0.0
        self._set_training(True)
        self._options = options
        self._crops = Crops(stream, length=options.length, ahead=options.heads, batch=options.batch, seed=options.seed)
        self.parameters = _distinct(headed)
        self.optimizer = _optimizer(self.parameters, options.lr)
        self._dtype = training_dtype(device)

    def train_step(self, step: int) -> StepReport:
        """One step.

        Raises:
            TrainingError: loss or gradient are not finite.
        """
        options = self._options
        rate = learning_rate(step, self.steps, options.lr)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        weights = weights_at(step, self.steps, options.weights, options.schedule)
        ids_BT = self._crops[step].to(self.device)
        reduced = self._dtype != torch.float32
        precision = torch.autocast(self.device.type, self._dtype) if reduced else nullcontext()
        with torch.random.fork_rng(devices=[]), precision:
            torch.manual_seed(step_seed(options.seed, step))  # of dropout, where a model has it
            trunk = self.headed.trunk(ids_BT[:, : options.length])
            losses = backward_by_heads(
                trunk, list(self.headed.layers), self.headed.unembed, self.headed.vocab_size, ids_BT, weights
            )
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, _CLIP))
        loss = sum(weight * nats for weight, nats in zip(weights, losses, strict=True) if nats is not None)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise TrainingError(
                f"step {step + 1}: the loss is {loss} and the gradient's norm {norm}; expected finite numbers. Train with a lower"
                " learning rate"
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.operations += options.batch * options.length * self.token_operations(sum(loss is not None for loss in losses))
        return StepReport(step, loss, losses, rate, norm)

    def end(self) -> None:
        """Training is over: from here on model and heads are what they are when they decode, without dropout."""
        self._set_training(False)

    def _set_training(self, training: bool) -> None:
        for module in (self.headed.model, self.headed.layers):
            untyped: Any = module  # transformers wraps the types of these methods away
            untyped.to(self.device).train(training)

    def token_operations(self, heads: int) -> float:
        """Operations of training on one token with so many heads."""
        own, further = matrix_parameters(self.headed)
        return 6.0 * (own + (heads - 1) * further)


def _distinct(headed: HeadedModel) -> list[nn.Parameter]:
    """Every parameter once: a tied LM head is the embedding."""
    return list({id(p): p for p in (*headed.model.parameters(), *headed.layers.parameters()) if p.requires_grad}.values())


def _optimizer(parameters: list[nn.Parameter], rate: float) -> torch.optim.AdamW:
    """AdamW; weight decay on matrices, not on norms and biases."""
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": _WEIGHT_DECAY},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=rate, betas=_BETAS, fused=True)
