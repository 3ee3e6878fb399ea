"""The layers of a model that learn where not all of them do: the last ones, so that a backward pass ends where they begin."""

from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from headstart.errors import TrainingError


def last_layers(model: PreTrainedModel, count: int) -> dict[str, nn.Module]:
    """The decoder's last ``count`` layers, by their names in ``model``.

    Raises:
        TrainingError: there are not so many, or the model does not keep its layers in one list.
    """
    total = model.config.get_text_config().num_hidden_layers
    if count > total:
        raise TrainingError(f"layers is {count}, and {type(model).__name__} has {total}; give at most that, or leave it out")
    decoder = set(model.get_decoder().modules())  # a model that also sees or hears has other layers, too
    for name, module in model.named_modules():
        if module in decoder and isinstance(module, nn.ModuleList) and len(module) == total:
            return {f"{name}.{number}": module[number] for number in range(total - count, total)}
    raise TrainingError(
        f"{type(model).__name__} has no list of its {total} layers, so that the last of them cannot be told; leave layers out"
    )


def linear_names(layers: dict[str, nn.Module]) -> list[str]:
    """The names of all linear layers inside ``layers``."""
    return [
        f"{outer}.{inner}"
        for outer, layer in layers.items()
        for inner, module in layer.named_modules()
        if isinstance(module, nn.Linear | Conv1D)
    ]
