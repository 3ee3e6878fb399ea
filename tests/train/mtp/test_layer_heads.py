"""A model cut into its trunk and its first head, and further heads beside that one."""

import pytest
import torch

from headstart.errors import TrainingError, UnsupportedModelError
from headstart.train.mtp.headed_model import headed, matrix_parameters
from headstart.train.mtp.layer_heads import LayerHeads
from tests.tiny_models import build, generated


def test_trunk_and_first_head_are_the_model() -> None:
    model, ids_BT = build("llama"), torch.tensor([[5, 44, 3, 17]])
    heads = LayerHeads(model, 2)
    trunk = heads.trunk(ids_BT)
    assert torch.allclose(heads.unembed(trunk.first_BTD), model(ids_BT).logits, atol=1e-12)
    assert torch.equal(trunk.output_BTD, trunk.leaf_BTD)
    assert trunk.leaf_BTD.is_leaf
    assert torch.equal(trunk.output_BTD, model(ids_BT, output_hidden_states=True).hidden_states[-2])
    # nothing is left on the model that would change it
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_gradients_stop_at_the_cut() -> None:
    model = build("llama").requires_grad_(True)
    trunk = LayerHeads(model, 1).trunk(torch.tensor([[5, 44, 3, 17]]))
    trunk.first_BTD.sum().backward()
    assert model.model.layers[-1].mlp.down_proj.weight.grad is not None
    assert model.model.layers[0].mlp.down_proj.weight.grad is None
    trunk.output_BTD.backward(trunk.leaf_BTD.grad)
    assert model.model.layers[0].mlp.down_proj.weight.grad is not None


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2"])
def test_a_head_begins_as_a_copy_of_the_last_layer(family: str) -> None:
    """The Llama family, with and without biases; whatever the first head says, a fresh one says as well."""
    model = build(family, sliding_window=None) if family == "mistral" else build(family)
    heads = LayerHeads(model, 1)
    trunk = heads.trunk(torch.tensor([[5, 44, 3, 17, 9]]))
    # float32 inside the norms of transformers
    assert torch.allclose(heads.layers[0](trunk.leaf_BTD), trunk.first_BTD, atol=1e-5)


def test_models_that_cannot_be_cut() -> None:
    with pytest.raises(UnsupportedModelError, match="GPT2LMHeadModel is not a model whose last layer"):
        LayerHeads(build("gpt2"), 1)
    with pytest.raises(TrainingError, match="the last layer is a Phi3DecoderLayer, which is not of the Llama kind"):
        LayerHeads(build("phi3"), 1)
    # the names are a Llama's, the norms add one to their weights
    with pytest.raises(UnsupportedModelError, match=r"the last layer of Gemma2?ForCausalLM is not computed as in a Llama"):
        LayerHeads(build("gemma2"), 1)
    with pytest.raises(UnsupportedModelError, match="Starcoder2ForCausalLM has no RMS norms"):
        LayerHeads(build("starcoder2"), 1)


def test_training_leaves_generation_alone() -> None:
    model = build("llama")
    before = generated(model, [5, 9], 8)
    heads = LayerHeads(model, 1)
    heads.trunk(torch.tensor([[5, 44, 3, 17]]))
    assert generated(model, [5, 9], 8) == before


def test_matrices_are_counted() -> None:
    # two layers of 32 x (4 + 2 * 2) * 8 + 32 * 32 + 3 * 32 * 48 and an LM head of 64 x 32, of which a further head has its share
    layer = 2048 + 1024 + 4608
    assert matrix_parameters(headed(build("llama"), 1, "layer")) == (2 * layer + 2048, layer + 2048)
    assert matrix_parameters(headed(build("llama"), 1, "residual")) == (2 * layer + 2048, 32 * 32 + 2048)
