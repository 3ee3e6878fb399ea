"""``rejection`` has the base model's distribution, whatever candidates were drawn from.

The model and the drafter are tables: what comes next depends on the last token alone. Counts are compared with the true
probabilities by chi-square. A right rule fails one such test with probability 1e-6 for a fresh set of seeds (all of them together
with less than 1e-4), and never for these fixed ones.
"""

from collections import Counter

import pytest
import torch
from scipy.stats import chisquare

from headstart.acceptance import rejection
from headstart.acceptance.rejection import Rejection, try_children
from headstart.acceptance.rules import rule_of
from headstart.acceptance.walk import walk
from headstart.errors import InvalidParameterError
from headstart.sampling.candidates import candidate_log_q, draw_candidates
from headstart.sampling.noise import Purpose, stream
from headstart.sampling.params import SamplingParams
from headstart.sampling.processors import LogitBias
from headstart.sampling.row import RowSampling
from headstart.trees.candidate import PAD, CandidateTree
from headstart.trees.drawn import Drawn
from headstart.trees.shape import TreeShape

VOCAB, RARE = 5, 1e-6
_random = torch.Generator().manual_seed(3)
BASE_VV = torch.randn(VOCAB, VOCAB, generator=_random)
"""Logits of the next token, by the last one."""
DRAFT_VV = torch.randn(VOCAB, VOCAB, generator=_random) * 1.5
SHAPES = {"chain": TreeShape.chain(2), "tree": TreeShape.full([3, 2])}


def drawn_tree(shape: TreeShape, rows: list[RowSampling], draft_VV: torch.Tensor = DRAFT_VV) -> CandidateTree:
    """Every node's children drawn from the draft table's row of its own token."""
    tokens_BN = torch.full((len(rows), len(shape)), PAD)
    tokens_BN[:, 0] = torch.tensor([row.generated[-1] for row in rows])
    q_BPV = torch.zeros(len(rows), len(shape), len(draft_VV))
    source_N = [-1] * len(shape)
    for node in range(len(shape)):
        children = [child for child, parent in enumerate(shape.parent_N) if parent == node]
        if children:
            log_q_BV = candidate_log_q(draft_VV[tokens_BN[:, node]], rows)
            positions = [row.prompt_length + len(row.generated) + shape.depth_N[node] for row in rows]
            tokens_BN[:, children] = draw_candidates(log_q_BV, rows, positions, len(children))
            q_BPV[:, node], source_N[node] = log_q_BV.exp(), node
    drawn = Drawn(q_BPV, torch.tensor(source_N).expand(len(rows), -1), torch.tensor([row.draft_replacement for row in rows]))
    tree = CandidateTree.of_shape(shape, tokens_BN)
    return CandidateTree(tree.tokens_BN, tree.parent_BN, tree.depth_BN, tree.ancestors_BNN, drawn)


def row(seed: int, *, replacement: bool = False, params: SamplingParams | None = None) -> RowSampling:
    params = params or SamplingParams(temperature=1.0)
    return RowSampling(
        params=params, seed=seed, prompt_length=3, generated=[0], draft_temperature=1.0, draft_replacement=replacement
    )


def texts(
    shape: TreeShape,
    rows: list[RowSampling],
    length: int = 3,
    base_VV: torch.Tensor = BASE_VV,
    draft_VV: torch.Tensor = DRAFT_VV,
) -> list[tuple[int, ...]]:
    """The ``length`` tokens after token 0, in as many steps as it takes."""
    while short := [row for row in rows if len(row.generated) <= length]:
        tree = drawn_tree(shape, short, draft_VV)
        for state, accepted in zip(short, Rejection().accept(tree, base_VV[tree.tokens_BN], short), strict=True):
            assert accepted is not None
            state.generated += accepted.tokens
    return [tuple(row.generated[1 : length + 1]) for row in rows]


def p_value(counts: Counter[tuple[int, ...]], p_by_key: dict[tuple[int, ...], float]) -> float:
    total = sum(counts.values())
    assert set(counts) <= {key for key, p in p_by_key.items() if p > 0}, "a token that cannot come"
    keys = [key for key, p in p_by_key.items() if p > 0]
    return float(chisquare([counts[key] for key in keys], [total * p_by_key[key] for key in keys]).pvalue)


