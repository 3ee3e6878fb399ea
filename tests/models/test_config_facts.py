"""What is read from configs. Models that are refused as a whole are in test_refusals.py."""

from types import SimpleNamespace
from typing import Any

import pytest
from transformers import CONFIG_MAPPING

from headstart.errors import UnsupportedModelError
from headstart.models.config_facts import context_length, eos_ids, layer_reaches, logit_scale
from headstart.models.masks import Reach


def config(model_type: str, **settings: Any) -> Any:
    return CONFIG_MAPPING[model_type](**settings)


class TestContextLength:
    @pytest.mark.parametrize(
        ("settings", "length"),
        [
            ({"max_position_embeddings": 512}, 512),
            ({"n_positions": 256}, 256),
            ({"max_seq_len": 128}, 128),
            ({"max_position_embeddings": None, "n_positions": 64}, 64),
            ({}, 1 << 20),  # nothing is said: as good as no limit
        ],
    )
    def test_by_the_names_that_configs_use(self, settings: dict[str, Any], length: int) -> None:
        assert context_length(SimpleNamespace(**settings), None) == length

    def test_max_context_lowers_it_and_never_raises_it(self) -> None:
        assert context_length(SimpleNamespace(max_position_embeddings=512), 100) == 100
        assert context_length(SimpleNamespace(max_position_embeddings=512), 1000) == 512

    @pytest.mark.parametrize("kind", ["default", "linear", "llama3", "yarn"])
    def test_fixed_scalings_keep_the_stretched_length(self, kind: str) -> None:
        parameters = {"rope_type": kind, "factor": 4.0, "original_max_position_embeddings": 128}
        assert context_length(SimpleNamespace(max_position_embeddings=512, rope_parameters=parameters), None) == 512

    def test_dynamic_scaling_is_held_to_its_original_length(self) -> None:
        """Beyond 512 its frequencies follow the longest text of the pass, so a neighbour would change a row."""
        parameters = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4}
        dynamic = config("llama", max_position_embeddings=512, rope_parameters=parameters)
        assert context_length(dynamic, None) == 512
        assert context_length(dynamic, 300) == 300
        with pytest.raises(UnsupportedModelError, match="max_context=513: beyond 512 positions this model's dynamic rotary"):
            context_length(dynamic, 513)

    def test_longrope_is_held_to_its_original_length(self) -> None:
        """Phi-3 long: 128 positions of its own, stretched to 512."""
        factors = [1.0] * 4
        long = config(
            "phi3",
            hidden_size=32,
            num_attention_heads=4,
            max_position_embeddings=512,
            original_max_position_embeddings=128,
            rope_parameters={"rope_type": "longrope", "short_factor": factors, "long_factor": factors, "rope_theta": 1e4},
        )
        assert context_length(long, None) == 128
        with pytest.raises(UnsupportedModelError, match="Use max_context=128 or less"):
            context_length(long, 200)

    def test_scalings_by_kind_of_layer_are_all_looked_at(self) -> None:
        parameters = {
            "sliding_attention": {"rope_type": "default"},
            "full_attention": {"rope_type": "longrope", "original_max_position_embeddings": 96},
        }
        assert context_length(SimpleNamespace(max_position_embeddings=512, rope_parameters=parameters), None) == 96


class TestLayerReaches:
    def test_all_layers_alike(self) -> None:
        assert layer_reaches(config("llama")) == {"full_attention": Reach()}
        assert layer_reaches(config("mistral", sliding_window=7)) == {"sliding_attention": Reach(window=7)}
        assert layer_reaches(config("mistral", sliding_window=None)) == {"full_attention": Reach()}

    def test_mixed_layers_need_a_mask_each(self) -> None:
        gemma = config("gemma2", num_hidden_layers=2, sliding_window=7, layer_types=["sliding_attention", "full_attention"])
        assert layer_reaches(gemma) == {"sliding_attention": Reach(window=7), "full_attention": Reach()}

    def test_a_window_that_no_layer_uses(self) -> None:
        """Qwen2 states a window and switches it off."""
        qwen = config("qwen2", num_hidden_layers=2, sliding_window=7, use_sliding_window=False)
        assert layer_reaches(qwen) == {"full_attention": Reach()}

    def test_chunked_layers(self) -> None:
        chunked = SimpleNamespace(layer_types=["chunked_attention", "full_attention", "chunked_attention"], attention_chunk_size=16)
        assert layer_reaches(chunked) == {"chunked_attention": Reach(chunk=16), "full_attention": Reach()}


class TestLogitScale:
    def test_none(self) -> None:
        assert logit_scale(config("llama")) == (1.0, None)

    def test_factor_divisor_and_soft_cap(self) -> None:
        assert logit_scale(config("cohere", logit_scale=0.5)) == (0.5, None)
        assert logit_scale(config("granite", logits_scaling=8.0)) == (0.125, None)
        assert logit_scale(config("gemma2", final_logit_softcapping=30.0)) == (1.0, 30.0)
        assert logit_scale(config("gemma2", final_logit_softcapping=None)) == (1.0, None)


class TestEosIds:
    @staticmethod
    def model(generation: Any, model: Any, text: Any = None) -> Any:
        def holder(value: Any) -> Any:
            return SimpleNamespace(eos_token_id=value)

        config = holder(model)
        config.get_text_config = lambda: holder(model if text is None else text)
        return SimpleNamespace(generation_config=holder(generation), config=config)

    @pytest.mark.parametrize(
        ("generation", "config", "text", "tokenizer", "ids"),
        [
            (2, 2, None, (), (2,)),
            ([7, 2], 2, None, (), (2, 7)),  # an instruct model's end of turn stands in the generation config only
            (None, [5, 6], None, (9,), (5, 6, 9)),
            (None, None, None, (), ()),
            (0, None, None, (), (0,)),  # 0 is an id
            (1, None, 4, (3,), (1, 3, 4)),
        ],
    )
    def test_all_places_together(self, generation: Any, config: Any, text: Any, tokenizer: Any, ids: tuple[int, ...]) -> None:
        assert eos_ids(self.model(generation, config, text), tokenizer) == ids

    def test_a_model_without_generation_config(self) -> None:
        bare = self.model(None, 3)
        bare.generation_config = None
        assert eos_ids(bare) == (3,)
