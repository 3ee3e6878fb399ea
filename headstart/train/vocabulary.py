"""Whether a tokenizer belongs to a model."""

from headstart.errors import TrainingError


def check_vocabulary(tokenizer_size: int, model_size: int) -> None:
    """Raises TrainingError where the tokenizer has more tokens than the model: an id beyond the embeddings would end the run."""
    if tokenizer_size > model_size:
        raise TrainingError(
            f"the tokenizer has {tokenizer_size:,} tokens and the model {model_size:,}: it is another model's, or tokens were added"
            " to it and not to the model; put the model's own tokenizer beside it, or enlarge the model's embeddings"
        )
