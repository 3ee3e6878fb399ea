import torch

from headstart.train.vocab_sample import VocabSampler

V = 100


def sampler(seed: int = 0) -> VocabSampler:
    return VocabSampler(torch.arange(V).flip(0), seed, frequent=10, drawn=20, multiple=1)


def test_frequent_tokens_and_labels_are_always_in_and_count_once() -> None:
    labels_KB = torch.tensor([[95, 3], [-1, 50]])
    part = sampler().part(4, labels_KB)
    assert part.index_S is not None
    assert part.log_weight_S is not None
    weight = dict(zip(part.index_S.tolist(), part.log_weight_S.exp().tolist(), strict=True))
    certain = {*range(90, 100), 3, 50}
    assert all(weight[place] == 1 for place in certain)
    drawn = {place: w for place, w in weight.items() if place not in certain}
    assert len(drawn) == 20
    # 100 - 12 tokens are stood for by 20
    assert all(abs(w - 88 / 20) < 1e-5 for w in drawn.values())
    back = torch.where(part.labels_KB >= 0, part.index_S[part.labels_KB], -1)
    assert back.tolist() == labels_KB.tolist()


def test_the_expected_partition_function_is_the_whole_one() -> None:
    """Mean over 4,000 steps of a sum whose terms spread by a factor of 5: the standard error is about 0.1 %."""
    values = torch.linspace(0.5, 2.5, V)
    labels_KB = torch.tensor([[7]])
    draws = sampler()
    sums = []
    for step in range(4000):
        part = draws.part(step, labels_KB)
        assert part.index_S is not None
        assert part.log_weight_S is not None
        sums.append(float((values[part.index_S] * part.log_weight_S.exp()).sum()))
    assert abs(sum(sums) / len(sums) / float(values.sum()) - 1) < 0.01


def test_a_step_is_known_from_seed_and_number() -> None:
    labels_KB = torch.tensor([[7]])
    first, again, other = (sampler(seed).part(3, labels_KB).index_S for seed in (1, 1, 2))
    assert first is not None
    assert again is not None
    assert other is not None
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_a_small_vocabulary_is_taken_whole() -> None:
    part = VocabSampler(torch.arange(50), 0, frequent=10, drawn=20).part(0, torch.tensor([[1]]))
    assert part.index_S is None
    assert part.labels_KB.tolist() == [[1]]


def test_parts_are_of_few_sizes() -> None:
    """Shapes of products repeat, whatever the labels are."""
    draws = VocabSampler(torch.arange(V), 0, frequent=10, drawn=20, multiple=16)
    sizes = set()
    for count in range(1, 30):
        part = draws.part(count, torch.arange(V - count, V)[None])
        assert part.index_S is not None
        assert part.log_weight_S is not None
        sizes.add(len(part.index_S))
        total = part.log_weight_S.exp().sum()
        assert abs(float(total) - V) < 1e-3  # all tokens are there, or stood for
    assert sizes == {32, 48, 64}
