"""Whether this processor keeps bits equal: of its products in general, and of a loaded model.

Nothing that torch documents promises it, so it is tried. What was found: in bfloat16 oneDNN gives a row the same bits whatever
rows stand beside it, from two rows on; the inner axis of a product is added up in order, a few columns at a time (2 with
AVX512-BF16, 32 with AMX), up to 512 columns, beyond which it is cut by its length.
"""

import random
from collections.abc import Sequence
from functools import lru_cache

import torch

from headstart.models.bitwise_columns import SLAB
from headstart.models.protocol import BaseModel
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape

_SPANS = (2, 32)


def fitting_span() -> int | None:
    """The fewest positions that have to stay together in a bfloat16 product of this processor; None where no size will do."""
    return _fitting_span(torch.get_num_threads())


@lru_cache(maxsize=8)
@torch.inference_mode()
def _fitting_span(threads: int) -> int | None:
    generator = torch.Generator().manual_seed(0)
    return next((span for span in _SPANS if all(_indifferent(span, columns, generator) for columns in (64, SLAB))), None)


def _indifferent(span: int, columns: int, generator: torch.Generator) -> bool:
    """Whether zeros inserted by whole spans, rows added and rows left out leave the bits of a product alone."""
    weights_1RC = torch.rand(1, 1, columns, generator=generator).expand(-1, 48, -1).bfloat16().contiguous()
    values_1CD = torch.randn(1, columns, 64, generator=generator).bfloat16()
    # the last columns cancel the others' sum, so that what is left are the low bits of float32, where the order shows
    for column in (-2, -1):
        weights_1RC[..., column:] = 0
        weights_1RC[..., column] = 1
        values_1CD[:, column] = -torch.bmm(weights_1RC[..., :column], values_1CD[:, :column])[:, 0] if column == -2 else 0
    values_1CD[:, -1] = -torch.bmm(weights_1RC[..., :-1], values_1CD[:, :-1])[:, 0]
    weights_1RC[..., -2:] = 1
    expected_1RD = torch.bmm(weights_1RC, values_1CD)
    for rows in (2, 3, 6, 24):
        if not torch.equal(torch.bmm(weights_1RC[:, :rows].contiguous(), values_1CD), expected_1RD[:, :rows]):
            return False
    for inserted in (span, 3 * span, SLAB):
        for at in (0, columns // 4 // span * span, columns):
            zeros, noise = weights_1RC.new_zeros(1, 48, inserted), torch.randn(1, inserted, 64, generator=generator).bfloat16()
            wider = torch.cat([weights_1RC[..., :at], zeros, weights_1RC[..., at:]], -1)
            longer = torch.cat([values_1CD[:, :at], noise, values_1CD[:, at:]], 1)
            if columns + inserted <= 2 * SLAB and not torch.equal(torch.bmm(wider, longer), expected_1RD):
                return False
    return True


def bitwise_holds(model: BaseModel) -> bool:
    """Whether a few dozen tokens after three short prompts have the same bits in every way that a model can be asked for them.

    The model's cache has to be empty, and is so again.
    """
    draw = random.Random(0)
    prompts = [[draw.randrange(model.facts.vocab_size) for _ in range(length)] for length in (1, 21, 40)]
    return unequal_rows(model, prompts, 12, seed=0)[1] == 0


def unequal_rows(model: BaseModel, prompts: Sequence[Sequence[int]], tokens: int, *, seed: int) -> tuple[int, int]:
    """Logits compared with plain decoding, and how many of them have other bits.

    Each prompt is decoded plainly and greedily for ``tokens`` tokens; then its prefill is cut into random chunks, and its tokens
    are verified in random trees among wrong ones, alone and with all prompts in one batch. The cache is left empty.
    """
    draw = random.Random(seed)
    plain = [_plainly(model, prompt, tokens) for prompt in prompts]
    found: list[bool] = []
    for prompt, (text, logits_TV) in zip(prompts, plain, strict=True):
        found += _in_trees(model, [prompt], [text], [logits_TV], draw)
    found += _in_trees(model, prompts, [text for text, _ in plain], [logits for _, logits in plain], draw)
    return len(found), found.count(False)


@torch.inference_mode()
def _plainly(model: BaseModel, prompt: Sequence[int], tokens: int) -> tuple[list[int], list[torch.Tensor]]:
    """Greedy tokens, and the logits of V numbers that each of them was chosen from."""
    device = model.facts.device
    model.cache.add_row(len(prompt) + tokens)
    hidden_D = model.prefill(torch.tensor([list(prompt)], device=device), 0, [len(prompt)])[0, -1]
    text: list[int] = []
    logits_TV: list[torch.Tensor] = []
    while len(text) < tokens:
        logits_TV.append(model.lm_head(hidden_D[None])[0])
        text.append(int(logits_TV[-1].argmax()))
        hidden_D = model.verify(CandidateTree.roots_only(torch.tensor(text[-1:], device=device)))[0, 0]
        model.cache.commit(0, [0])
    model.cache.clear()
    return text, logits_TV


@torch.inference_mode()
def _in_trees(
    model: BaseModel,
    prompts: Sequence[Sequence[int]],
    texts: Sequence[Sequence[int]],
    logits: Sequence[Sequence[torch.Tensor]],
    draw: random.Random,
) -> list[bool]:
    """Whether the logits of each token of the texts are those given, all prompts in one batch."""
    device, found, done = model.facts.device, [], [0] * len(prompts)
    for row, prompt in enumerate(prompts):
        model.cache.add_row(len(prompt) + len(texts[row]))
        hidden_BTD = torch.empty(0)
        while (start := model.cache.lengths[row]) < len(prompt):
            chunk = prompt[start : start + draw.choice([1, 7, 33, 64, 300])]
            hidden_BTD = model.prefill(torch.tensor([list(chunk)], device=device), row, [len(chunk)])
        found.append(torch.equal(model.lm_head(hidden_BTD[:, -1])[0], logits[row][0]))
    while max(len(text) - at for text, at in zip(texts, done, strict=True)) > 1:
        parts, true = [], []
        for row, text in enumerate(texts):
            ahead = text[done[row] : -1][: draw.randint(1, 5)] or [0]  # a row that is through goes on with anything
            shape, tokens, path = _tree_around(ahead, model.facts.vocab_size, draw)
            parts.append(([row], CandidateTree.of_shape(shape, torch.tensor([tokens], device=device))))
            true.append(path)
        logits_BNV = model.lm_head(model.verify(CandidateTree.assembled(len(prompts), parts, device)))
        for row, path in enumerate(true):
            if done[row] < len(texts[row]) - 1:
                expected = logits[row][done[row] + 1 : done[row] + 1 + len(path)]
                found += [torch.equal(logits_BNV[row, node], own) for node, own in zip(path, expected, strict=True)]
                model.cache.commit(row, path)
                done[row] += len(path)
    model.cache.clear()
    return found


def _tree_around(truth: Sequence[int], vocab: int, draw: random.Random) -> tuple[TreeShape, list[int], list[int]]:
    """A tree of at most 16 nodes that holds ``truth``, its first token the root, among others: shape, tokens, the true nodes."""
    right: tuple[int, ...] = ()
    paths: list[tuple[int, ...]] = []
    tokens = {right: truth[0]}
    for depth, token in enumerate(truth[1:], 1):
        width = draw.randint(1, 3)
        here = draw.randrange(width)
        parents = [right, *(path for path in paths if len(path) == depth - 1 and path != right and draw.random() < 0.3)]
        for parent in parents:
            for rank in range(width):
                if len(paths) < 15 - (len(truth) - depth) or (parent == right and rank == here):
                    paths.append((*parent, rank))
                    tokens[paths[-1]] = token if parent == right and rank == here else draw.randrange(vocab)
        right = (*right, here)
    shape = TreeShape(paths)
    true = [0] + [1 + shape.paths.index(right[:length]) for length in range(1, len(truth))]
    return shape, [truth[0], *(tokens[path] for path in shape.paths)], true
