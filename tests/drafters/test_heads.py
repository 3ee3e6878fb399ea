"""What a set of heads computes."""

import pytest
import torch
import torch.nn.functional as F

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.errors import HeadsError

# B positions, K heads, D hidden, V vocabulary
B, K, D, V = 5, 3, 8, 20


def random_heads(**options: object) -> MedusaHeads:
    """Every parameter random, so that no term of the sum is zero."""
    torch.manual_seed(0)
    config = HeadsConfig(hidden_size=D, vocab_size=V, num_heads=K, **options)  # type: ignore[arg-type]
    ids = None if config.draft_vocab_size is None else torch.arange(0, V, 2)[: config.draft_vocab_size]
    heads = MedusaHeads(config, ids)
    for parameter in heads.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return heads.double()


def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.randn(B, D).double(), torch.randn(B, D).double(), torch.randn(V, D).double()


@pytest.mark.parametrize("condition_on_root", [True, False])
def test_untrained_residual_heads_say_what_the_lm_head_says(condition_on_root: bool) -> None:
    """Zero blocks add SiLU(0) = 0 and a zero condition_out adds nothing, so each state is the hidden state itself."""
    heads = MedusaHeads(HeadsConfig(hidden_size=D, vocab_size=V, num_heads=K, condition_on_root=condition_on_root)).double()
    hidden, root, lm_head = inputs()
    assert torch.equal(heads.states(hidden, root), hidden.expand(K, B, D))
    logits = heads(hidden, root, lambda x: F.linear(x, lm_head))
    torch.testing.assert_close(logits, F.linear(hidden, lm_head).expand(K, B, V), rtol=1e-12, atol=1e-12)


def test_own_projections_start_as_copies() -> None:
    heads = MedusaHeads(HeadsConfig(hidden_size=D, vocab_size=V, num_heads=K, projection="own", condition_on_root=False)).double()
    hidden, _, lm_head = inputs()
    heads.copy_lm_head(lm_head)
    torch.testing.assert_close(heads(hidden, None, None), F.linear(hidden, lm_head).expand(K, B, V), rtol=1e-12, atol=1e-12)


def test_low_rank_projections_add_to_the_lm_head() -> None:
    """(W + B A) x; W x at first, since B is zero."""
    hidden, _, lm_head = inputs()
    config = HeadsConfig(hidden_size=D, vocab_size=V, num_heads=K, projection="low-rank", condition_on_root=False)
    fresh = MedusaHeads(config).double()
    assert fresh.projection_out.shape == (K, V, 32)
    torch.testing.assert_close(fresh(hidden, None, lambda x: F.linear(x, lm_head)), F.linear(hidden, lm_head).expand(K, B, V))
    heads = random_heads(projection="low-rank", projection_rank=3, num_layers=0, condition_on_root=False)
    logits = heads(hidden, None, lambda x: F.linear(x, lm_head))
    some = torch.tensor([3, 4, 11])
    for k in range(K):
        whole = lm_head + heads.projection_out[k] @ heads.projection_in[k]
        torch.testing.assert_close(logits[k], F.linear(hidden, whole), rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(heads.matrix(k, lm_head), whole)
        torch.testing.assert_close(heads.matrices(lm_head[some], some)[k], whole[some])


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("block", ["residual", "mlp"])
def test_one_batched_product_equals_head_after_head(layers: int, block: str) -> None:
    """The paper's ResBlock, x + SiLU(W x + b), and the MLP's ReLU(W x + b), written out for each head by itself."""
    heads = random_heads(num_layers=layers, block=block, condition_on_root=False)
    hidden, _, lm_head = inputs()
    logits = heads(hidden, None, lambda x: F.linear(x, lm_head))
    for k in range(K):
        x = hidden
        for weight, bias in zip(heads.block_weight[:, k], heads.block_bias[:, k], strict=True):
            z = F.linear(x, weight, bias)
            x = x + F.silu(z) if block == "residual" else F.relu(z)
        torch.testing.assert_close(logits[k], F.linear(x, lm_head), rtol=1e-10, atol=1e-10)


def test_conditioning_on_the_root() -> None:
    """x + C_out SiLU(C_in [norm(hidden); norm(root)] + b), each head with its own slice of C_in."""
    heads = random_heads(num_layers=0, condition_size=6)
    hidden, root, _ = inputs()
    joined = torch.cat([F.rms_norm(hidden, (D,)), F.rms_norm(root, (D,))], -1)
    states = heads.states(hidden, root)
    for k in range(K):
        inner = F.silu(F.linear(joined, heads.condition_in[6 * k : 6 * k + 6], heads.condition_bias[6 * k : 6 * k + 6]))
        torch.testing.assert_close(states[k], hidden + F.linear(inner, heads.condition_out[k]), rtol=1e-10, atol=1e-10)


def test_parameter_count() -> None:
    """A block is D*D + D a head; conditioning with F = 2*D is F*2*D + F + D*F a head; shared projections add nothing."""
    heads = MedusaHeads(HeadsConfig(hidden_size=D, vocab_size=V, num_heads=K))
    assert heads.num_parameters == K * (D * D + D) + K * (2 * D * 2 * D + 2 * D + D * 2 * D)


def test_draft_vocabulary_and_its_size_come_together() -> None:
    config = HeadsConfig(hidden_size=D, vocab_size=V, draft_vocab_size=4)
    with pytest.raises(HeadsError, match="together"):
        MedusaHeads(config)
    with pytest.raises(HeadsError, match="3 draft ids, but draft_vocab_size is 4"):
        MedusaHeads(config, torch.arange(3))


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"num_heads": 0}, "num_heads is 0"),
        ({"num_layers": -1}, "num_layers is -1"),
        ({"block": "conv"}, "block is 'conv'"),
        ({"projection": "both"}, "projection is 'both'"),
        ({"draft_vocab_size": V + 1}, "expected 1 to 20"),
    ],
)
def test_config_errors(wrong: dict[str, object], complaint: str) -> None:
    with pytest.raises(HeadsError, match=complaint):
        HeadsConfig(**{"hidden_size": D, "vocab_size": V, **wrong})  # type: ignore[arg-type]
