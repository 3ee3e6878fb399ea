"""Rules by name, and rows that follow different ones; ``threshold`` among them."""

from typing import Any

import pytest
import torch

from headstart.acceptance.rules import RULES, accept, promise, rule_of
from headstart.acceptance.threshold import Threshold
from headstart.acceptance.typical import Typical
from headstart.acceptance.walk import Exact, walk
from headstart.errors import InvalidParameterError
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape

WARM = SamplingParams(temperature=1.0)


def test_names() -> None:
    assert rule_of("exact", {}) == Exact()
    assert rule_of("typical", {}) == Typical(epsilon=0.09, delta=0.3)  # the paper's
    assert rule_of("typical", {"epsilon": 0.2}) == Typical(epsilon=0.2, delta=0.3)
    assert rule_of("threshold", {"threshold": 0.5}) == Threshold(threshold=0.5)
    assert {name: promise(rule) for name, rule in RULES.items()} == {
        "exact": "exact",
        "rejection": "exact in distribution",
        "typical": "lossy",
        "threshold": "lossy",
    }
    assert [name for name, rule in RULES.items() if rule.lossy] == ["typical", "threshold"]
    assert all(rule.name == name for name, rule in RULES.items())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("medusa", {}, r"'medusa' is not known; expected one of exact, rejection \(exact in distribution\), typical \(lossy\)"),
        ("exact", {"epsilon": 0.1}, "epsilon is no parameter of the acceptance 'exact', which has none; .* acceptance='typical'"),
        ("typical", {"threshold": 0.1}, "threshold is no parameter .* which has epsilon, delta; .* acceptance='threshold'"),
        ("typical", {"gamma": 0.1}, "gamma is no parameter .* choose another rule"),
        ("typical", {"epsilon": "small"}, "epsilon is 'small'; expected a number"),
        ("typical", {"delta": None}, "delta is None; expected a number"),
        ("threshold", {"threshold": True}, "threshold is True; expected a number"),
        ("threshold", {"threshold": 1.0}, r"threshold is 1.0; expected a probability in \(0, 1\)"),
    ],
)
def test_mistakes(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        rule_of(name, options)


def test_threshold_asks_the_same_everywhere() -> None:
    """Sixteen equal tokens, 0.0625 each: above 0.06 and not above 0.07. Typical asks for 0.3 / 16."""
    tree = CandidateTree.of_shape(TreeShape.chain(2), torch.tensor([[3, 5, 7]]))
    logits = torch.zeros(1, 3, 16)
    row = RowSampling(params=WARM, seed=0, prompt_length=1, generated=[3])

    def nodes(rule: Typical | Threshold) -> tuple[int, ...]:
        (accepted,) = rule.accept(tree, logits, [row])
        assert accepted is not None
        return accepted.path

    assert nodes(Threshold(threshold=0.06)) == (0, 1, 2)
    assert nodes(Threshold(threshold=0.07)) == (0,)
    assert nodes(Typical()) == (0, 1, 2)


def test_threshold_at_temperature_0_is_exact() -> None:
    generator = torch.Generator().manual_seed(0)
    shape = TreeShape.full([3, 2])
    tree = CandidateTree.of_shape(shape, torch.randint(0, 4, (5, len(shape)), generator=generator))
    logits = torch.randn(5, len(shape), 4, generator=generator)
    rows = [RowSampling(params=SamplingParams(), seed=b, prompt_length=1, generated=[1]) for b in range(5)]
    assert Threshold(threshold=0.01).accept(tree, logits, rows) == walk(tree, logits, rows)


def test_each_row_by_its_own_rule() -> None:
    """Ten rows of one batch, every third of another rule; each comes out as it does alone."""
    generator = torch.Generator().manual_seed(1)
    shape = TreeShape.full([3, 2])
    tree = CandidateTree.of_shape(shape, torch.randint(0, 4, (10, len(shape)), generator=generator))
    logits = torch.randn(10, len(shape), 4, generator=generator)
    kinds = [Exact(), Typical(), Threshold(threshold=0.3), Typical(epsilon=0.5)]
    rules = [None if b == 4 else kinds[b % 4] for b in range(10)]
    rows = [None if b == 4 else RowSampling(params=WARM, seed=b, prompt_length=1, generated=[1]) for b in range(10)]
    together = accept(tree, logits, rows, rules)
    assert together[4] is None
    for b, rule in enumerate(rules):
        if rule is not None:
            alone = CandidateTree.of_shape(shape, tree.tokens_BN[b : b + 1])
            assert rule.accept(alone, logits[b : b + 1], [rows[b]]) == [together[b]]
    assert len({together[b].path for b in range(10) if together[b] is not None}) > 2  # type: ignore[union-attr]
