"""Sampling through a tree has the model's own distribution.

The model's probabilities are known: the next letter has logit 3.2, all other tokens 0. Tests compare 2,048 draws with them by
chi-square; a right engine fails one with probability 1e-6 for a fresh set of seeds, and never for this fixed one.
"""

import math

import pytest
from scipy.stats import chisquare

from headstart.drafters.arrangement import StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.trees.shape import TreeShape
from tests.decoding import texts
from tests.tiny_models import VOCAB, alphabet_heads, alphabet_model, letter_ids, native

SHARPNESS, DRAWS, RARE = 0.4, 2048, 1e-6
SUCCESSOR = math.exp(8 * SHARPNESS)


def third_tokens(params: SamplingParams, drafter: str) -> list[tuple[int, int]]:
    """The second and third new token of each text: what was verified below a guess, and what came after it."""
    model = native(alphabet_model(sharpness=SHARPNESS), max_rows=64)
    heads = alphabet_heads(model, tree=TreeShape.full([3, 2, 1]))
    guesses = HeadGuesses(heads.heads, model)
    drafters = {"none": PlainDrafter(), "medusa": MedusaDrafter(guesses, StaticTree(heads.tree))}
    engine = Engine(model, drafters, nodes=len(heads.tree))
    requests = [
        Request(prompt_ids=letter_ids("m"), drafter=drafter, params=params, seed=seed, max_new_tokens=4) for seed in range(DRAWS)
    ]
    return [(ids[1], ids[2]) for ids in texts(engine, requests)]


@pytest.mark.parametrize("drafter", ["none", "medusa"])
def test_the_whole_vocabulary(drafter: str) -> None:
    # after a letter x comes x + 1 with p = e^3.2 / (e^3.2 + 63) = 0.28, and each of the 63 others with 0.011; tokens whose
    # successor is no letter are left out
    pairs = [(before, after) for before, after in third_tokens(SamplingParams(temperature=1.0), drafter) if 3 <= before < VOCAB - 1]
    counts = [0] * VOCAB
    for before, after in pairs:
        counts[(after - before - 1) % VOCAB] += 1  # the successor is number 0
    expected = [SUCCESSOR, *[1.0] * (VOCAB - 1)]
    assert len(pairs) > 1900
    assert chisquare(counts, [len(pairs) * e / sum(expected) for e in expected]).pvalue > RARE


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
