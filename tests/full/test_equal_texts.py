"""The bundled model in bfloat16 writes the same 128 tokens after every prompt, with and without its heads.

Plainly in batches of 16; with heads in the opposite order and at most 7 rows at once, so that prompts wait, are admitted next to
others and share their passes with other rows than before. Each batch is a test of its own: a run that was broken off goes on with
``pytest --lf`` or ``-k``.
"""

from functools import lru_cache

import pytest

import headstart
from headstart.llm import LLM
from headstart.models.bitwise_probe import fitting_span

pytestmark = [
    pytest.mark.slow,
    pytest.mark.bundled,
    pytest.mark.skipif(fitting_span() is None, reason="this processor's bfloat16 products do not keep their bits"),
]

BATCH, BATCHES, NEW = 16, 30, 128


@lru_cache(maxsize=1)
def llm() -> LLM:
    return headstart.load("bundled", dtype="bfloat16", device="cpu")


@pytest.mark.parametrize("batch", range(BATCHES))
def test_texts_are_equal(batch: int, questions: list[str]) -> None:
    asked = questions[batch * BATCH : (batch + 1) * BATCH]
    if not asked:
        pytest.skip(f"the file has {len(questions)} prompts")
    tokenizer = llm().tokenizer
    assert tokenizer is not None
    prompts = [tokenizer.chat_ids(question)[:1500] for question in asked]
    plain = llm().generate(prompts, drafter="none", max_new_tokens=NEW)
    guessed = llm().generate(prompts[::-1], drafter="medusa", max_new_tokens=NEW, max_rows=7)[::-1]
    unequal = [asked[i] for i in range(len(asked)) if plain[i].token_ids != guessed[i].token_ids]
    assert unequal == []
    steps = sum(out.stats.steps for out in guessed)
    assert steps < sum(out.stats.steps for out in plain)  # guesses were made and kept