def pairs(p_VV: torch.Tensor) -> dict[tuple[int, ...], float]:
    """The probability of each pair of tokens after token 0."""
    return {(a, b): float(p_VV[0, a] * p_VV[a, b]) for a in range(VOCAB) for b in range(VOCAB)}


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_pairs_of_tokens(shape: TreeShape, replacement: bool) -> None:
    """The first two tokens, joint: whether accepted, refused or reached in a second step."""
    p_VV = torch.softmax(BASE_VV.double(), -1)
    found = texts(shape, [row(seed, replacement=replacement) for seed in range(500)])
    assert p_value(Counter(text[:2] for text in found), pairs(p_VV)) > RARE
    third = {(c,): float((p_VV[0] @ p_VV @ p_VV)[c]) for c in range(VOCAB)}  # after any two
    assert p_value(Counter(text[2:] for text in found), third) > RARE


def test_after_processors_and_filters() -> None:
    """p is what remains of a biased, colder and filtered model; the drafter knows nothing of that."""
    params = SamplingParams(temperature=0.7, top_k=3)
    rows = [row(seed, params=params) for seed in range(600)]
    for state in rows:
        state.processors = [LogitBias({0: 2.0})]
    logits_VV = (BASE_VV + torch.eye(VOCAB)[0] * 2.0) / 0.7
    kept_VV = torch.full_like(logits_VV, -torch.inf).scatter(1, logits_VV.topk(3).indices, logits_VV.topk(3).values)
    assert p_value(Counter(texts(SHAPES["tree"], rows, length=2)), pairs(torch.softmax(kept_VV.double(), -1))) > RARE


# one node: p and q are far apart, so that most children are refused
P_V = torch.tensor([0.45, 0.25, 0.15, 0.1, 0.05])
Q_V = torch.tensor([0.05, 0.15, 0.2, 0.2, 0.4])
P_OF = {(token,): float(p) for token, p in enumerate(P_V.double() / P_V.double().sum())}


def one_node(children: int, *, replacement: bool, draws: int = 4000, softmax: bool = False) -> Counter[tuple[int, ...]]:
    """What comes after one node; with ``softmax`` the residual is what a known defect makes of it."""
    generator = torch.Generator().manual_seed(11)
    drawn_XC = torch.multinomial(Q_V.expand(draws, -1), children, replacement=replacement, generator=generator)
    u_XC = torch.rand(draws, children, generator=generator)
    last_X = torch.rand(draws, generator=generator, dtype=torch.float64)
    counts: Counter[tuple[int, ...]] = Counter()
    for tokens, u_C, last in zip(drawn_XC.tolist(), u_XC.tolist(), last_X, strict=True):
        child, left_V = try_children(P_V, Q_V, tokens, u_C, replacement=replacement)
        if child is None and softmax:
            left_V = torch.softmax((P_V - Q_V).clamp(min=0), -1)
        edge_V = left_V.double().cumsum(-1)
        token = tokens[child] if child is not None else int(torch.searchsorted(edge_V / edge_V[-1], last))
        counts[(token,)] += 1
    return counts


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("children", [1, 2, 4])
def test_one_node(children: int, replacement: bool) -> None:
    assert p_value(one_node(children, replacement=replacement), P_OF) > RARE


def test_softmax_of_the_residual_is_found_out() -> None:
    """A softmax of (p - q)+ gives tokens that q has too much of another chance: far from p."""
    assert p_value(one_node(1, replacement=False, softmax=True), P_OF) < RARE


