"""What cannot be done is refused by name."""

from typing import Any

import pytest
import torch

from headstart.errors import InvalidParameterError, PromptError
from headstart.interop.custom_generate import custom_generate
from tests.interop.calls import PROMPTS, batch, ours_alone
from tests.tiny_models import tiny


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"num_beams": 3}, "num_beams=3 is not for custom_generate"),
            ({"penalty_alpha": 0.6, "top_k": 4}, "penalty_alpha=0.6 is not for custom_generate"),
            ({"prompt_lookup_num_tokens": 3}, r"prompt_lookup_num_tokens=3 .* custom_generate\(drafter='ngram'\)"),
            ({"guidance_scale": 2.0}, "guidance_scale=2.0 is not for custom_generate"),
            ({"output_attentions": True, "return_dict_in_generate": True}, "output_attentions=True"),
            ({"output_hidden_states": True, "return_dict_in_generate": True}, "output_hidden_states=True"),
            ({"cache_implementation": "static"}, "cache_implementation='static'"),
            ({"position_ids": torch.tensor([[4, 5, 6]])}, "position_ids of row 0 do not count"),
            ({"attention_mask": torch.tensor([[1, 1, 0]])}, "row 0 of attention_mask has zeros after its first one"),
            ({"attention_mask": torch.tensor([[0, 0, 0]])}, "row 0 of attention_mask is all zeros"),
            ({"synced_gpus": True}, "synced_gpus=True is not for custom_generate"),
        ],
    )
    def test_by_name(self, options: dict[str, Any], message: str) -> None:
        ids = {"input_ids": torch.tensor([[5, 6, 7]])}
        with pytest.raises((InvalidParameterError, PromptError), match=message):
            ours_alone(tiny("llama"), custom_generate(heads=None), ids, **options)

    def test_an_assistant(self) -> None:
        with pytest.raises(InvalidParameterError, match=r"assistant_model is not for custom_generate: .* draft_model="):
            ours_alone(tiny("llama"), custom_generate(heads=None), batch(PROMPTS[:1]), assistant_model=tiny("llama"))

    def test_the_callers_cache(self) -> None:
        from transformers import DynamicCache

        with pytest.raises(InvalidParameterError, match="is not for custom_generate: Headstart keeps its own cache"):
            ours_alone(tiny("llama"), custom_generate(heads=None), batch(PROMPTS[:1]), past_key_values=DynamicCache())

    def test_embeddings(self) -> None:
        embeds = tiny("llama").get_input_embeddings()(torch.tensor([[5, 6, 7]]))
        with pytest.raises(InvalidParameterError, match="inputs_embeds is not for custom_generate"):
            ours_alone(tiny("llama"), custom_generate(heads=None), {"inputs_embeds": embeds})

    def test_unknown_arguments(self) -> None:
        with pytest.raises(ValueError, match="temprature"):
            ours_alone(tiny("llama"), custom_generate(heads=None), batch(PROMPTS), temprature=1.0)

    def test_mistakes_in_our_own(self) -> None:
        with pytest.raises(InvalidParameterError, match="acceptance 'lucky' is not known"):
            custom_generate(acceptance="lucky")
        with pytest.raises(InvalidParameterError, match="nodes is 0; expected at least 1"):
            custom_generate(nodes=0)
        with pytest.raises(InvalidParameterError, match=r"nodes is 2.5; expected a whole number"):
            custom_generate(nodes=2.5)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameterError, match="epsilon is 'small'; expected a number"):
            custom_generate(acceptance="typical", acceptance_options={"epsilon": "small"})  # type: ignore[dict-item]
        with pytest.raises(InvalidParameterError, match="draft_temperature is 'warm'; expected a number"):
            ours_alone(tiny("llama"), custom_generate(heads=None, draft_temperature="warm"), batch(PROMPTS))  # type: ignore[arg-type]
        with pytest.raises(InvalidParameterError, match="drafter 'medusa' is not available"):
            ours_alone(tiny("llama"), custom_generate("medusa", heads=None), batch(PROMPTS))
