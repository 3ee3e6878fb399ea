"""What evaluation looks at are the guesses that drafting makes."""

import pytest
import torch

from headstart.drafters.guesses import HeadGuesses
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.train import loop
from headstart.train.batches import Examples
from headstart.train.evaluation import guesses
from headstart.train.loop import Trainer
from headstart.train.plan import Plan
from headstart.train.simulation import WIDTH
from tests.tiny_models import VOCAB, adapter, build, noise_heads
from tests.train.test_batches import shard


@pytest.mark.parametrize(("kept", "expected"), [("bfloat16", torch.bfloat16), ("float32", torch.float32), ("", torch.float64)])
def test_a_resumed_run_computes_in_the_format_that_it_began_in(
    kept: str, expected: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moved to another processor, or after it was chosen by another rule."""
    monkeypatch.setattr(loop, "training_dtype", lambda device: torch.float64)
    model = adapter(build("llama", dtype=torch.float32))
    plan = Plan("", {}, 1, 1, 1, 1.0, compute=kept)
    examples = Examples([shard(3, [9, 7], [0, 1])], {0, 1})
    trainer = Trainer(
        model, noise_heads(model), examples, by_frequency_V=torch.arange(VOCAB), plan=plan, batch=4, peak_rate=1e-3, seed=0
    )
    assert trainer.compute_dtype == expected


@pytest.mark.parametrize(
    ("family", "projection"),
    [("llama", "shared"), ("llama", "own"), ("llama", "low-rank"), ("gemma2", "shared"), ("gemma2", "own")],
)
def test_guesses_are_those_of_drafting(family: str, projection: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their probabilities too, which trees are calibrated by: the LM head of gemma2 caps its logits at 9, own projections do not.

    The states are large and the matrix is small, since it is read through the cap, which leaves small numbers as they are.
    """
    monkeypatch.setattr(loop, "training_dtype", lambda device: torch.float32)
    pretrained = build(family, dtype=torch.float32)
    pretrained.lm_head.weight.data *= 0.02
    model = adapter(pretrained)
    torch.manual_seed(0)
    recorded = shard(3, [9, 7], [0, 1])
    hidden_ED = torch.randn(14, model.facts.hidden_size) * 100
    examples = Examples([type(recorded)(**{**vars(recorded), "hidden_SD": hidden_ED})], {0, 1})
    heads = noise_heads(model, projection=projection, condition_on_root=False)
    trainer = Trainer(
        model, heads, examples, by_frequency_V=torch.arange(VOCAB), plan=Plan("", {}, 1, 1, 1, 1.0), batch=4, peak_rate=1e-3, seed=0
    )
    seen = guesses(trainer, examples)
    rows = [RowSampling(params=SamplingParams(), seed=0, prompt_length=1, generated=[5])] * 14
    _, log_q_KER = HeadGuesses(heads, model).best(hidden_ED, torch.full((14,), 5), rows, WIDTH, probabilities=True)
    assert log_q_KER is not None
    assert torch.allclose(seen.log_q_EKR, log_q_KER.transpose(0, 1).clamp(max=0), atol=0.01)
