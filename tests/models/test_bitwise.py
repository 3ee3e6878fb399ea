"""In bitwise mode a token's logits are the same bits in plain decoding, any tree, batch and chunk of a prompt.

The comparison itself (``unequal_rows``) decodes plainly, then verifies the same tokens in random trees among wrong ones, alone and
in a batch of unequal lengths, with prompts in random chunks. Its power is tested too: the fast attention does differ.
"""

import random
from typing import Any

import pytest
import torch

from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.errors import TreeError
from headstart.models import bitwise_attention
from headstart.models.bit_check import bitwise_holds
from headstart.models.bitwise_columns import LANES, MULTIPLE, SLAB, arranged
from headstart.models.bitwise_probe import fewest_rows, fitting_span
from headstart.models.bitwise_proof import unequal_rows
from headstart.models.native import NativeModel
from headstart.models.packed_linear import PackedLinear
from headstart.models.source import find, load_pretrained
from headstart.request import Request
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape
from tests.decoding import ScriptedDrafter, decode, texts
from tests.models.test_native import two_rows
from tests.tiny_models import VOCAB, adapter, build, generated, native, tiny

needs_kernels = pytest.mark.skipif(fitting_span() is None, reason="this processor's bfloat16 products do not keep their bits")
TREE = TreeShape.full([3, 2, 2])


def prompts(*lengths: int) -> list[list[int]]:
    draw = random.Random(3)
    return [[draw.randrange(VOCAB) for _ in range(length)] for length in lengths]


@needs_kernels
@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("llama", {}),
        ("llama", {"num_key_value_heads": 4}),  # one query head a group: products of a single row
        # so few multiplications in a short context that torch would not ask oneDNN
        ("llama", {"hidden_size": 64, "intermediate_size": 96, "head_dim": 16}),
        ("llama", {"num_key_value_heads": 4, "head_dim": 64}),
        ("mistral", {}),  # a window shorter than the texts
        ("qwen2", {}),
        ("qwen3", {}),
        ("gemma2", {}),  # soft-caps
        ("gemma3_text", {}),
        ("phi3", {}),
        ("olmo2", {}),
        ("mixtral", {}),
        ("qwen3_moe", {"num_experts": 8, "num_experts_per_tok": 3}),  # most experts get one row or none
    ],
)
def test_bits_are_those_of_plain_decoding(family: str, changes: dict[str, Any]) -> None:
    model = native(build(family, dtype=torch.bfloat16, **changes), bitwise=True)
    rows, unequal = unequal_rows(model, prompts(1, 14, 30), 16, seed=1)
    assert unequal == 0
    assert rows == 2 * (3 * 15 + 3)  # 15 verified tokens and a chunked prefill of 3 prompts, alone and together
    assert model.cache.rows == 0


