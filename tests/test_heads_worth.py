"""What ``benchmarks/heads_worth.py`` says of heads for the model that writes the alphabet."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

from headstart.train.held_out import held_out
from headstart.train.shards import Answer, shard_path, write_shard
from tests.benchmark_module import benchmark_module
from tests.tiny_models import EOS, LETTERS, alphabet_heads, alphabet_model, letter_ids, native

PROMPTS = ["a", "k"]


@pytest.fixture(scope="module")
def heads_worth() -> Iterator[ModuleType]:
    with benchmark_module("heads_worth") as module:
        yield module


def here(*, late: int = 0) -> SimpleNamespace:
    """With heads that are always right, or whose guesses are ``late`` letters late."""
    model = native(alphabet_model())
    heads = alphabet_heads(model)
    with torch.no_grad():
        heads.heads.own_projection.copy_(heads.heads.own_projection.roll(-late, dims=1))
    return SimpleNamespace(model=model, heads=heads, prompts=[letter_ids(text) for text in PROMPTS], stop_ids=frozenset({EOS}))


def arguments(work: Path, **changed: object) -> argparse.Namespace:
    values = {"work": work / "work", "max_new_tokens": 10, "heads": "auto", "also": [], "shards": None, "positions": 400}
    return argparse.Namespace(**{**values, **changed})


def test_heads_beside_each_other(heads_worth: ModuleType, tmp_path: Path) -> None:
    here(late=1).heads.save_pretrained(tmp_path / "late")
    found = heads_worth.measured(here(), arguments(tmp_path, also=[f"late={tmp_path / 'late'}"]))
    assert (found["prompts"], found["prompt_positions"]) == (2, 18)  # an answer's last token has nothing to guess from
    right, wrong = found["heads"]["auto"]["prompts"], found["heads"]["late"]["prompts"]
    assert (right["top1"], wrong["top1"]) == ([1.0] * 3, [0.0] * 3)
    # nine tokens follow an answer's first: steps of 4, 4 and 1 where heads are right, and of one token where they are not
    assert (right["grown"], wrong["grown"]) == ({8: 3.0, 16: 3.0}, {8: 1.0, 16: 1.0})


def test_what_heads_learned_from_is_told_from_what_they_did_not(heads_worth: ModuleType, tmp_path: Path) -> None:
    """Answers of the conversations that training would hold out are letters in an order that the heads do not know."""
    (tmp_path / "shards").mkdir()
    count = 20
    aside = held_out(range(count))
    model = here().model
    groups = []
    for number in range(count):
        letters = LETTERS[0:12:2] if number in aside else LETTERS[:6]
        ids = letter_ids(letters)
        states = model.embed(torch.tensor([letter_ids("a")[0] - 1, *ids])[1:-1] - 1)
        groups.append([Answer(letter_ids("z"), ids, states, True, "test")])
    write_shard(shard_path(tmp_path / "shards", 0), 0, groups, {"model": model.facts.name})
    found = heads_worth.measured(here(), arguments(tmp_path, shards=tmp_path / "shards"))
    assert found["trained_on_positions"] == 5 * (count - len(aside))
    assert found["held_out_positions"] == 5 * len(aside)
    assert found["heads"]["auto"]["trained_on_top1"] == [1.0] * 3
    assert found["heads"]["auto"]["held_out_top1"] == [0.0] * 3


@pytest.mark.parametrize("also", ["nothing", "auto=DIR", "=DIR"])
def test_other_heads_need_a_name_of_their_own(heads_worth: ModuleType, tmp_path: Path, also: str) -> None:
    with pytest.raises(SystemExit, match=r"expected NAME=DIR, with a name of its own"):
        heads_worth.measured(here(), arguments(tmp_path, also=[also]))
