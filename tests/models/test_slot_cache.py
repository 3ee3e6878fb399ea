"""The slot cache. Every key holds a number that names its token, so that one can see where it went."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedModel

from headstart.errors import CapacityError
from headstart.models.compiled import CompiledModel
from headstart.models.protocol import BaseModel
from headstart.models.slot_cache import LayerSpec, SlotCache
from headstart.trees.candidate import CandidateTree
from tests.tiny_models import adapter, native, tiny

CPU = torch.device("cpu")
# two kinds of layers: other heads and sizes, and values of another size than keys
WIDE = LayerSpec(heads=2, key_size=3, value_size=5, dtype=torch.float32, device=CPU)
NARROW = LayerSpec(heads=1, key_size=2, value_size=2, dtype=torch.float64, device=CPU)
LAYERS = [WIDE, NARROW, WIDE]


def new(max_rows: int = 4, max_tokens: int = 4000) -> SlotCache:
    return SlotCache(LAYERS, max_rows=max_rows, max_tokens=max_tokens)


@torch.inference_mode()
def run_pass(cache: SlotCache, names_RN: list[list[int]]) -> None:
    """What a pass does: make room, then write each row's nodes behind its length, in every layer."""
    nodes = max(len(names) for names in names_RN)
    cache.reserve(cache.rows, max(cache.lengths) + nodes)
    for index in range(len(LAYERS)):
        keys, values = cache.layer(index)
        for row, names in enumerate(names_RN):
            for node, name in enumerate(names):
                keys[row, :, cache.lengths[row] + node] = name + index / 10
                values[row, :, cache.lengths[row] + node] = -name - index / 10


def content(cache: SlotCache, row: int) -> list[int]:
    """The names in a row's committed slots; all layers, heads and sizes have to agree on them."""
    length = cache.lengths[row]
    names = [round(float(cache.layer(0)[0][row, 0, slot, 0])) for slot in range(length)]
    for index in range(len(LAYERS)):
        keys, values = cache.layer(index)
        for slot, name in enumerate(names):
            assert torch.allclose(keys[row, :, slot], torch.tensor(name + index / 10, dtype=keys.dtype))
            assert torch.allclose(values[row, :, slot], torch.tensor(-name - index / 10, dtype=values.dtype))
    return names


def filled(*texts: list[int], max_rows: int = 4, max_tokens: int = 4000) -> SlotCache:
    """A cache with one row a text."""
    cache = new(max_rows, max_tokens)
    for text in texts:
        cache.add_row(len(text))
    run_pass(cache, list(texts))
    for row, text in enumerate(texts):
        cache.commit(row, range(len(text)))
    return cache


def test_commit_gathers_the_path() -> None:
    """Seven nodes behind a context of two; nodes 0, 1 and 4 were accepted: 4 moves next to 1."""
    cache = filled([1, 2])
    run_pass(cache, [[10, 11, 12, 13, 14, 15, 16]])
    cache.commit(0, [0, 1, 4])
    assert content(cache, 0) == [1, 2, 10, 11, 14]


@pytest.mark.parametrize(
    ("path", "kept"),
    [([0], [10]), ([0, 1, 2], [10, 11, 12]), ([0, 2], [10, 12]), ([0, 3, 5], [10, 13, 15]), ([0, 1, 5], [10, 11, 15])],
)
def test_commit_of_any_path(path: list[int], kept: list[int]) -> None:
    cache = filled([1, 2, 3])
    run_pass(cache, [[10, 11, 12, 13, 14, 15]])
    cache.commit(0, path)
    assert content(cache, 0) == [1, 2, 3, *kept]


def test_rows_commit_by_themselves() -> None:
    """Different lengths and paths in one pass; the last row commits nothing and the next pass overwrites its nodes."""
    cache = filled([1], [2, 3, 4], [5, 6])
    run_pass(cache, [[10, 11, 12], [20, 21, 22], [30, 31, 32]])
    cache.commit(1, [0, 2])
    cache.commit(0, [0, 1])
    assert [content(cache, row) for row in range(3)] == [[1, 10, 11], [2, 3, 4, 20, 22], [5, 6]]
    run_pass(cache, [[13], [23], [33]])
    for row in range(3):
        cache.commit(row, [0])
    assert [content(cache, row) for row in range(3)] == [[1, 10, 11, 13], [2, 3, 4, 20, 22, 23], [5, 6, 33]]


def test_released_rows_are_taken_by_the_last() -> None:
    cache = filled([1], [2, 2, 2], [3, 3])
    assert cache.release_row(0) == 2  # the last row, now in place 0
    assert cache.lengths == [2, 3]
    assert content(cache, 0) == [3, 3]
    assert content(cache, 1) == [2, 2, 2]
    assert cache.release_row(1) == 1  # it was the last itself
    assert content(cache, 0) == [3, 3]
    assert cache.release_row(0) == 0
    assert cache.rows == 0


