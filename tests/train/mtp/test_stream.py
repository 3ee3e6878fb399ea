"""From texts to batches."""

from collections.abc import Callable

import pytest
import torch

from headstart.errors import DataError
from headstart.text.tokenizer import Tokenizer
from headstart.train.mtp.byte_pairs import END, learn_tokenizer
from headstart.train.mtp.stream import Crops, held_out, stream_of, texts_in_order


def test_a_learned_tokenizer_writes_any_text() -> None:
    learned = learn_tokenizer(["def f(x):\n    return x\n"] * 20, 600)
    tokenizer = Tokenizer(learned)
    assert tokenizer.decode(tokenizer.encode("return Ünïcode 漢字\n")) == "return Ünïcode 漢字\n"
    assert learned.eos_token_id == 0
    assert len(tokenizer.encode(" return x")) == 2  # " return" and " x" came often enough to be tokens
    assert learn_tokenizer(["def f(x):\n    return x\n"] * 20, 600).get_vocab() == learned.get_vocab()
    assert END in learned.get_vocab()


def test_texts_become_one_stream(tokenizer_of: Callable[[str], Tokenizer]) -> None:
    tokenizer = tokenizer_of("chatml")
    one, two = tokenizer.encode("ab"), tokenizer.encode("c")
    assert stream_of(["ab", "c"], tokenizer, 7).tolist() == [*one, 7, *two, 7]
    assert stream_of(["ab", "c"], tokenizer, 7, most=4).tolist() == [*one, 7, *two]


def test_each_twentieth_text_is_held_out() -> None:
    texts = [str(i) for i in range(45)]
    train, kept = held_out(texts)
    assert kept == ["19", "39"]
    assert train == [text for text in texts if text not in kept]
    assert held_out(["a", "b"]) == (["a"], ["b"])
    with pytest.raises(DataError, match="too short"):
        held_out(["a"])


def test_crops_depend_on_seed_and_step_alone() -> None:
    stream = torch.arange(100, dtype=torch.int32)
    crops = Crops(stream, length=8, ahead=2, batch=3, seed=5)
    third = crops[3]
    assert third.shape == (3, 10)
    assert (third[:, 1:] - third[:, :-1] == 1).all()  # neighbours of the stream
    assert torch.equal(Crops(stream, length=8, ahead=2, batch=3, seed=5)[3], third)
    assert not torch.equal(crops[4], third)
    assert not torch.equal(Crops(stream, length=8, ahead=2, batch=3, seed=6)[3], third)
    assert torch.equal(Crops(stream, length=8, ahead=1, batch=3, seed=5)[3], third[:, :-1])  # a twin reads the same pieces
    assert crops[3].shape == Crops(stream, length=8, ahead=2, batch=3, seed=20260101123000)[10**9].shape
    firsts = torch.cat([crops[step][:, 0] for step in range(200)])
    assert (firsts.min(), firsts.max()) == (0, 76)  # of 600 draws the chance to miss one of 77 places is 0.0004
    with pytest.raises(DataError, match="5 tokens of text are too few"):
        Crops(stream[:5], length=8, ahead=2, batch=1, seed=0)


def test_texts_in_order() -> None:
    batches = list(texts_in_order(torch.arange(12, dtype=torch.int32), 3, 2, 2))
    assert [batch.tolist() for batch in batches] == [[[0, 1, 2, 3, 4], [3, 4, 5, 6, 7]], [[6, 7, 8, 9, 10]]]
