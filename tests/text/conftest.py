"""Tiny tokenizers of each kind, made here, so that no test needs a download."""

import pytest
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend
from transformers import AutoTokenizer, ByT5Tokenizer, PreTrainedTokenizerFast

from headstart.models.bundled import bundled_path
from headstart.text.tokenizer import Tokenizer

CORPUS = [
    "The quick brown fox jumps over the lazy dog, twice.",
    "Ça coûte 3,50 € à Zürich — déjà vu?",
    "日本語のテキスト。東京は大きい。",
    "👍👍🏽 👩‍👩‍👧 🎉🎉 emoji",
]


def byte_level() -> PreTrainedTokenizerFast:
    """GPT-2's kind. Merges are few, so that CJK and emoji are split over tokens."""
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=340, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False)
    backend.train_from_iterator(CORPUS, trainer)
    backend.add_tokens([AddedToken("<tool>", special=False), AddedToken("  ", special=False)])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>")


def sentencepiece_like() -> PreTrainedTokenizerFast:
    """Llama's kind: a space is part of the next word, the first one is stripped, rare characters are byte tokens."""
    words = ["\u2581", *"abcdefghijklmnopqrstuvwxyz.,", "\u2581the", "\u2581fox", "\u2581\u2581", "\ufffd", "é"]
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *words]
    backend = Backend(
        models.BPE({piece: i for i, piece in enumerate(pieces)}, [], byte_fallback=True, unk_token="<unk>", fuse_unk=True)
    )
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    backend.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


def wordpiece() -> PreTrainedTokenizerFast:
    """BERT's kind: spaces come from the decoder, none before punctuation."""
    pieces = ["[UNK]", "[SEP]", "the", "fox", "##es", "jump", "##ed", ".", ",", "!", "n't", "it"]
    backend = Backend(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s+"), "removed")
    backend.decoder = decoders.WordPiece(cleanup=True)
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", eos_token="[SEP]")


KINDS = {"byte-level": byte_level, "sentencepiece-like": sentencepiece_like, "wordpiece": wordpiece, "slow": ByT5Tokenizer}


@pytest.fixture(scope="session", params=KINDS)
def any_tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return Tokenizer(KINDS[request.param]())


@pytest.fixture(scope="session")
def byte_level_tokenizer() -> Tokenizer:
    return Tokenizer(byte_level())


@pytest.fixture(scope="session")
def sentencepiece_tokenizer() -> Tokenizer:
    return Tokenizer(sentencepiece_like())


@pytest.fixture(scope="session")
def bundled_tokenizer() -> Tokenizer:
    return Tokenizer(AutoTokenizer.from_pretrained(bundled_path()))


@pytest.fixture
def fresh_byte_level() -> PreTrainedTokenizerFast:
    """One that a test may change."""
    return byte_level()