def test_a_reused_row_starts_empty() -> None:
    """What the former owner left, rejected nodes included, is behind the length and overwritten."""
    cache = filled([1], [2, 2, 2])
    run_pass(cache, [[10, 11], [20, 21]])
    cache.release_row(1)
    row = cache.add_row(2)
    assert (row, cache.lengths) == (1, [1, 0])
    run_pass(cache, [[12], [30, 31]])
    cache.commit(1, [0, 1])
    assert content(cache, 1) == [30, 31]
    assert content(cache, 0) == [1]


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_row_that_is_gone_leaves_zeros(gone: int) -> None:
    """Also behind the row that moves into its place, and of guesses that were rejected: what overflowed there must not be read."""
    cache = filled([1, 1, 1, 1], [2, 2, 2], [3])
    run_pass(cache, [[10] * 6, [20] * 6, [30] * 6])
    lengths = [cache.lengths[row] for row in range(3)]
    cache.release_row(gone)
    kept = [lengths[2] if row == gone else lengths[row] for row in range(2)]
    assert cache.lengths == kept
    for index in range(len(LAYERS)):
        for stored in cache.layer(index):
            assert not stored[2:].any()
            if gone < 2:
                assert not stored[gone, :, kept[gone] :].any()
    cache.clear()
    assert not any(stored.any() for index in range(len(LAYERS)) for stored in cache.layer(index))


@pytest.mark.parametrize("kind", ["native", "adapter", "compiled"])
@pytest.mark.parametrize("gone", [0, 1])
@torch.inference_mode()
def test_what_overflowed_in_one_row_spoils_no_other(kind: str, gone: int) -> None:
    """A shorter row is summed over slots behind its end, masked; a NaN there would be a NaN in its sum."""
    model: BaseModel = {"native": native, "adapter": adapter, "compiled": uncompiled}[kind](tiny("llama"))
    prompts_BT = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12], [9, 4, -1, -1, -1, -1, -1, -1]])
    fresh = two_prompts(model, prompts_BT)
    model.cache.clear()
    two_prompts(model, prompts_BT.flip(0) if gone else prompts_BT)
    for layer in range(2):
        for stored in model.cache.layer(layer):
            stored[gone, :, : model.cache.lengths[gone]] = float("nan")
    model.cache.release_row(gone)
    model.cache.clear()
    assert torch.equal(two_prompts(model, prompts_BT), fresh)


def two_prompts(model: BaseModel, prompts_BT: torch.Tensor) -> torch.Tensor:
    """Hidden states of one step after a long prompt and a short one."""
    for row, count in enumerate((prompts_BT >= 0).sum(1).tolist()):
        model.cache.add_row(20)
        model.prefill(prompts_BT[row : row + 1, :count], row, [count])
    return model.verify(CandidateTree.roots_only(torch.tensor([7, 8])))


def uncompiled(model: PreTrainedModel) -> CompiledModel:
    return CompiledModel(native(model), max_rows=2, cache_tokens=1000, backend=None)


def test_growth_keeps_what_is_committed() -> None:
    """From 64 slots (the first growth) beyond 128: two copies of everything, row by row."""
    cache = filled([1, 2], [3])
    for step in range(70):
        run_pass(cache, [[100 + 2 * step, 101 + 2 * step], [300 + step]])
        cache.commit(0, [0, 1])
        cache.commit(1, [0])
    assert content(cache, 0) == [1, 2, *range(100, 240)]
    assert content(cache, 1) == [3, *range(300, 370)]
    cache.add_row(1)
    assert content(cache, 0) == [1, 2, *range(100, 240)]


def test_room_doubles_so_that_a_long_text_is_copied_a_few_times() -> None:
    """1,000 single steps: allocations at 64, 128, 256, 512 and 1024 slots and no more."""
    cache = new()
    cache.add_row(1)
    sizes = []
    for slots in range(1, 1001):
        cache.reserve(1, slots)
        sizes.append(cache.layer(0)[0].shape[2])
    assert sorted(set(sizes)) == [64, 128, 256, 512, 1024]


def test_room_grows_to_the_limit_at_once_where_doubling_is_too_much() -> None:
    """1,000 slots for one row: after 512 comes 1,000, not 513, 514 and so on with a copy each."""
    cache = new(max_tokens=1000)
    cache.add_row(1)
    sizes = {cache.layer(0)[0].shape[2] for slots in range(1, 1001) if cache.reserve(1, slots) is None}
    assert sorted(sizes) == [64, 128, 256, 512, 1000]


