"""Thousands of verified rows of the bundled model on real prompts, from 2 to 2,000 tokens of context: not one bit differs.

A round takes batches of 1 to 8 prompts of mixed lengths. Each prompt is decoded plainly, then prefilled in random chunks and
verified in random trees, alone and with its batch; 36 prompts, twice, 71 verified tokens and a prefill each make 5,184 rows.
"""

import random

import pytest

from headstart.models.bitwise_probe import fitting_span
from headstart.models.bitwise_proof import unequal_rows
from headstart.models.native import NativeModel
from headstart.models.source import find, load_pretrained
from headstart.text.tokenizer import Tokenizer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.bundled,
    pytest.mark.skipif(fitting_span() is None, reason="this processor's bfloat16 products do not keep their bits"),
]

TOKENS = 72
SHORTEST, LONGEST = 2, 2000


@pytest.fixture(scope="module")
def bundled() -> tuple[NativeModel, Tokenizer]:
    pretrained, tokenizer, _ = load_pretrained(find("bundled"), "bfloat16", "cpu")
    assert tokenizer is not None
    return NativeModel(pretrained, name="bundled", max_rows=8, cache_tokens=1 << 15, bitwise=True), Tokenizer(tokenizer)


@pytest.mark.parametrize("rows", range(1, 9))
def test_no_bit_differs(rows: int, bundled: tuple[NativeModel, Tokenizer], questions: list[str]) -> None:
    model, tokenizer = bundled
    draw = random.Random(rows)
    prompts = []
    for row in range(rows):
        # as many short contexts as long ones on a scale of ratios; the first and the last batch have the extremes
        length = round(SHORTEST * (LONGEST / SHORTEST) ** draw.random())
        length = {1: SHORTEST, 8: LONGEST}.get(rows, length) if row == 0 else length
        ids: list[int] = []
        while len(ids) < length:
            ids += tokenizer.chat_ids(draw.choice(questions))
        prompts.append(ids[:length])
    compared, unequal = unequal_rows(model, prompts, TOKENS, seed=rows, chunks=(1, 17, 64, 200, 300, 1024))
    assert (compared, unequal) == (2 * rows * TOKENS, 0)  # 72 logits a prompt: of its prefill, and of 71 verified tokens
