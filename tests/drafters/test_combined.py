"""Two drafters in one tree: whose guesses get the nodes."""

from collections.abc import Sequence

import pytest
import torch

from headstart.drafters.arrangement import GrownTree
from headstart.drafters.combined import CombinedDrafter, Joined
from headstart.drafters.gain import Gain
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads_source import HeadsOfRow, HeadsSource
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.ngram import NgramDrafter
from headstart.drafters.protocol import DrafterFacts
from headstart.errors import InvalidParameterError
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.best_first import Guess
from headstart.trees.budget import Budget
from headstart.trees.candidate import PAD
from tests.tiny_models import VOCAB, native, noise_heads, tiny

NO_STATE = torch.zeros(1, 1)


class Fixed:
    """Says the same after each path of a length, and counts what it is told."""

    def __init__(self, *by_depth: Sequence[Guess], name: str = "fixed", hidden: str = "none") -> None:
        self.facts = DrafterFacts(name=name, depth=len(by_depth), hidden=hidden)  # type: ignore[arg-type]
        self._by_depth = by_depth
        self.calls: list[str] = []

    def after(self, path: tuple[int, ...]) -> Sequence[Guess]:
        return self._by_depth[len(path)] if len(path) < len(self._by_depth) else ()

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        self.calls.append(f"start {row}")

    def continuations(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> Sequence["Fixed"]:
        return [self] * len(rows)

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        self.calls.append(f"commit {row}")

    def stop(self, row: int) -> None:
        self.calls.append(f"stop {row}")


def row(generated: Sequence[int], temperature: float = 0.0) -> RowSampling:
    return RowSampling(params=SamplingParams(temperature=temperature), seed=3, prompt_length=2, generated=list(generated))


def tree_of(drafter: CombinedDrafter, nodes: int, depth: int = 9) -> tuple[list[int], list[int]]:
    tree = drafter.propose([0], [row([0])], [Budget(nodes, depth)])
    return tree.tokens_BN[0].tolist(), tree.parent_BN[0].tolist()


def test_nodes_go_to_the_likeliest_guess_whoever_made_it() -> None:
    """Worths at depth 1: 1 0.6, 5 0.5, 2 0.2; at depth 2 below 1: 3 0.48, 6 0.06; below 5: 3 0.4."""
    drafter = CombinedDrafter([Fixed([(1, 0.6), (2, 0.2)], [(3, 0.8)]), Fixed([(5, 0.5)], [(6, 0.1)])])
    assert tree_of(drafter, 6) == ([0, 1, 5, 3, 3, 2], [-1, 0, 0, 1, 2, 0])
    assert tree_of(drafter, 3) == ([0, 1, 5], [-1, 0, 0])
    assert tree_of(drafter, 9, depth=1) == ([0, 1, 5, 2], [-1, 0, 0, 0])


def test_what_both_guess_is_one_node_with_the_larger_chance() -> None:
    joined = Joined([Fixed([(1, 0.3), (2, 0.25)]), Fixed([(2, 0.5), (1, 0.1), (7, 0.05)])])
    assert joined.after(()) == [(2, 0.5), (1, 0.3), (7, 0.05)]
    drafter = CombinedDrafter([Fixed([(1, 0.3), (2, 0.2)]), Fixed([(2, 0.5), (1, 0.1)])])
    assert tree_of(drafter, 9) == ([0, 2, 1], [-1, 0, 0])


def test_the_deeper_drafter_goes_on_alone() -> None:
    drafter = CombinedDrafter([Fixed([(1, 0.5)]), Fixed([(2, 0.4)], [(3, 0.9)], [(4, 0.9)])])
    assert drafter.facts.depth == 3
    assert tree_of(drafter, 6) == ([0, 1, 3, 4, 2, 3], [-1, 0, 1, 2, 0, 4])


def test_all_sources_hear_of_everything() -> None:
    sources = [Fixed([(1, 0.5)]), Fixed([(2, 0.5)])]
    drafter = CombinedDrafter(sources)
    drafter.start(4, [1, 2], NO_STATE)
    drafter.commit(4, [1, 5], NO_STATE)
    drafter.stop(4)
    assert [source.calls for source in sources] == [["start 4", "commit 4", "stop 4"]] * 2


def test_mistakes() -> None:
    with pytest.raises(InvalidParameterError, match="1 drafters to combine; expected at least two"):
        CombinedDrafter([Fixed([(1, 0.5)])])
    with pytest.raises(InvalidParameterError, match=r"\['greedy'\] want all hidden states of the prompt"):
        CombinedDrafter([Fixed([(1, 0.5)]), Fixed([(2, 0.5)], name="greedy", hidden="all")])


class TestHeadsSource:
    def drafters(self) -> tuple[CombinedDrafter, MedusaDrafter]:
        """Heads and n-grams, and the same heads alone."""
        model = native(tiny("llama"))
        guesses = HeadGuesses(noise_heads(model), model)
        alone = MedusaDrafter(guesses, GrownTree(3, VOCAB))
        return CombinedDrafter((NgramDrafter(), HeadsSource(guesses, None))), alone

    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_heads_alone_grow_the_trees_of_medusa(self, temperature: float) -> None:
        """Nothing in the texts comes twice or is guessed, so there are no n-grams; the rows differ in what they may carry."""
        drafter, alone = self.drafters()
        hidden_B1D = torch.randn(3, 1, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
        for each in (drafter, alone):
            for number, hidden_1D in enumerate(hidden_B1D):
                each.start(number, [1], hidden_1D)
        asked = ([0, 1, 2], [row([7], temperature)] * 3, [Budget(8, 7), Budget(3, 2), Budget(9, 0)])
        with torch.inference_mode():  # as in the engine
            joined, medusa = drafter.propose(*asked), alone.propose(*asked)
        width = joined.nodes
        assert torch.equal(joined.tokens_BN, medusa.tokens_BN[:, :width])
        assert torch.equal(joined.parent_BN, medusa.parent_BN[:, :width])
        assert bool((medusa.tokens_BN[:, width:] == PAD).all())

    def test_repetitions_come_on_top(self) -> None:
        drafter, _ = self.drafters()
        drafter.start(0, [40, 50, 51, 52, 53, 54, 40, 50, 51], torch.zeros(1, 32, dtype=torch.float64))
        tree = drafter.propose([0], [row([52])], [Budget(6, 5)])
        assert 53 in tree.tokens_BN[0].tolist()
        assert 54 in tree.tokens_BN[0].tolist()

    def test_the_gain_follows_the_text(self) -> None:
        """Belief 8 of 8. A first guess of chance 0.5 that is right adds 1 to 0.5; one that is wrong adds 0, and ends the lesson."""
        heads = HeadsOfRow(torch.zeros(1), guesses_K=[[(1, 0.5), (2, 0.1)], [(3, 0.25)]])
        heads.learn([1, 4, 5])
        assert heads.gain.value == pytest.approx(9.0 / 8.75)
        heads.learn([2, 3])
        assert heads.gain.value == pytest.approx(9.0 / 9.25)
        assert [token for token, _ in heads.after(())] == [1, 2]
        assert [chance for _, chance in heads.after(())] == pytest.approx([0.5 * 9 / 9.25, 0.1 * 9 / 9.25])
        assert heads.after((1, 3)) == []

    def test_a_chance_stays_below_one(self) -> None:
        heads = HeadsOfRow(torch.zeros(1), Gain(right=16.0), guesses_K=[[(1, 0.9)]])
        assert heads.after(()) == [(1, 0.999)]
