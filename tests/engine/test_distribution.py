"""Sampling through a tree has the model's own distribution.

The model's probabilities are known: the next letter has logit 3.2, all other tokens 0. The heads are far off: theirs has logit 8.
Tests compare draws with the model's probabilities by chi-square; a right engine fails one with probability 1e-6 for a fresh set of
seeds (all of them together with 2e-5), and never for this fixed one.
"""

import math
from collections.abc import Callable
from typing import Any

import pytest
from scipy.stats import chisquare

from headstart.drafters.arrangement import GrownTree, StaticTree
from headstart.drafters.draft_model import DraftModelDrafter
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.hydra import HydraDrafter
from headstart.drafters.hydra_guesses import HydraGuesses
from headstart.drafters.hydra_trees import StaticLevels
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.mtp import MtpDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.drafters.protocol import Drafter
from headstart.engine.engine import Engine
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.trees.shape import TreeShape
from tests.decoding import texts
from tests.tiny_models import VOCAB, alphabet_heads, alphabet_model, letter_ids, native, noise_heads, noise_mtp_heads

SHARPNESS, DRAWS, RARE = 0.4, 2048, 1e-6
SUCCESSOR = math.exp(8 * SHARPNESS)


def third_tokens(params: SamplingParams, drafter: str, draws: int = DRAWS, **options: Any) -> list[tuple[int, int]]:
    """The second and third new token of each text: what was verified below a guess, and what came after it."""
    model = native(alphabet_model(sharpness=SHARPNESS), max_rows=64)
    heads = alphabet_heads(model, tree=TreeShape.full([3, 2, 1]))
    made: dict[str, Callable[[], Drafter]] = {
        "none": PlainDrafter,
        "medusa": lambda: MedusaDrafter(HeadGuesses(heads.heads, model), StaticTree(heads.tree)),
        "grown": lambda: MedusaDrafter(HeadGuesses(heads.heads, model), GrownTree(3, VOCAB)),
        "hydra": lambda: HydraDrafter(HydraGuesses(noise_heads(model, kind="hydra"), model), StaticLevels(heads.tree)),
        "mtp": lambda: MtpDrafter(HeadGuesses(noise_mtp_heads(model), model), model, GrownTree(3, VOCAB)),
        # surer than the base model, so that its first children are often refused
        "draft-model": lambda: DraftModelDrafter(native(alphabet_model(), max_rows=64), vocab_size=VOCAB, confidence=0.0),
    }
    engine = Engine(model, {"none": PlainDrafter(), drafter: made[drafter]()}, nodes=len(heads.tree))
    requests = [
        Request(prompt_ids=letter_ids("m"), drafter=drafter, params=params, seed=seed, max_new_tokens=4, **options)
        for seed in range(draws)
    ]
    return [(ids[1], ids[2]) for ids in texts(engine, requests)]


def by_number(pairs: list[tuple[int, int]]) -> list[int]:
    """How often each token came after a letter, counted from the letter's successor, which is number 0."""
    counts = [0] * VOCAB
    for before, after in pairs:
        if 3 <= before < VOCAB - 1:  # where there is a successor
            counts[(after - before - 1) % VOCAB] += 1
    return counts


def p_value(counts: list[int]) -> float:
    # after a letter x comes x + 1 with p = e^3.2 / (e^3.2 + 63) = 0.28, and each of the 63 others with 0.011
    expected = [SUCCESSOR, *[1.0] * (VOCAB - 1)]
    return float(chisquare(counts, [sum(counts) * e / sum(expected) for e in expected]).pvalue)


@pytest.mark.parametrize("drafter", ["none", "medusa"])
def test_the_whole_vocabulary(drafter: str) -> None:
    counts = by_number(third_tokens(SamplingParams(temperature=1.0), drafter))
    assert sum(counts) > 1900
    assert p_value(counts) > RARE


@pytest.mark.parametrize(
    ("drafter", "replacement"),
    [
        ("medusa", False),
        ("medusa", True),
        ("grown", False),
        ("hydra", False),
        ("hydra", True),
        ("mtp", False),
        ("draft-model", False),
        ("draft-model", True),
    ],
)
def test_rejection_over_the_whole_vocabulary(drafter: str, replacement: bool) -> None:
    options = {"acceptance": "rejection", "acceptance_options": {"replacement": replacement}}
    counts = by_number(third_tokens(SamplingParams(temperature=1.0), drafter, draws=400, **options))
    assert sum(counts) > 360
    assert p_value(counts) > RARE


def test_typical_acceptance_is_not_exact_and_how_far_off() -> None:
    """Where 64 tokens have 3.6 nats of entropy, ``typical`` takes all that has more than 0.3 * exp(-3.6) = 0.008: any token, so
    that the text is the drafter's. The successor comes in 98 of 100 cases instead of 28: a total variation distance of 0.7."""
    counts = by_number(third_tokens(SamplingParams(temperature=1.0), "medusa", draws=400, acceptance="typical"))
    true = SUCCESSOR / (SUCCESSOR + VOCAB - 1)
    assert p_value(counts) < RARE
    assert counts[0] / sum(counts) - true == pytest.approx(0.7, abs=0.05)  # of one set, and so at most the total variation
    exact = by_number(third_tokens(SamplingParams(temperature=1.0), "medusa", draws=400))
    assert exact[0] / sum(exact) == pytest.approx(true, abs=0.11)  # five standard deviations of 400 tosses


@pytest.mark.parametrize("drafter", ["none", "medusa"])
def test_after_a_filter(drafter: str) -> None:
    # of the equal tokens the lowest ids stay: 0, 1 and 2 beside the successor, which has e^3.2 / (e^3.2 + 3) = 0.89
    pairs = third_tokens(SamplingParams(temperature=1.0, top_k=4), drafter)
    counts = {"successor": 0, 0: 0, 1: 0, 2: 0}
    for before, after in pairs:
        if before >= 3:
            counts["successor" if after == before + 1 else after] += 1
    expected = {"successor": SUCCESSOR, 0: 1.0, 1: 1.0, 2: 1.0}
    total = sum(counts.values())
    assert total > 1500
    shares = [total * e / sum(expected.values()) for e in expected.values()]
    assert chisquare(list(counts.values()), shares).pvalue > RARE