def test_fresh_room_is_zero() -> None:
    """A masked slot is multiplied by a zero weight; a stray NaN would survive that."""
    cache = filled([1])
    cache.reserve(3, 500)
    keys, values = cache.layer(1)
    assert not keys[0, :, 1:].any()
    assert not values[1:].any()


@pytest.mark.parametrize(("rows", "slots"), [(5, 1), (1, 4001), (4, 1001)])
def test_beyond_the_limits(rows: int, slots: int) -> None:
    cache = new()
    assert not cache.fits(rows, slots)
    with pytest.raises(CapacityError, match=rf"{rows} rows of {slots} positions .* max_rows=4 and cache_tokens=4000"):
        cache.reserve(rows, slots)


def test_the_limits_themselves_are_inside() -> None:
    cache = new()
    cache.reserve(4, 1000)
    assert cache.layer(0)[0].shape[:3] == (4, 2, 1000)
    cache = new(max_tokens=50)  # less than the first growth would like
    cache.reserve(1, 50)
    assert cache.layer(0)[0].shape[2] == 50


def test_rows_count_with_the_longest_of_them() -> None:
    """A row of 60 stands; a second one asks for 10 slots, but slots are the same for all: 2 x 60 are beyond 100."""
    cache = filled(list(range(60)), max_tokens=100)
    with pytest.raises(CapacityError, match="2 rows of 60 positions"):
        cache.add_row(10)
    assert cache.rows == 1
    assert content(cache, 0) == list(range(60))


def test_more_rows_may_take_the_slots_of_longer_ones() -> None:
    """One row had 90 of 100 slots to itself; two rows of 50 fit, and what row 0 holds stays."""
    cache = filled([1, 2, 3], max_tokens=100)
    cache.reserve(1, 90)
    cache.add_row(50)
    assert cache.layer(0)[0].shape[:3] == (2, 2, 50)
    assert content(cache, 0) == [1, 2, 3]


def test_commit_after_a_smaller_reserve() -> None:
    """A request for less room than there is changes nothing: the nodes of the pass are still where they were."""
    cache = filled([1, 2], [3])
    run_pass(cache, [[10, 11, 12], [20, 21, 22]])
    before = cache.layer(0)[0].data_ptr()
    cache.reserve(1, 1)
    cache.reserve(2, 4)
    assert cache.layer(0)[0].data_ptr() == before
    cache.commit(0, [0, 2])
    cache.commit(1, [0, 1, 2])
    assert content(cache, 0) == [1, 2, 10, 12]
    assert content(cache, 1) == [3, 20, 21, 22]


def test_clear_forgets_the_rows_and_keeps_the_room() -> None:
    cache = filled([1, 2], [3])
    room = cache.nbytes
    cache.clear()
    assert (cache.rows, cache.nbytes) == (0, room)
    assert cache.add_row(1) == 0
    assert cache.lengths == [0]


def test_nbytes_counts_keys_and_values_of_all_layers() -> None:
    """Per slot: two layers of 2 heads x (3 + 5) floats of 4 bytes, one of 1 head x (2 + 2) of 8 bytes: 160 bytes."""
    cache = new()
    assert cache.nbytes == 0
    cache.reserve(2, 64)
    assert cache.nbytes == 2 * 64 * 160


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_sequence_of_steps_equals_a_list_of_lists(data: st.DataObject) -> None:
    """Rows come, grow along random paths and go; a plain list of lists tells what each has to hold."""
    cache = new(max_rows=3, max_tokens=300)
    texts: list[list[int]] = []
    name = 1
    for _ in range(data.draw(st.integers(1, 12))):
        action = data.draw(st.sampled_from(["add", "step", "step", "release"]))
        if action == "add" and len(texts) < 3:
            assert cache.add_row(data.draw(st.integers(0, 20))) == len(texts)
            texts.append([])
        elif action == "release" and texts:
            row = data.draw(st.integers(0, len(texts) - 1))
            assert cache.release_row(row) == len(texts) - 1
            texts[row] = texts[-1]
            texts.pop()
        elif texts:
            nodes = data.draw(st.integers(1, 5))
            run_pass(cache, [list(range(name + row * nodes, name + (row + 1) * nodes)) for row in range(len(texts))])
            for row, text in enumerate(texts):
                path = [0, *sorted(data.draw(st.sets(st.sampled_from(range(1, nodes)))))] if nodes > 1 else [0]
                cache.commit(row, path)
                text += [name + row * nodes + node for node in path]
            name += len(texts) * nodes
        assert [content(cache, row) for row in range(cache.rows)] == texts
