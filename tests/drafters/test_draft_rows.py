"""The draft model's own rows: what is in its cache is what a fresh reading of the text would put there."""

import pytest
import torch

from headstart.drafters.draft_rows import DraftRows, Path
from headstart.models.protocol import BaseModel
from tests.tiny_models import CONTEXT, VOCAB, adapter, native, tiny

TEXTS = {7: [3, 4, 5, 6], 2: [10, 11], 9: [20, 21, 22]}


def made(model: BaseModel | None = None) -> DraftRows:
    rows = DraftRows(model or native(tiny("llama")))
    for row, ids in TEXTS.items():
        assert rows.start(row, ids)
    return rows


def state(ids: list[int]) -> torch.Tensor:
    """The hidden state at the end of a text, read at once."""
    model = native(tiny("llama"))
    model.cache.add_row(len(ids))
    return model.prefill(torch.tensor([ids]), 0, [len(ids)])[0, -1]


@pytest.mark.parametrize("implementation", [native, adapter])
def test_states_are_those_of_the_whole_text(implementation: type[BaseModel]) -> None:
    rows = made(implementation(tiny("llama")))  # type: ignore[call-arg]
    fed = rows.feed({9: [23], 7: [7, 8]})  # the row between them takes no part
    assert torch.allclose(fed, torch.stack([state([*TEXTS[9], 23]), state([*TEXTS[7], 7, 8])]))
    paths: dict[int, list[Path]] = {7: [(30,), (31,), (30, 32), (31, 32), (30, 32, 33)], 2: [(40,)]}
    visited = rows.visit(paths)
    for place, (row, before) in enumerate({7: [*TEXTS[7], 7, 8], 2: TEXTS[2]}.items()):
        for node, path in enumerate(paths[row]):
            assert torch.allclose(visited[place, node], state([*before, *path]))
    assert [rows.length(row) for row in TEXTS] == [6, 2, 4]  # guesses are no text


def test_accepted_guesses_become_text() -> None:
    rows = made()
    rows.visit({7: [(30,), (31,), (30, 32), (31, 32)], 2: [(40,)]})
    rows.keep(7, (31, 32, 33))  # the last one was never visited
    rows.keep(2, (41,))  # nor was this
    assert (rows.length(7), rows.length(2)) == (6, 2)
    fed = rows.feed({7: [33], 2: [41]})
    assert torch.allclose(fed, torch.stack([state([*TEXTS[7], 31, 32, 33]), state([*TEXTS[2], 41])]))
    rows.keep(7, (1, 2))  # nothing was visited since
    assert rows.length(7) == 7


def test_a_pass_costs_the_other_rows_their_guesses() -> None:
    rows = made()
    rows.visit({7: [(30,)], 2: [(40,)]})
    rows.visit({2: [(40,)]})
    rows.keep(7, (30,))
    assert rows.length(7) == len(TEXTS[7])
    assert torch.allclose(rows.feed({7: [30]}), state([*TEXTS[7], 30])[None])


def test_a_row_that_leaves_hands_its_place_to_the_last_one() -> None:
    rows = made()
    rows.visit({9: [(30,)], 7: [(31,)]})
    rows.stop(7)
    rows.stop(7)
    assert 7 not in rows
    rows.keep(9, (30,))  # its guess stayed behind when it moved
    assert (rows.length(9), rows.length(2)) == (3, 2)
    assert torch.allclose(rows.feed({9: [30]}), state([*TEXTS[9], 30])[None])
    assert rows.model.cache.lengths == [4, 2]


def test_long_texts_and_long_pieces() -> None:
    rows = DraftRows(native(tiny("llama")))
    text = [3 + i % 50 for i in range(100)]
    assert rows.start(0, text[:70])
    assert torch.allclose(rows.feed({0: text[70:]}), state(text)[None])  # 30 at once: more than the nodes of a tree
    rows.cut(0, 60)
    assert torch.allclose(rows.feed({0: text[60:]}), state(text)[None])


def test_refused() -> None:
    rows = DraftRows(native(tiny("llama"), max_rows=1))
    assert not rows.start(0, [3] * CONTEXT)
    assert not rows.start(0, [VOCAB])
    assert rows.start(0, [3])
    assert not rows.start(1, [3])
    assert 1 not in rows
