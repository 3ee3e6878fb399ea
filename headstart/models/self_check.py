"""One small question to a model at load: does it see a tree as it would see each path alone?

A model that ignores the positions or the mask of a pass, or changes its logits in a way the adapter does not know, would
write other text with guesses than without. It is refused here instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import PreTrainedModel

from headstart.errors import UnsupportedModelError
from headstart.models.protocol import BaseModel
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape

# Largest difference between two ways to compute the same logits, in standard deviations of the logits. Rounding stays far
# below; a wrong mask or position is of the order of 1.
_TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-2}
_TOLERANCE_LOW = 0.5
_PROMPT, _SHAPE = 5, TreeShape([(0,), (1,), (1, 0)])


@torch.inference_mode()
def check_tree_passes(model: BaseModel, pretrained: PreTrainedModel) -> None:
    """Compare a prefill and a tree pass of ``model`` with ``pretrained`` run on each path by itself.

    Raises:
        UnsupportedModelError: they disagree.
    """
    vocab, device = model.facts.vocab_size, model.facts.device
    ids = [(7 * i + 3) % vocab for i in range(_PROMPT + len(_SHAPE))]
    prompt, nodes = ids[:_PROMPT], ids[_PROMPT:]
    paths = [[*prompt, nodes[0], nodes[1]], [*prompt, nodes[0], nodes[2], nodes[3]]]
    with _softcap_kept(pretrained):
        alone = [pretrained(input_ids=torch.tensor([path], device=device), use_cache=False).logits[0] for path in paths]
    cache = model.cache
    cache.add_row(_PROMPT + len(nodes))
    try:
        last = model.lm_head(model.prefill(torch.tensor([prompt], device=device), 0, [_PROMPT]))[0, -1]
        tree = CandidateTree.of_shape(_SHAPE, torch.tensor([nodes], device=device))
        ours = torch.stack([last, *model.lm_head(model.verify(tree))[0]])
    finally:
        cache.clear()
    expected = torch.stack([alone[0][_PROMPT - 1], alone[0][_PROMPT], alone[0][_PROMPT + 1], *alone[1][_PROMPT + 1 :]])
    difference = float((ours.double() - expected.double().to(ours.device)).abs().max() / expected.double().std().clamp(min=1e-12))
    if not difference <= _TOLERANCE.get(model.facts.dtype, _TOLERANCE_LOW):
        raise UnsupportedModelError(
            f"{type(pretrained).__name__} gives other logits for a tree of tokens than for each of its paths alone (difference"
            f" {difference:.2g} standard deviations): it does not follow the positions or the attention mask it is given, so"
            " guesses would change its text"
        )


@contextmanager
def _softcap_kept(pretrained: PreTrainedModel) -> Iterator[None]:
    """Older transformers run a soft-capped model by sdpa, which drops the cap without a word; eager attention keeps it."""
    config: Any = getattr(pretrained, "config", None)
    if getattr(config, "attn_logit_softcapping", None) is None:
        yield
        return
    own = config._attn_implementation_internal
    config._attn_implementation_internal = "eager"
    try:
        yield
    finally:
        config._attn_implementation_internal = own
