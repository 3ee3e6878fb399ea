"""Bits of a loaded model's logits, compared with those of plain decoding.

Shapes: T tokens, V vocabulary, D hidden.
"""

import random
from collections.abc import Sequence

import torch

from headstart.models.protocol import BaseModel
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape

CHUNKS = (1, 7, 33, 64, 300)
"""Positions of a prompt in one pass."""


def unequal_rows(
    model: BaseModel, prompts: Sequence[Sequence[int]], tokens: int, *, seed: int, chunks: Sequence[int] = CHUNKS
) -> tuple[int, int]:
    """Logits compared with plain decoding, and how many of them have other bits.

    Each prompt is decoded plainly and greedily for ``tokens`` tokens; then its prefill is cut into random chunks, and its tokens
    are verified in random trees among wrong ones, alone and with all prompts in one batch. The cache is left empty.
    """
    draw = random.Random(seed)
    plain = [decoded_plainly(model, prompt, tokens) for prompt in prompts]
    found: list[bool] = []
    for prompt, (text, logits_TV) in zip(prompts, plain, strict=True):
        found += _in_trees(model, [prompt], [text], [logits_TV], draw, chunks)
    found += _in_trees(model, prompts, [text for text, _ in plain], [logits for _, logits in plain], draw, chunks)
    return len(found), found.count(False)


@torch.inference_mode()
def decoded_plainly(model: BaseModel, prompt: Sequence[int], tokens: int) -> tuple[list[int], list[torch.Tensor]]:
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
    chunks: Sequence[int],
) -> list[bool]:
    """Whether the logits of each token of the texts are those given, all prompts in one batch."""
    device, found, done = model.facts.device, [], [0] * len(prompts)
    for row, prompt in enumerate(prompts):
        model.cache.add_row(len(prompt) + len(texts[row]))
        hidden_BTD = torch.empty(0)
        while (start := model.cache.lengths[row]) < len(prompt):
            chunk = prompt[start : start + draw.choice(chunks)]
            hidden_BTD = model.prefill(torch.tensor([list(chunk)], device=device), row, [len(chunk)])
        found.append(torch.equal(model.lm_head(hidden_BTD[:, -1])[0], logits[row][0]))
    while max(len(text) - at for text, at in zip(texts, done, strict=True)) > 1:
        parts, true = [], []
        for row, text in enumerate(texts):
            ahead = text[done[row] : -1][: draw.randint(1, 5)] or [0]  # a row that is through goes on with anything
            shape, tokens, path = tree_around(ahead, model.facts.vocab_size, draw)
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


def tree_around(truth: Sequence[int], vocab: int, draw: random.Random) -> tuple[TreeShape, list[int], list[int]]:
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
