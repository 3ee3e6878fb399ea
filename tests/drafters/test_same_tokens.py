"""Whether two models' ids mean the same."""

from dataclasses import replace

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models
from transformers import PreTrainedTokenizerFast

from headstart.drafters.same_tokens import check_same_tokens
from headstart.errors import DraftModelError
from tests.tiny_models import VOCAB, alphabet_model, native

BASE = replace(native(alphabet_model()).facts, name="base", vocab_size=4)
DRAFT = replace(BASE, name="small")


def tokenizer(*tokens: str) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=Backend(models.WordLevel({t: i for i, t in enumerate(tokens)}, tokens[0])))


def test_the_same_tokens_in_embeddings_of_different_size() -> None:
    check_same_tokens(BASE, tokenizer("a", "b", "c"), replace(DRAFT, vocab_size=3), tokenizer("a", "b", "c"))
    check_same_tokens(BASE, tokenizer("a", "b", "c"), replace(DRAFT, vocab_size=64), tokenizer("a", "b", "c", "d"))


def test_another_tokenizer_is_refused_with_sizes_and_the_first_difference() -> None:
    message = r"another tokenizer \(3 tokens of base against 4 of small\): id 1 is 'b' to base and is 'x' to small.*--draft-text"
    with pytest.raises(DraftModelError, match=message):
        check_same_tokens(BASE, tokenizer("a", "b", "c"), DRAFT, tokenizer("a", "x", "c", "d"))
    with pytest.raises(DraftModelError, match="id 2 is 'c' to base and does not exist to small"):
        check_same_tokens(BASE, tokenizer("a", "b", "c"), DRAFT, tokenizer("a", "b"))


def test_too_few_embeddings() -> None:
    with pytest.raises(DraftModelError, match="embeddings for 2 ids, and 1 tokens of base lie beyond them"):
        check_same_tokens(BASE, tokenizer("a", "b", "c"), replace(DRAFT, vocab_size=2), tokenizer("a", "b", "c"))


def test_without_tokenizers_the_sizes_have_to_do() -> None:
    check_same_tokens(BASE, None, DRAFT, tokenizer("a"))
    with pytest.raises(DraftModelError, match=f"small has a vocabulary of {VOCAB} and base one of 4"):
        check_same_tokens(BASE, tokenizer("a"), replace(DRAFT, vocab_size=VOCAB), None)
