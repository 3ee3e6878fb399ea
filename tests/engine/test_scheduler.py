"""Admission to the cache and removal from it."""

import pytest
import torch

from headstart.engine.budget import FixedBudget
from headstart.engine.row import Row
from headstart.engine.scheduler import Scheduler
from headstart.errors import CapacityError
from headstart.models.slot_cache import LayerSpec, SlotCache
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling


def scheduler(max_rows: int = 3, max_tokens: int = 1000) -> tuple[Scheduler, SlotCache]:
    layer = LayerSpec(heads=1, key_size=1, value_size=1, dtype=torch.float32, device=torch.device("cpu"))
    cache = SlotCache([layer], max_rows=max_rows, max_tokens=max_tokens)
    return Scheduler(cache), cache


def row(number: int, prompt: int = 4, limit: int = 6, nodes: int = 2) -> Row:
    """It can take ``prompt + limit`` positions, and the tree comes on top."""
    request = Request(prompt_ids=[1] * prompt)
    sampling = RowSampling(params=SamplingParams(), seed=0, prompt_length=prompt)
    return Row(number=number, request=request, sampling=sampling, limit=limit, tree=FixedBudget(nodes))


def prefilled(*rows: Row) -> None:
    """Their prompts are in the cache and their first root is out."""
    for one in rows:
        one.prefilled = len(one.request.prompt_ids)
        one.sampling.generated.append(1)


def numbers(rows: object) -> list[int]:
    return [one.number for one in rows]  # type: ignore[attr-defined]


def filled(*rows: Row, max_rows: int = 3) -> tuple[Scheduler, SlotCache]:
    plan, cache = scheduler(max_rows)
    for one in rows:
        plan.add(one)
    plan.admit()
    return plan, cache


def test_admission_is_in_order_and_up_to_the_rows_there_are() -> None:
    plan, cache = filled(*(row(n) for n in range(5)))
    assert numbers(plan.rows) == [0, 1, 2]
    assert [one.slot_row for one in plan.rows] == [0, 1, 2]
    assert numbers(plan.waiting) == [3, 4]
    assert cache.rows == 3
    plan.admit()  # nothing has changed
    assert numbers(plan.rows) == [0, 1, 2]


def test_all_rows_together_must_fit_to_the_end_of_their_texts() -> None:
    """Slots are as many as the longest row needs: 10 + 2 for two small ones, 24 of 40; with a third of 18 + 2 it is 3 x 20."""
    plan, _ = scheduler(max_tokens=40)
    for one in (row(0), row(1), row(2, prompt=8, limit=10)):
        plan.add(one)
    plan.admit()
    assert numbers(plan.rows) == [0, 1]
    plan.remove(plan.rows[0])
    plan.admit()  # 2 x 20 are exactly 40
    assert numbers(plan.rows) == [1, 2]


def test_the_longest_text_and_the_largest_tree_may_be_of_two_rows() -> None:
    """10 positions and a tree of 20 beside 28 positions and a tree of 2: 2 x (28 + 20) = 96, not 2 x 30."""
    for max_tokens, admitted in ((95, [0]), (96, [0, 1])):
        plan, _ = scheduler(max_tokens=max_tokens)
        plan.add(row(0, nodes=20))
        plan.add(row(1, prompt=8, limit=20))
        plan.admit()
        assert numbers(plan.rows) == admitted


def test_nobody_overtakes() -> None:
    """The second has to wait for the first to leave; the third would fit beside it and waits all the same."""
    plan, _ = scheduler(max_tokens=40)
    for one in (row(0), row(1, limit=30), row(2)):
        plan.add(one)
    plan.admit()
    assert numbers(plan.rows) == [0]
    assert numbers(plan.waiting) == [1, 2]


def test_what_can_never_run_is_refused_at_once() -> None:
    plan, _ = scheduler(max_tokens=40)
    plan.add(row(0, prompt=8, limit=30))  # 38 + 2: just fits
    with pytest.raises(CapacityError, match=r"prompt of 9 tokens with up to 30 new ones and a tree of 2 nodes needs 41 .* is 40"):
        plan.add(row(1, prompt=9, limit=30))
    assert numbers(plan.waiting) == [0]


def test_the_last_row_takes_the_place_of_one_that_leaves() -> None:
    first, second, third = row(0), row(1), row(2)
    plan, cache = filled(first, second, third)
    cache.lengths[:] = [5, 6, 7]
    plan.remove(first)
    assert numbers(plan.rows) == [2, 1]
    assert (third.slot_row, second.slot_row, first.slot_row) == (0, 1, -1)
    assert cache.lengths == [7, 6]
    plan.remove(second)  # the last itself
    assert numbers(plan.rows) == [2]
    assert cache.lengths == [7]
    plan.remove(third)
    assert cache.rows == 0
    assert not plan.has_work


def test_a_waiting_row_leaves_without_a_trace() -> None:
    plan, cache = filled(*(row(n) for n in range(5)))
    plan.remove(plan.waiting[0])
    assert numbers(plan.waiting) == [4]
    assert numbers(plan.rows) == [0, 1, 2]
    assert cache.rows == 3


def test_equal_requests_are_told_apart() -> None:
    """Two rows that differ in nothing but their number: the second one leaves."""
    plan, _ = scheduler()
    first, second = row(0), row(1)
    plan.add(first)
    plan.add(second)
    plan.remove(second)
    assert list(plan.waiting) == [first]


def test_has_work_while_anything_runs_or_waits() -> None:
    plan, _ = scheduler()
    assert not plan.has_work
    plan.add(row(0))
    assert plan.has_work
    plan.admit()
    assert plan.has_work


class TestNextPrefill:
    def test_neighbours_share_a_pass(self) -> None:
        plan, _ = filled(row(0), row(1), row(2))
        assert numbers(plan.next_prefill(100)) == [0, 1, 2]

    def test_as_many_as_the_pass_takes(self) -> None:
        """The block is rows x the longest prompt: 2 x 40 are within 100, 3 x 40 are not."""
        plan, _ = filled(row(0, prompt=10), row(1, prompt=40), row(2, prompt=10))
        assert numbers(plan.next_prefill(100)) == [0, 1]
        assert numbers(plan.next_prefill(120)) == [0, 1, 2]

    def test_a_long_prompt_has_the_pass_to_itself(self) -> None:
        plan, _ = filled(row(0, prompt=200), row(1, prompt=10))
        assert numbers(plan.next_prefill(100)) == [0]

    def test_rows_that_run_are_left_out_and_part_the_others(self) -> None:
        first, second, third = row(0), row(1), row(2)
        plan, _ = filled(first, second, third)
        prefilled(second)
        assert numbers(plan.next_prefill(100)) == [0]
        prefilled(first)
        assert numbers(plan.next_prefill(100)) == [2]
        prefilled(third)
        assert numbers(plan.next_prefill(100)) == []

    def test_rows_at_different_places_of_their_prompts_do_not_share(self) -> None:
        """The one that is further on would push the other's chunk beyond the slots that were counted for it."""
        plan, _ = filled(row(0, prompt=50), row(1, prompt=50))
        plan.rows[0].prefilled = 30
        assert numbers(plan.next_prefill(100)) == [0]
