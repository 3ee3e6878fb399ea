"""Bits do not depend on the order in which rows come, go, and are worked on: any sequence of operations on the cache.

Each sequence is drawn by hypothesis and played on a tiny model; whenever logits of a true token come out they are compared with
those of plain decoding of its prompt alone.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headstart.models.bitwise_probe import fitting_span
from headstart.models.bitwise_proof import decoded_plainly, tree_around
from headstart.models.native import NativeModel
from headstart.trees.candidate import CandidateTree
from tests.tiny_models import VOCAB, build, native

pytestmark = pytest.mark.skipif(fitting_span() is None, reason="this processor's bfloat16 products do not keep their bits")

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "window": ("mistral", {"sliding_window": 300}),
    "short window and soft-caps": ("gemma2", {}),
    "norms of heads": ("qwen3", {}),
}
LENGTHS = (1, 6, 40, 247, 255, 300, 620)
TOKENS, ROWS = 12, 4
OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["admit", "prefill", "prefill", "verify", "verify", "release"]), st.integers(0, 1 << 16)),
    min_size=30,
    max_size=80,
)


@dataclass
class Row:
    number: int
    """Of the prompt."""
    done: int = 0
    """Tokens of the text that are committed."""


@cache
def model(case: str) -> NativeModel:
    family, changes = CASES[case]
    return native(build(family, dtype=torch.bfloat16, max_position_embeddings=1024, **changes), bitwise=True, cache_tokens=8192)


@cache
def prompts() -> list[list[int]]:
    draw = random.Random(9)
    return [[draw.randrange(VOCAB) for _ in range(length)] for length in LENGTHS]


@cache
def plain(case: str, number: int) -> tuple[list[int], list[torch.Tensor]]:
    return decoded_plainly(model(case), prompts()[number], TOKENS)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(operations=OPERATIONS)
def test_any_order_of_operations(case: str, operations: Sequence[tuple[str, int]]) -> None:
    for number in range(len(LENGTHS)):
        plain(case, number)
    base, rows = model(case), list[Row]()
    try:
        for name, seed in operations:
            draw = random.Random(seed)
            if name == "admit" and len(rows) < ROWS:
                number = draw.randrange(len(LENGTHS))
                base.cache.add_row(LENGTHS[number] + TOKENS)
                rows.append(Row(number))
            elif name == "prefill" and rows:
                prefill(case, draw.randrange(len(rows)), rows, draw)
            elif name == "verify":
                verify(case, rows, draw)
            elif name == "release" and len(rows) > 1:
                row = draw.randrange(len(rows))
                rows[row] = rows[base.cache.release_row(row)]
                rows.pop()
    finally:
        base.cache.clear()


@torch.inference_mode()
def prefill(case: str, row: int, rows: Sequence[Row], draw: random.Random) -> None:
    base, prompt = model(case), prompts()[rows[row].number]
    start = base.cache.lengths[row]
    chunk = prompt[start : start + draw.choice([3, 100, 700])]
    if chunk:
        hidden_BTD = base.prefill(torch.tensor([chunk]), row, [len(chunk)])
        if start + len(chunk) == len(prompt):
            assert torch.equal(base.lm_head(hidden_BTD[:, -1])[0], plain(case, rows[row].number)[1][0])


@torch.inference_mode()
def verify(case: str, rows: Sequence[Row], draw: random.Random) -> None:
    base, parts, paths = model(case), [], dict[int, list[int]]()
    for at, row in enumerate(rows):
        text = plain(case, row.number)[0]
        if base.cache.lengths[at] >= LENGTHS[row.number] and row.done < TOKENS - 1:
            shape, tokens, path = tree_around(text[row.done : TOKENS - 1][: draw.randint(1, 5)], VOCAB, draw)
            parts.append(([at], CandidateTree.of_shape(shape, torch.tensor([tokens]))))
            paths[at] = path
    if not parts:
        return
    logits_BNV = base.lm_head(base.verify(CandidateTree.assembled(len(rows), parts, torch.device("cpu"))))
    for at, path in paths.items():
        row = rows[at]
        kept = path[: draw.randint(1, len(path))]
        for node, expected_V in zip(path, plain(case, row.number)[1][row.done + 1 :]):
            assert torch.equal(logits_BNV[at, node], expected_V)
        base.cache.commit(at, kept)
        row.done += len(kept)
