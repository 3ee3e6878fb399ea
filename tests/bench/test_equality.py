"""Token for token."""

from headstart.bench.contestants import About
from headstart.bench.equality import Divergence, divergence, equality, same_in_batches
from headstart.bench.journal import Entry
from tests.bench.made_up import MEDUSA, PLAIN, THEIRS, run, wide


def test_where_texts_part() -> None:
    assert divergence([1, 2, 3], [1, 2, 3]) is None
    assert divergence([1, 2, 3], [1, 5, 3]) == Divergence([1], (2, 5))
    assert divergence([1, 2], [1, 2, 3]) == Divergence([1, 2], (None, 3))
    assert divergence([4], [5]) == Divergence([], (4, 5))


def entry(number: int, medusa: list[int], margins: list[float | None]) -> Entry:
    runs = {"plain": run([1, 2, 3], 1.0), "medusa": run(medusa, 1.0), "transformers": run([7, 8], 1.0)}
    return Entry(unit=f"t0 b1 {number}.0", prompts=[str(number)], runs=runs, margins={"medusa": margins, "transformers": [3.0]})


def test_counts_and_margins() -> None:
    entries = [entry(0, [1, 2, 3], []), entry(1, [1, 2, 4], [0.125]), entry(2, [1, 9], [2.5])]
    found = equality(entries, [MEDUSA, PLAIN, THEIRS], sampled=False)
    assert list(found) == ["medusa", "transformers"]  # plain decoding is what the others are compared with
    medusa = found["medusa"]
    assert (medusa["texts"], medusa["equal"], medusa["promised"]) == (3, 1, True)
    assert (medusa["largest_margin"], medusa["near_ties"]) == (2.5, 1)
    assert medusa["divergences"] == [
        {"question": "1", "unit": "t0 b1 1.0", "at": 2, "margin": 0.125},
        {"question": "2", "unit": "t0 b1 2.0", "at": 1, "margin": 2.5},
    ]
    assert (found["transformers"]["equal"], found["transformers"]["promised"]) == (0, False)


def test_drawn_texts_of_transformers_are_not_compared() -> None:
    assert list(equality([entry(0, [1, 2, 3], [])], [MEDUSA, PLAIN, THEIRS], sampled=True)) == ["medusa"]


def test_drawn_texts_of_rejection_are_not_compared() -> None:
    """It is exact in distribution alone; at temperature 0 it writes plain decoding's text."""
    rejection = About(name="medusa", ours=True, drafter="medusa", acceptance="rejection")
    assert list(equality([entry(0, [1, 2, 3], [])], [rejection, PLAIN], sampled=True)) == []
    assert equality([entry(0, [1, 2, 3], [])], [rejection, PLAIN], sampled=False)["medusa"]["promised"]


def test_alone_and_in_a_batch() -> None:
    alone = [entry(0, [1, 2, 3], []), Entry(unit="t0 b1 0.1", prompts=["0"], runs={"plain": run([9, 9], 1.0)})]
    together = Entry(unit="t0 b2 0.0", prompts=["0", "1"], runs={"plain": wide(run([1, 2, 3], 1.0), 2)})
    assert same_in_batches(alone, [together]) == {"texts": 1, "equal": 1}  # second turns and unknown questions are left out
    other = Entry(unit="t0 b2 0.0", prompts=["0", "1"], runs={"plain": wide(run([1, 2, 4], 1.0), 2)})
    assert same_in_batches(alone, [other]) == {"texts": 1, "equal": 0}
