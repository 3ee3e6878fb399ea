"""Whether a model's own weights can learn."""

from transformers import PreTrainedModel

from headstart.errors import TrainingError


def check_trainable(model: PreTrainedModel, name: str) -> None:
    """Raises TrainingError where the weights are quantised: what is packed into a few bits has no gradient, and a merged LoRA could
    not be packed again."""
    if getattr(model, "hf_quantizer", None) is not None:
        raise TrainingError(f"{name} is quantised, and weights of a few bits cannot be trained; name the model before that")
