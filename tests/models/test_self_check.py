"""The question at load finds models whose tree passes are wrong in any of the ways that would change a text."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from headstart.errors import UnsupportedModelError
from headstart.models.self_check import check_tree_passes
from headstart.trees.candidate import CandidateTree
from tests.tiny_models import adapter, build, native, tiny


class Wrong:
    """A base model that is the one given but for its verify pass or its logits."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


class IgnoresPositions(Wrong):
    def verify(self, tree: CandidateTree) -> torch.Tensor:
        return self._model.verify(replace(tree, depth_BN=torch.arange(tree.nodes).expand(tree.rows, -1)))


class IgnoresTheMask(Wrong):
    def verify(self, tree: CandidateTree) -> torch.Tensor:
        causal_BNN = torch.ones(tree.rows, tree.nodes, tree.nodes, dtype=torch.bool).tril()
        return self._model.verify(replace(tree, ancestors_BNN=causal_BNN))


class ScalesLogits(Wrong):
    def lm_head(self, hidden: torch.Tensor) -> torch.Tensor:
        return self._model.lm_head(hidden) * 1.1


class GivesNaN(Wrong):
    def lm_head(self, hidden: torch.Tensor) -> torch.Tensor:
        return self._model.lm_head(hidden) * torch.nan


@pytest.mark.parametrize("wrong", [IgnoresPositions, IgnoresTheMask, ScalesLogits, GivesNaN])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_a_wrong_pass_is_refused(wrong: type[Wrong], dtype: torch.dtype) -> None:
    pretrained = build("llama", dtype=dtype)
    model = adapter(pretrained)
    with pytest.raises(
        UnsupportedModelError, match=r"LlamaForCausalLM gives other logits for a tree of tokens.*standard deviations"
    ):
        check_tree_passes(wrong(model), pretrained)
    assert model.cache.rows == 0  # the check leaves nothing behind


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_a_right_pass_is_accepted_in_every_format(dtype: torch.dtype) -> None:
    pretrained = build("llama", dtype=dtype)
    for model in (adapter(pretrained), native(pretrained)):
        check_tree_passes(model, pretrained)
        assert (model.cache.rows, model.cache.lengths) == (0, [])


def test_another_models_weights_are_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="gives other logits"):
        check_tree_passes(adapter(tiny("qwen2")), tiny("llama"))
