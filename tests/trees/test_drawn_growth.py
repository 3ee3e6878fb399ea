"""Trees of drawn candidates: their shapes by hand, and that drafting with them leaves the distribution as it is."""

import math
from collections.abc import Sequence

import torch

from headstart.acceptance.rejection import Rejection
from headstart.sampling.candidates import candidate_log_q, draw_candidates
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.drawn_growth import DrawnGrowth

V = 6


def growth(nodes: int, depth: int = 9, *, least: float = -math.inf, branches: int | None = None) -> DrawnGrowth:
    return DrawnGrowth([0], [(nodes, depth)], least=least, branches=branches, replacement=[False])


def grown(made: DrawnGrowth, sure: float, tokens: Sequence[int] = (1, 2, 3, 4, 5)) -> tuple[list[int], list[int]]:
    """Parents and sources of a tree whose every q has ``sure`` for the likeliest token and the rest spread over the others."""
    while made.has_open:
        count = len(made.open_paths())
        q_MV = torch.full((count, V), (1 - sure) / (V - 1))
        q_MV[:, 1] = sure
        made.extend(torch.tensor([tokens] * count), q_MV)
    tree = made.tree()
    assert tree.drawn is not None
    assert tree.drawn.q_BPV.sum(-1).allclose(torch.ones(()))
    return tree.parent_BN[0].tolist(), tree.drawn.source_BN[0].tolist()


class TestShape:
    def test_half_of_what_is_left_goes_to_each_level(self) -> None:
        """Seven nodes below the root: four, then two for the children, the likeliest first, then one."""
        # of a q with 0.9 the children count 0.9, 0.09, 0.009, ...: all two of the second level are the first child's
        parents, sources = grown(growth(8), 0.9)
        assert parents == [-1, 0, 0, 0, 0, 1, 1, 5]
        assert sources == [0, 1, -1, -1, -1, 2, -1, -1]

    def test_the_last_level_takes_all(self) -> None:
        parents, _ = grown(growth(6, depth=1), 0.5)
        assert parents == [-1, 0, 0, 0, 0, 0]

    def test_a_chain(self) -> None:
        assert grown(growth(4, branches=1), 0.5) == ([-1, 0, 1, 2], [0, 1, 2, -1])

    def test_it_ends_where_it_is_unsure(self) -> None:
        """Chances along a chain: 0.8, 0.64, 0.51. At 0.6 the second guess is drafted on, the third is not."""
        assert grown(growth(9, branches=1, least=math.log(0.6)), 0.8)[0] == [-1, 0, 1, 2]

    def test_what_was_drawn_does_not_change_the_shape(self) -> None:
        assert grown(growth(8), 0.6) == grown(growth(8), 0.6, tokens=(5, 3, 2, 1, 4))

    def test_a_place_that_could_not_be_filled(self) -> None:
        made = growth(8)
        made.extend(torch.tensor([[4, -1, -1, -1]]), torch.eye(V)[4:5])
        made.extend(torch.tensor([[2, -1]]), torch.eye(V)[2:3])
        tree = made.tree()
        assert tree.tokens_BN[0].tolist() == [0, 4, -1, -1, -1, 2, -1]
        assert tree.parent_BN[0].tolist() == [-1, 0, 0, 0, 0, 1, 0]

    def test_rows_have_their_own(self) -> None:
        made = DrawnGrowth([0, 7], [(3, 9), (1, 0)], least=-math.inf, branches=None, replacement=[False, True])
        made.extend(torch.tensor([[1, 2]]), torch.full((1, V), 1 / V))
        made.extend(torch.tensor([[1]]), torch.full((1, V), 1 / V))
        tree = made.tree()
        assert tree.tokens_BN.tolist() == [[0, 1, 1], [7, -1, -1]]
        assert tree.drawn is not None
        assert tree.drawn.replacement_B.tolist() == [False, True]
        assert tree.drawn.source_BN.tolist() == [[0, 1, -1], [-1, -1, -1]]


def drafted(q_VV: torch.Tensor, p_VV: torch.Tensor, seed: int, *, replacement: bool) -> tuple[int, ...]:
    """The first two tokens after the root 0, drafted from q in trees of six nodes and judged by p; row x is what follows x."""
    made = DrawnGrowth([0], [(6, 2)], least=math.log(0.2), branches=None, replacement=[replacement])
    state = RowSampling(
        params=SamplingParams(temperature=1.0),
        seed=seed,
        prompt_length=1,
        generated=[0],
        draft_temperature=1.0,
        draft_replacement=replacement,
    )
    while made.has_open:
        paths = [path for _, path in made.open_paths()]
        log_q_MV = candidate_log_q(torch.stack([q_VV[path[-1] if path else 0] for path in paths]).log(), [state] * len(paths))
        tokens_MC = draw_candidates(log_q_MV, [state] * len(paths), [2 + len(path) for path in paths], made.most)
        made.extend(tokens_MC, log_q_MV.exp())
    tree = made.tree()
    logits_1NV = p_VV[tree.tokens_BN.clamp(min=0)].log()
    (accepted,) = Rejection(replacement=replacement).accept(tree, logits_1NV, [state])
    assert accepted is not None
    said = accepted.tokens
    if len(said) < 2:  # the next step: its root is what was said
        state.generated.append(said[0])
        (further,) = Rejection().accept(type(tree).roots_only(torch.tensor([said[0]])), p_VV[said[0]].log()[None, None], [state])
        assert further is not None
        said = (*said, *further.tokens)
    return said[:2]


def test_the_distribution_is_the_base_models() -> None:
    """Chi-square over 16 pairs of tokens, 15 degrees of freedom: beyond 42.4 by chance once in 5,000 runs of each kind. (The
    seeds are fixed, so that it holds always or never.) Drafts are from a q that has little to do with p."""
    generator = torch.Generator().manual_seed(5)
    p_VV = torch.rand(4, 4, generator=generator).pow(2).add(0.1)
    q_VV = torch.rand(4, 4, generator=generator).pow(3).add(0.05)
    p_VV, q_VV = p_VV / p_VV.sum(-1, keepdim=True), q_VV / q_VV.sum(-1, keepdim=True)
    expected_VV = p_VV[0][:, None] * p_VV
    for replacement in (False, True):
        samples, seen_VV = 400, torch.zeros(4, 4)
        for seed in range(samples):
            first, second = drafted(q_VV, p_VV, seed, replacement=replacement)
            seen_VV[first, second] += 1
        chi_square = float(((seen_VV - samples * expected_VV) ** 2 / (samples * expected_VV)).sum())
        assert chi_square < 42.4
