"""The training loop of a model with several heads: cut, forward and backward by heads, step.

Shapes: B texts, T positions, K heads, the first one included.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from headstart.errors import TrainingError
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
    positions: int
    loss: float
    """The weighted sum."""
    loss_K: list[float | None]
    """Of each head, the first one included, in nats; None for one that the schedule leaves out."""
    rate: float
    norm: float
    """Of the gradient."""


class MtpTrainer:
    """A model, its heads and an optimizer. The state is in ``named``, ``optimizer``, ``step`` and ``operations`` alone.

    ``operations`` counts the floating-point operations of the steps so far: 6 for each token and each number of a matrix that it is
    multiplied by (two forward, four backward). Attention's own products are left out.
    """

    def __init__(
        self, headed: HeadedModel, stream: torch.Tensor, options: MtpOptions, device: torch.device, compute: torch.dtype
    ) -> None:
        """``compute``: the format of the products."""
        self.headed, self.device, self.steps, self.step = headed, device, options.steps, 0
        self.operations = 0.0
        self._set_training(True)
        self._options = options
        self._crops = Crops(stream, length=options.length, ahead=options.heads, batch=options.batch, seed=options.seed)
        self.named = _named(headed)
        self.optimizer = _optimizer(list(self.named.values()), options.lr)
        self._dtype = compute

    def train_step(self) -> StepReport:
        """One step.

        Raises:
            TrainingError: loss or gradient are not finite.
        """
        options, step = self._options, self.step
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
        norm = float(torch.nn.utils.clip_grad_norm_(list(self.named.values()), _CLIP))
        loss = sum(weight * nats for weight, nats in zip(weights, losses, strict=True) if nats is not None)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise TrainingError(
                f"step {step + 1}: the loss is {loss} and the gradient's norm {norm}; expected finite numbers. Train with a lower"
                " learning rate"
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        positions = options.batch * options.length
        self.operations += positions * self.token_operations(sum(loss is not None for loss in losses))
        self.step += 1
        return StepReport(step, positions, loss, losses, rate, norm)

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


def _named(headed: HeadedModel) -> dict[str, nn.Parameter]:
    """Every parameter once, by name: a tied LM head is the embedding."""
    first: dict[int, tuple[str, nn.Parameter]] = {}
    parts: dict[str, Any] = {"model": headed.model, "layers": headed.layers}
    for part, module in parts.items():
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                first.setdefault(id(parameter), (f"{part}.{name}", parameter))
    return dict(first.values())


def _optimizer(parameters: list[nn.Parameter], rate: float) -> torch.optim.AdamW:
    """AdamW; weight decay on matrices, not on norms and biases."""
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": _WEIGHT_DECAY},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=rate, betas=_BETAS, fused=True)
