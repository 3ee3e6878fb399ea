"""What is made for a model once, and what becomes of the model."""

import copy
import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    PreTrainedModel,
)

from headstart.errors import HeadstartError
from headstart.interop.custom_generate import CustomGenerate, custom_generate
from tests.interop.calls import PROMPTS, batch, both, letters, ours_alone
from tests.tiny_models import alphabet_model, build, letter_ids


class TestKept:
    def test_made_once(self, right_heads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        made = []
        real = CustomGenerate._load

        def counted(self: CustomGenerate, model: PreTrainedModel) -> Any:
            made.append(self)
            return real(self, model)

        monkeypatch.setattr(CustomGenerate, "_load", counted)
        model = alphabet_model()
        for drafter in ("medusa", "none", "ngram"):
            ours_alone(model, custom_generate(drafter, heads=right_heads), letters("a", "b"))
        assert len(made) == 1
        ours_alone(model, custom_generate(heads=None), letters("a"))
        assert len(made) == 2
        ours_alone(model.to(torch.float32), custom_generate(heads=right_heads), letters("a"))
        assert len(made) == 3  # what was made for float64 is of no use
        ours_alone(copy.deepcopy(model), custom_generate(heads=right_heads), letters("a"))
        assert len(made) == 4  # a copy has weights of its own

    def test_it_goes_with_the_model(self) -> None:
        model = build("llama")
        gone = weakref.ref(model)
        ours_alone(model, custom_generate(heads=None), batch(PROMPTS))
        del model
        gc.collect()
        assert gone() is None

    def test_weights_that_change_are_seen(self) -> None:
        """Training between two calls: the second one writes what the changed model writes."""
        model = build("llama")
        fast = custom_generate(heads=None)
        before, _ = both(model, fast, batch(PROMPTS))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.1)
        plain, ours = both(model, fast, batch(PROMPTS))
        assert ours.tolist() == plain.tolist() != before.tolist()

    def test_the_model_is_left_as_it_was(self) -> None:
        model = build("llama").train()
        model.model.layers[0].eval()
        modes = [module.training for module in model.modules()]
        weights = {name: value.clone() for name, value in model.state_dict().items()}
        config, generation = model.config.to_dict(), model.generation_config.to_dict()
        attention = model.config._attn_implementation
        ours_alone(model, custom_generate(heads=None), batch(PROMPTS))
        assert [module.training for module in model.modules()] == modes
        assert (model.config.to_dict(), model.generation_config.to_dict()) == (config, generation)
        assert model.config._attn_implementation == attention
        assert model.state_dict().keys() == weights.keys()
        assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())

    def test_generating_while_generating(self, alphabet: PreTrainedModel) -> None:
        fast = custom_generate(heads=None)

        class Again:
            def put(self, value: torch.Tensor) -> None:
                if value.dim() == 1:  # a token, no prompt
                    ours_alone(alphabet, fast, letters("b"))

            def end(self) -> None: ...

        with pytest.raises(HeadstartError, match="asks it to generate again"):
            ours_alone(alphabet, fast, letters("a"), streamer=Again())
        assert ours_alone(alphabet, fast, letters("a"), max_new_tokens=2).tolist() == [letter_ids("abc")]
