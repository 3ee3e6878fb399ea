"""The n-gram drafter: which guesses it makes, and how it learns what they are worth."""

from collections.abc import Sequence

import pytest
import torch

from headstart.drafters.ngram import DEEPEST, NgramDrafter, NgramText
from headstart.errors import InvalidParameterError
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import PAD

NOTHING = torch.empty(0, 1)
WHOLE = Budget(nodes=99, depth=99)


def row(prompt: Sequence[int], generated: Sequence[int], temperature: float = 0.0) -> RowSampling:
    return RowSampling(params=SamplingParams(temperature=temperature), seed=3, prompt_length=len(prompt), generated=list(generated))


def text(prompt: Sequence[int], generated: Sequence[int] = ()) -> NgramText:
    made = NgramText(prompt, shortest=1, longest=5)
    made.catch_up(generated)
    return made


def started(*prompts: Sequence[int], **options: float) -> NgramDrafter:
    drafter = NgramDrafter(**options)  # type: ignore[arg-type]
    for number, prompt in enumerate(prompts):
        drafter.start(number, prompt, NOTHING)
    return drafter


def test_it_copies_what_followed() -> None:
    prompt = [1, 2, 3, 4, 5, 6, 7]
    drafter = started(prompt)
    tree = drafter.propose([0], [row(prompt, [2])], [Budget(nodes=5, depth=4)])
    assert tree.tokens_BN.tolist() == [[2, 3, 4, 5, 6]]
    assert tree.depth_BN.tolist() == [[0, 1, 2, 3, 4]]
    assert drafter.facts.hidden == "none"


def test_several_matches_are_branches_the_longer_match_first() -> None:
    """After "8 1" came 2, after "9 1" came 3, later; the text ends with "8 1"."""
    prompt = [8, 1, 2, 9, 1, 3, 7, 8]
    tree = started(prompt).propose([0], [row(prompt, [1])], [Budget(nodes=9, depth=1)])
    assert tree.tokens_BN.tolist() == [[1, 2, 3]]
    # without "8" before it, what came later comes first
    prompt = [8, 1, 2, 9, 1, 3, 7, 6]
    tree = started(prompt).propose([0], [row(prompt, [1])], [Budget(nodes=9, depth=1)])
    assert tree.tokens_BN.tolist() == [[1, 3, 2]]


def test_what_came_often_beats_what_came_last() -> None:
    """After 1: 5 twice, then 6. With weights that fade to 0.7 an occurrence, 5 has 0.7 + 0.49 and 6 has 1."""
    prompt = [1, 5, 1, 5, 1, 6, 0]
    assert [token for token, _ in text(prompt, [1]).after(())] == [5, 6]


def test_nothing_matches() -> None:
    prompt = [1, 2, 3]
    tree = started(prompt).propose([0], [row(prompt, [9])], [WHOLE])
    assert tree.tokens_BN.tolist() == [[9]]  # the root alone: a step of plain decoding


def test_it_proposes_the_same_at_any_temperature() -> None:
    prompt = [1, 2, 3, 1, 4, 1]
    cold, hot = (
        started(prompt).propose([0], [row(prompt, [2, 3, 1], temperature)], [WHOLE]).tokens_BN.tolist()
        for temperature in (0.0, 1.5)
    )
    assert cold == hot
    assert len(cold[0]) > 2


def test_the_answer_is_searched_as_well() -> None:
    tree = started([1]).propose([0], [row([1], [5, 6, 7, 5])], [Budget(nodes=3, depth=2)])
    assert tree.tokens_BN.tolist() == [[5, 6, 7]]


def test_each_row_gets_what_its_budget_allows() -> None:
    prompt = list(range(10, 30))
    drafter = started(prompt, prompt, prompt, [1])
    budgets = [Budget(4, 9), Budget(9, 1), Budget(9, 0), WHOLE]
    tree = drafter.propose([0, 1, 2, 3], [row(prompt, [12])] * 3 + [row([1], [2])], budgets)
    assert tree.tokens_BN.tolist() == [[12, 13, 14, 15], [12, 13, PAD, PAD], [12, PAD, PAD, PAD], [2, PAD, PAD, PAD]]


def test_chances_stay_below_one_together() -> None:
    guesses = text([1, 2, 1, 3, 1, 2, 4, 1, 5, 2, 3], [1, 2]).after(())
    assert sum(chance for _, chance in guesses) < 1.0
    assert [chance for _, chance in guesses] == sorted((chance for _, chance in guesses), reverse=True)
    assert len({token for token, _ in guesses}) == len(guesses)


def test_trust_is_learned_from_the_answer() -> None:
    prompt = [1, 2, 3, 4, 5, 6, 7, 8]
    before = text(prompt).trust(5, True)
    copying, straying = text(prompt, prompt), text(prompt, [1, 3, 5, 7, 2, 4])
    # before each of the copy's last three ids stood a run of five that had come before: (4 * 0.75 + 3) / (4 + 3)
    assert (before, copying.trust(5, True)) == pytest.approx((0.75, 6 / 7))
    # the first id stood behind nothing that had come before, the other five each behind one id, which led astray
    assert straying.trust(1, True) == pytest.approx(4 * 0.3 / (4 + 5))


def test_a_copy_gets_deeper_trees_the_longer_it_goes_on() -> None:
    prompt = list(range(100, 200))
    depths = []
    for copied in (1, 5, 40):
        drafter = started(prompt)
        tree = drafter.propose([0], [row(prompt, prompt[:copied])], [WHOLE])
        depths.append(int(tree.depth_BN.max()))
    assert depths == sorted(depths)
    assert depths[0] < depths[2] == DEEPEST


def test_rows_learn_each_for_itself() -> None:
    """A neighbour whose text repeats nothing does not change a row's tree."""
    prompt, other = [1, 2, 3, 4, 5, 1, 2], [9, 8, 9, 7, 9, 6, 9, 5, 9]
    alone = started(prompt).propose([0], [row(prompt, [3])], [WHOLE])
    drafter = started(prompt, other)
    for generated in ([9], [9, 4], [9, 4, 9, 3]):
        both = drafter.propose([0, 1], [row(prompt, [3]), row(other, generated)], [WHOLE, WHOLE])
    mine = [token for token in both.tokens_BN[0].tolist() if token != PAD]
    assert mine == alone.tokens_BN[0].tolist()


def test_stop_forgets() -> None:
    drafter = started([1, 2], [3, 4])
    drafter.stop(0)
    drafter.stop(0)
    assert list(drafter._texts) == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shortest": 0}, "n-grams of 0 to 5 ids; expected lengths from 1"),
        ({"shortest": 4, "longest": 3}, "n-grams of 4 to 3 ids"),
        ({"least_worth": 1.5}, "least_worth is 1.5; expected a chance, 0 to 1"),
    ],
)
def test_mistakes(options: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        NgramDrafter(**options)  # type: ignore[arg-type]