@needs_kernels
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("llama", {}),
        ("llama", {"num_key_value_heads": 4}),
        ("mistral", {"sliding_window": 300}),  # a window that reaches over the ends of slabs
        ("gemma2", {"sliding_window": 260}),
    ],
)
def test_bits_hold_across_slabs(family: str, changes: dict[str, Any], at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # 250, 505 and 760 cross from one slab of 256 positions to the next while they are decoded; 300 and 650 end in the midst of one
    monkeypatch.setattr(bitwise_attention, "long_products_fit", lambda: at_once)  # or slab by slab, as where they do not fit
    pretrained = build(family, dtype=torch.bfloat16, max_position_embeddings=1024, **changes)
    model = native(pretrained, bitwise=True, cache_tokens=8192)
    assert unequal_rows(model, prompts(250, 505, 300), 14, seed=2)[1] == 0
    assert unequal_rows(model, prompts(760, 650, 8, 255), 14, seed=3)[1] == 0


@needs_kernels
def test_bits_hold_where_long_products_begin() -> None:
    # before slab 3, 4 and 5 lie 512, 768 and 1024 far positions; a product over more than 512 has at least 1088 columns
    model = native(build("llama", dtype=torch.bfloat16, max_position_embeddings=2048), bitwise=True, cache_tokens=1 << 14)
    assert unequal_rows(model, prompts(1018, 1275, 1530, 40), 12, seed=4)[1] == 0


@needs_kernels
def test_depths() -> None:
    # 16 deep is kept equal across the end of a slab; deeper is refused with what to do
    model = native(build("llama", dtype=torch.bfloat16, max_position_embeddings=1024), bitwise=True)
    torch.manual_seed(0)
    path_N = torch.randint(3, VOCAB, (17,))
    prompt = torch.tensor(prompts(250))

    def last_of(shape: TreeShape, tokens_N: torch.Tensor) -> torch.Tensor:
        model.cache.add_row(400)
        model.prefill(prompt, 0, [250])
        logits_V = model.lm_head(model.verify(CandidateTree.of_shape(shape, tokens_N[None])))[0, -1]
        model.cache.clear()
        return logits_V

    forked = TreeShape([(0,), (1,), *((1, *[0] * depth) for depth in range(1, 16))])
    among_others = last_of(forked, torch.cat([path_N[:1], torch.tensor([5]), path_N[1:]]))
    assert torch.equal(among_others, last_of(TreeShape.chain(16), path_N))
    model.cache.add_row(400)
    model.prefill(prompt, 0, [250])
    for node in range(16):
        model.verify(CandidateTree.roots_only(path_N[node : node + 1]))
        model.cache.commit(0, [0])
    assert torch.equal(model.lm_head(model.verify(CandidateTree.roots_only(path_N[16:])))[0, 0], among_others)
    with pytest.raises(TreeError, match=r"17 deep.*up to 16 deep.*bitwise=False"):
        model.verify(CandidateTree.of_shape(TreeShape.chain(17), torch.full((1, 18), 5)))


@needs_kernels
def test_bits_hold_at_the_end_of_the_cache() -> None:
    # 45 slots are all there is: the columns that round them up to 64 are not in the cache
    model = native(build("llama", dtype=torch.bfloat16), bitwise=True, max_rows=1, cache_tokens=45)
    roomy = native(build("llama", dtype=torch.bfloat16), bitwise=True)
    (prompt,) = prompts(20)
    ids = [texts(Engine(m, {"none": PlainDrafter()}), [Request(prompt_ids=prompt, max_new_tokens=24)]) for m in (model, roomy)]
    assert ids[0] == ids[1]


def test_the_comparison_sees_other_orders() -> None:
    # without the fixed order some of the same rows differ, so that 0 unequal rows above are no accident of small numbers
    model = native(build("llama", dtype=torch.bfloat16))
    assert unequal_rows(model, prompts(1, 14, 30), 16, seed=1)[1] > 20
    assert not bitwise_holds(model).holds


@pytest.mark.parametrize("family", ["llama", "mistral", "gemma2"])
def test_the_numbers_are_the_adapters(family: str) -> None:
    # float64: another order of summation, the same sums
    ours, theirs = native(tiny(family), bitwise=True), adapter(tiny(family))
    assert torch.allclose(two_rows(ours, TREE), two_rows(theirs, TREE), rtol=0, atol=1e-9)


@pytest.mark.parametrize("span", [2, 32])
def test_greedy_is_generate(span: int) -> None:
    three = prompts(3, 14, 31)
    true = [generated(tiny("mistral"), prompt, 12) for prompt in three]
    model = native(tiny("mistral"), bitwise=True)
    model._span = span  # whatever this processor wants
    drafter = ScriptedDrafter({tuple(p): t for p, t in zip(three, true, strict=True)}, TREE, accuracy=0.7, vocab=VOCAB)
    engine = Engine(model, {"none": PlainDrafter(), "scripted": drafter}, nodes=15)
    for name in ("none", "scripted"):
        assert texts(engine, [Request(prompt_ids=p, drafter=name, max_new_tokens=12) for p in three]) == true, name


@pytest.mark.parametrize("span", [2, 32])
@pytest.mark.parametrize("phase", [0, 1, 6, 31, 254, 255])
def test_columns_keep_order_lanes_and_spans(phase: int, span: int) -> None:
    shape = TreeShape([(0,), (1,), (0, 0), (2,), (0, 1), (0, 0, 0), (1, 0), (3,), (0, 0, 0, 0)])
    slabs = arranged(phase, shape.parent_N, shape.depth_N, span, range(len(shape)))
    assert slabs is not None
    for node in range(len(shape)):
        seen: list[int] = []
        for number, columns in enumerate(slabs):
            assert len(columns.slots_K) % MULTIPLE == 0
            where = columns.visible_NK[node].nonzero().squeeze(1)
            position, slots = columns.position_K[where], columns.slots_K[where]
            assert torch.equal(where % LANES, position % LANES)  # softmax adds up lanes
            assert torch.equal(where % span, position % span)
            assert bool((position // SLAB == number).all())
            assert all(len(set((where[position // span == s] // span).tolist())) == 1 for s in (position // span).unique().tolist())
            seen += list(zip(position.tolist(), slots.tolist(), strict=True))
        path = [node]
        while shape.parent_N[path[0]] >= 0:
            path.insert(0, shape.parent_N[path[0]])
        # the committed positions and the node's path, each once, in order
        assert seen == [(p, p) for p in range(phase)] + [(phase + depth, phase + at) for depth, at in enumerate(path)]


def test_which_trees_are_arranged_at_once() -> None:
    star = TreeShape([(rank,) for rank in range(40)])
    assert arranged(200, star.parent_N, star.depth_N, 2, range(41)) is None  # 40 times 16 columns
    sixteen = TreeShape([(rank,) for rank in range(15)])
    for phase in range(SLAB):
        assert arranged(phase, sixteen.parent_N, sixteen.depth_N, 2, range(16)) is not None
        for span in (2, 32):  # a few nodes of any tree
            assert arranged(phase, star.parent_N, star.depth_N, span, range(24, 32)) is not None


def test_branches_that_need_too_many_long_spans_together() -> None:
    """Where spans are 32 positions, eight paths of which each has a span of its own before and behind its end want 16 of them."""
    bushes = TreeShape.full([8, 1, 1])
    last = range(17, 25)
    assert arranged(222, bushes.parent_N, bushes.depth_N, 32, last) is None
    for phase in range(SLAB):
        for node in last:
            assert arranged(phase, bushes.parent_N, bushes.depth_N, 32, range(node, node + 1)) is not None
    model = native(build("llama", max_position_embeddings=512), bitwise=True)
    model._span = 32  # whatever this processor wants
    theirs = adapter(build("llama", max_position_embeddings=512))
    torch.manual_seed(0)
    tree = CandidateTree.of_shape(bushes, torch.randint(3, VOCAB, (1, len(bushes))))
    states = []
    for each in (model, theirs):
        each.cache.add_row(300)
        each.prefill(torch.tensor(prompts(222)), 0, [222])
        states.append(each.verify(tree))
    assert torch.allclose(*states, rtol=0, atol=1e-9)


@needs_kernels
@pytest.mark.parametrize("heads", [2, 4])
def test_bits_hold_in_wide_trees(heads: int) -> None:
    # 45 nodes, arranged a few at a time; each has the bits of a pass that holds its path alone
    model = native(build("llama", dtype=torch.bfloat16, num_key_value_heads=heads), bitwise=True)
    star = TreeShape([*((rank,) for rank in range(40)), (7, 0), (7, 1), (39, 0), (39, 0, 0)])
    torch.manual_seed(0)
    tokens_N = torch.randint(3, VOCAB, (len(star),))
    model.cache.add_row(120)
    model.prefill(torch.tensor(prompts(51)), 0, [51])
    logits_NV = model.lm_head(model.verify(CandidateTree.of_shape(star, tokens_N[None])))[0]
    for node in (0, 1, 8, 24, 40, 41, 42, 44):
        path = [node]
        while star.parent_N[path[0]] >= 0:
            path.insert(0, star.parent_N[path[0]])
        alone = CandidateTree.of_shape(TreeShape.chain(len(path) - 1), tokens_N[path][None])
        assert torch.equal(model.lm_head(model.verify(alone))[0, -1], logits_NV[node]), node


def test_the_engine_never_asks_for_deeper_trees() -> None:
    """A chain of 20 right guesses: 16 are taken and the next root, so 38 tokens after the first are 17 + 17 + 4."""
    model = native(build("llama", dtype=torch.bfloat16), bitwise=True)
    prompt = prompts(9)[0]
    plain = Engine(model, {"none": PlainDrafter()})
    known = {tuple(prompt): texts(plain, [Request(prompt_ids=prompt, drafter="none", max_new_tokens=39)])[0]}
    chain = TreeShape.chain(20)
    engine = Engine(model, {"none": PlainDrafter(), "deep": ScriptedDrafter(known, chain, accuracy=1.0, vocab=VOCAB)}, nodes=21)
    (outcome,) = decode(engine, [Request(prompt_ids=prompt, drafter="deep", max_new_tokens=39)])
    assert outcome.ids == known[tuple(prompt)]
    assert outcome.stats.steps == 3


@needs_kernels
@pytest.mark.parametrize("size", [8, 16, 32, 64, 80, 128])
def test_the_fewest_rows_are_summed_as_many_are(size: int) -> None:
    """The shortest product there is. The last two columns cancel the others' sum, so that the low bits of float32 are left."""
    generator = torch.Generator().manual_seed(size)
    weights = torch.rand(1, 1, MULTIPLE, generator=generator).expand(-1, 64, -1).bfloat16().contiguous()
    values = torch.randn(1, MULTIPLE, size, generator=generator).bfloat16()
    for column in (-2, -1):
        weights[..., column:] = 0
        values[:, column] = -torch.bmm(weights, values)[:, 0]
        weights[..., column] = 1
        if column == -2:
            values[:, -1] = 0
    weights[..., -2:] = 1
    many = torch.bmm(weights, values)
    assert many.abs().max() < 1e-3
    for rows in (fewest_rows(size), fewest_rows(size) + 1, 20):
        assert torch.equal(torch.bmm(weights[:, :rows].contiguous(), values), many[:, :rows])


def test_a_row_alone_has_the_bits_it_has_among_others() -> None:
    torch.manual_seed(0)
    linear = PackedLinear(torch.randn(300, 1536).bfloat16(), torch.randn(300).bfloat16())
    x = torch.randn(20, 1536).bfloat16()
    assert torch.equal(torch.cat([linear.alike(x[row : row + 1]) for row in range(20)]), linear(x))
    assert linear.alike(x[0].view(1, 1, -1)).shape == (1, 1, 300)


@needs_kernels
@pytest.mark.bundled
def test_bundled_model() -> None:
    pretrained, tokenizer, _ = load_pretrained(find("bundled"), "bfloat16", "cpu")
    assert tokenizer is not None
    model = NativeModel(pretrained, name="bundled", max_rows=4, cache_tokens=4096, bitwise=True)
    texts_ = [
        "Hi",
        "How do I reset my password?",
        "Summarise in one sentence: " + "The river rose again in the night. " * 12,
        "Translate: " + "The cat sleeps on the warm stone by the door. " * 24,
    ]
    ids = [tokenizer(text)["input_ids"] for text in texts_]
    ids[3] = ids[3][:251]  # crosses the end of a slab
    assert unequal_rows(model, ids, 8, seed=4, chunks=(7, 64, 300)) == (64, 0)
