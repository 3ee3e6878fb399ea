"""The options and the model of a run that takes seconds: about 2,000 answer tokens and a few dozen steps."""

from transformers import LlamaForCausalLM

from headstart.models.transformers_adapter import TransformersModel
from headstart.train.options import TrainOptions

OPTIONS = TrainOptions(
    tokens=2000,
    max_new_tokens=24,
    max_rows=8,
    num_heads=3,
    draft_vocab_size=200,
    batch=128,
    lr=5e-3,
    epochs=3,
    patience=100,
    quiet=True,
)


def fresh(llama: LlamaForCausalLM, kind: type[TransformersModel] = TransformersModel) -> TransformersModel:
    return kind(llama, name="tiny", max_rows=8, cache_tokens=8 * 1024)