def test_noise_used_twice_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing what follows a refusal with the noise that drew the candidate: for the others that noise is known to be small.

    After token 2 was refused, 0 and 1 should come as .25 to .349. But 0 would have been drawn itself had its noise been large,
    since q gives it .4, while 1 was hardly in the race. So 1 comes too often.
    """
    p_V, q_V = torch.tensor([0.65, 0.35, 1e-9]), torch.tensor([0.4, 0.001, 0.599])
    p_by_token = {(0,): 0.65, (1,): 0.35, (2,): 1e-9}

    def tokens() -> Counter[tuple[int, ...]]:
        rows = [row(seed) for seed in range(400)]
        found = texts(SHAPES["chain"], rows, base_VV=p_V.log().expand(3, -1), draft_VV=q_V.log().expand(3, -1))
        return Counter((token,) for text in found for token in text)  # independent of each other

    assert p_value(tokens(), p_by_token) > RARE

    def reused(seed: int, purpose: Purpose, child: int = 0) -> int:
        return stream(seed, "draft" if purpose == "residual" else purpose, child)

    monkeypatch.setattr(rejection, "stream", reused)
    assert p_value(tokens(), p_by_token) < RARE


def test_accepts_the_overlap_of_p_and_q() -> None:
    """One child is accepted with probability sum min(p, q) = 0.05 + 0.15 + 0.15 + 0.1 + 0.05 = 0.5; equal p and q always."""
    generator = torch.Generator().manual_seed(5)
    u_X = torch.rand(2000, generator=generator).tolist()
    tokens_X = torch.multinomial(Q_V, 2000, replacement=True, generator=generator).tolist()

    def share(p_V: torch.Tensor) -> float:
        kept = [try_children(p_V, Q_V, [token], [u], replacement=False)[0] == 0 for token, u in zip(tokens_X, u_X, strict=True)]
        return sum(kept) / len(kept)

    assert share(P_V) == pytest.approx(0.5, abs=0.056)  # 5 standard deviations of 2,000 tosses
    assert share(Q_V) == 1.0


def test_residuals_by_hand() -> None:
    p_V, q_V = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.2, 0.6])
    never = 1.0 - 1e-9
    # (p - q)+ = (.3, .1, 0), which sums to .4
    child, left_V = try_children(p_V, q_V, [2], [never], replacement=False)
    assert child is None
    assert left_V.tolist() == pytest.approx([0.75, 0.25, 0.0])
    # without token 2 q is (.5, .5, 0): child 0 is accepted for sure, child 1 with .25 / .5, else p - q = (.25, -.25, 0)
    assert try_children(p_V, q_V, [2, 0], [never, never], replacement=False)[0] == 1
    assert try_children(p_V, q_V, [2, 1], [never, 0.49], replacement=False)[0] == 1
    child, left_V = try_children(p_V, q_V, [2, 1], [never, 0.51], replacement=False)
    assert child is None
    assert left_V.tolist() == pytest.approx([1.0, 0.0, 0.0])
    # with replacement q stays (.2, .2, .6): token 1 is accepted for sure, and token 2 is refused again
    assert try_children(p_V, q_V, [2, 1], [never, never], replacement=True)[0] == 1
    child, left_V = try_children(p_V, q_V, [2, 2], [never, never], replacement=True)
    assert child is None
    assert left_V.tolist() == pytest.approx([0.55 / 0.6, 0.05 / 0.6, 0.0])


def test_what_was_not_drawn_is_not_looked_at() -> None:
    """A node without a source, a child that q cannot have given, padding: the token is the one of the model alone."""
    rows = [row(seed) for seed in range(50)]
    tree = drawn_tree(SHAPES["chain"], rows)
    assert tree.drawn is not None
    alone = Rejection().accept(CandidateTree.roots_only(tree.tokens_BN[:, 0]), BASE_VV[tree.tokens_BN[:, :1]], rows)
    nothing = Drawn(tree.drawn.q_BPV, torch.full_like(tree.drawn.source_BN, -1), tree.drawn.replacement_B)
    impossible = Drawn(torch.zeros_like(tree.drawn.q_BPV), tree.drawn.source_BN, tree.drawn.replacement_B)
    for drawn in (None, nothing, impossible):
        other = CandidateTree(tree.tokens_BN, tree.parent_BN, tree.depth_BN, tree.ancestors_BNN, drawn)
        assert Rejection().accept(other, BASE_VV[tree.tokens_BN], rows) == alone
    padded = CandidateTree.assembled(51, [(range(50), tree)], torch.device("cpu"))
    logits = BASE_VV[padded.tokens_BN.clamp(min=0)]
    assert Rejection().accept(padded, logits, [*rows, None]) == [*Rejection().accept(tree, logits[:50], rows), None]


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    shape = SHAPES["tree"]
    rows = [row(seed, replacement=seed % 2 == 0) for seed in range(20)]
    tree = drawn_tree(shape, rows)
    together = Rejection().accept(tree, BASE_VV[tree.tokens_BN], rows)
    for b, state in enumerate(rows):
        mine = drawn_tree(shape, [state])
        assert Rejection().accept(mine, BASE_VV[mine.tokens_BN], [state]) == [together[b]]
    assert len({accepted.path for accepted in together if accepted is not None}) > 2


def test_at_temperature_0_it_is_exact() -> None:
    rows = [row(seed, params=SamplingParams()) for seed in range(30)]
    tree = drawn_tree(SHAPES["tree"], rows)
    logits = BASE_VV[tree.tokens_BN]
    assert Rejection().accept(tree, logits, rows) == walk(tree, logits, rows)


def test_mistakes() -> None:
    assert rule_of("rejection", {"replacement": True}) == Rejection(replacement=True)
    with pytest.raises(InvalidParameterError, match="replacement is 2; expected True or False"):
        Rejection(replacement=2)  # type: ignore[arg-type]
