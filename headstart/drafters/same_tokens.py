"""Tells whether the ids of two models mean the same."""

from transformers import PreTrainedTokenizerBase

from headstart.errors import DraftModelError
from headstart.models.protocol import ModelFacts


def check_same_tokens(
    base: ModelFacts, base_tokenizer: PreTrainedTokenizerBase | None, draft: ModelFacts, tokenizer: PreTrainedTokenizerBase | None
) -> None:
    """Every token of the base model has to be the draft model's token of the same id.

    Tokenizers are compared, not the sizes in the configurations, which are padded as it suits the hardware. The draft model may
    know further tokens. Where one of the models came without a tokenizer, the sizes are all there is to compare.

    Raises:
        DraftModelError: the first id that means something else, and both sizes.
    """
    instead = "use a draft model of the same family, or draft through text: DraftOptions(model=..., text=True), --draft-text"
    if base_tokenizer is None or tokenizer is None:
        if base.vocab_size != draft.vocab_size:
            raise DraftModelError(
                f"{draft.name} has a vocabulary of {draft.vocab_size} and {base.name} one of {base.vocab_size}, and without both"
                " tokenizers there is no telling which ids mean the same; use a draft model with the same vocabulary"
            )
        return
    ours, theirs = _by_id(base_tokenizer), _by_id(tokenizer)
    sizes = f"{len(ours)} tokens of {base.name} against {len(theirs)} of {draft.name}"
    for token_id, token in sorted(ours.items()):
        if theirs.get(token_id) != token:
            other = f"is {theirs[token_id]!r}" if token_id in theirs else "does not exist"
            raise DraftModelError(
                f"the draft model has another tokenizer ({sizes}): id {token_id} is {token!r} to {base.name} and {other} to"
                f" {draft.name}. {instead[0].upper()}{instead[1:]}"
            )
    unknown = max(ours) + 1 - draft.vocab_size
    if unknown > 0:
        raise DraftModelError(
            f"{draft.name} has embeddings for {draft.vocab_size} ids, and {unknown} tokens of {base.name} lie beyond them"
            f" ({sizes}); {instead}"
        )


def _by_id(tokenizer: PreTrainedTokenizerBase) -> dict[int, str]:
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    return {token_id: token for token, token_id in vocabulary.items()}
