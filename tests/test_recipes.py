"""What ``benchmarks/recipes.py`` takes from its work folder: nothing that was made with other arguments than it reports."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

from headstart.errors import TrainingError
from headstart.models.protocol import BaseModel
from headstart.train.options import TrainOptions
from headstart.train.plan import Plan
from headstart.train.shards import Answer, read_shard, shard_path, write_shard
from tests.benchmark_module import benchmark_module
from tests.tiny_models import adapter, tiny


@pytest.fixture(scope="module")
def recipes() -> Iterator[ModuleType]:
    with benchmark_module("recipes") as module:
        yield module


@pytest.fixture(scope="module")
def model() -> BaseModel:
    return adapter(tiny("llama"))


def arguments(work: Path, **changed: object) -> argparse.Namespace:
    values = {
        "model": "bundled",
        "dtype": "float64",
        "shards": work / "shards",
        "prompts": None,
        "limit": 60,
        "max_new_tokens": 4,
        "seed": 0,
        "epochs": 4.0,
        "table_tokens": 6,
        "kinds_tokens": 6,
        "own_positions": 100,
        "only": ["curve"],
        "work": work / "work",
    }
    return argparse.Namespace(**{**values, **changed})


def recorded(work: Path, shards: int) -> None:
    (work / "shards").mkdir(exist_ok=True)
    for number in range(shards):
        answer = Answer([3, 4], [5, 6, 7], torch.zeros(2, 32), True, "test")
        write_shard(shard_path(work / "shards", number), number, [[answer]], {})


def here(model: BaseModel, prompts: list[list[int]]) -> SimpleNamespace:
    return SimpleNamespace(model=model, prompts=prompts, stop_ids=frozenset())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"limit": 10}, r"--limit 60, not 10"),
        ({"max_new_tokens": 8}, r"--max-new-tokens 4, not 8"),
        ({"model": "other", "epochs": 2.0}, r"--model bundled, not other; --epochs 4\.0, not 2\.0"),
        ({"prompts": Path("/p.jsonl")}, r"--prompts None, not /p\.jsonl"),
        ({"shards": Path("/elsewhere")}, r"--shards .*/shards, not /elsewhere"),
        ({"dtype": "float32"}, r"--dtype float64, not float32"),
    ],
)
def test_a_work_folder_knows_its_arguments(recipes: ModuleType, tmp_path: Path, change: dict[str, object], message: str) -> None:
    recipes.same_arguments(arguments(tmp_path))
    recipes.same_arguments(arguments(tmp_path, only=["table"], table_tokens=9))  # heads know what they learned from
    with pytest.raises(SystemExit, match=rf"was made with {message}; give the same, or another --work"):
        recipes.same_arguments(arguments(tmp_path, **change))


def test_a_folder_of_before_arguments_were_kept(recipes: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "work" / "prompts").mkdir(parents=True)
    with pytest.raises(SystemExit, match=r"arguments\.json is missing, so that nothing tells what .*work was made with"):
        recipes.same_arguments(arguments(tmp_path))


def test_a_single_shard_leaves_nothing_to_learn_from(recipes: ModuleType, model: BaseModel, tmp_path: Path) -> None:
    recorded(tmp_path, 1)
    with pytest.raises(SystemExit, match=r"one shard in .*shards, and heads are judged by the last one"):
        recipes.measured(here(model, [[3, 4]]), arguments(tmp_path))
    assert not (tmp_path / "work").exists()  # so that it can be tried again with others


def test_answers_to_other_prompts_are_not_taken_for_these(recipes: ModuleType, model: BaseModel, tmp_path: Path) -> None:
    made = recipes.answers_to(here(model, [[3, 4], [5, 6, 7]]), tmp_path, 4)
    assert made.answer_lengths == [4, 4]
    again = recipes.answers_to(here(model, [[3, 4], [5, 6, 7]]), tmp_path, 4)
    assert torch.equal(again.tokens, read_shard(shard_path(tmp_path, 0)).tokens)
    with pytest.raises(SystemExit, match=r"answers other prompts; give the same --prompts, --limit and --seed"):
        recipes.answers_to(here(model, [[3, 4]]), tmp_path, 4)
    with pytest.raises(SystemExit, match=r"were made with max_new_tokens 4, not 5; give another --work"):
        recipes.answers_to(here(model, [[3, 4], [5, 6, 7]]), tmp_path, 5)


def test_heads_of_other_data_or_epochs_are_not_taken_for_these(recipes: ModuleType, model: BaseModel, tmp_path: Path) -> None:
    """Finished heads of a table over 9 tokens where one over 6 is asked for."""
    recorded(tmp_path, 3)
    recipes.same_arguments(arguments(tmp_path))
    trained = tmp_path / "work" / "table-default" / "run"
    trained.mkdir(parents=True)
    (trained.parent / "minutes.json").write_text("{}")
    other = TrainOptions(shards=tmp_path / "data-9-1", epochs=4.0, patience=100)
    Plan(model.facts.name, other.identity, 2, 9, None, 4.0).save(trained / "run.json")
    with pytest.raises(TrainingError, match=r"was started with shards='.*data-9-1', not '.*data-6-1'"):
        recipes.measured(here(model, [[3, 4]]), arguments(tmp_path, only=["table"]))
