"""What was tuned, as it lies in tree.json."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.tree_file import TreeFile
from headstart.drafters.tuned import KEY, Tuned, heads_mark
from headstart.errors import HeadsError
from headstart.models.conditions import Conditions
from headstart.trees.shape import TreeShape
from headstart.trees.step_table import StepTable

SECONDS = ((10.0, 10.0, 12.0), (20.0, 28.0, 40.0))
CONDITIONS = Conditions(
    model="m",
    implementation="native",
    dtype="float32",
    weights="",
    bitwise=True,
    device="cpu",
    processor="p",
    threads=2,
    torch="2.13",
)
TUNED = Tuned(
    heads="0123abcd",
    conditions=CONDITIONS,
    tables={
        "medusa": StepTable((1, 4, 8), (1.0, 1.5, 1.9), (1, 4), SECONDS),
        "medusa-static": StepTable((1, 4, 8), (1.0, 1.4, 1.6), (1, 4), SECONDS),
    },
    passes=[{"nodes": 1, "median": 9.0}],
    observed={"positions": 500},
    verified=[{"rows": 1}],
)


def heads(seed: int = 0) -> MedusaHeads:
    torch.manual_seed(seed)
    made = MedusaHeads(HeadsConfig(hidden_size=16, vocab_size=20, num_heads=2, condition_on_root=False))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return made


def test_chosen() -> None:
    # one text: 1.9 * 10 / 12 = 1.58 is the most; four: 1.5 * 20 / 28 = 1.07
    assert TUNED.chosen("medusa") == {1: 8, 4: 4}
    # static: 1.6 / 1.2 = 1.33 against 1.4; four: 1.4 * 20 / 28 = 1, which pays nothing
    assert TUNED.chosen("medusa-static") == {1: 4, 4: 1}


def test_round_trip_through_a_heads_directory(tmp_path: Path) -> None:
    tree = TreeShape([[0], [0, 0], [1]])
    HeadsDirectory(heads(), tree, predicted={"loss": 1.5, KEY: TUNED.to_dict()}).save_pretrained(tmp_path / "heads")
    again = HeadsDirectory.from_pretrained(tmp_path / "heads").tree_file
    assert again.tuned == TUNED
    assert again.predicted["loss"] == 1.5


def test_a_file_that_was_never_tuned() -> None:
    old = '{"format": 1, "paths": [[0], [0, 0]], "nodes": 3, "counts": null, "predicted": {"head 1 top-1": 0.5}}'
    assert TreeFile.from_json(old, "tree.json").tuned is None


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"format": 2}, "another version"),
        ({"more": 1}, "another version"),
        ({"nodes": [1, 8, 4]}, "ascending"),
        ({"tokens": {}}, "malformed"),
        ({"tokens": [1]}, "malformed"),
        ({"tokens": {"medusa": [1.0]}}, "for each tree size"),
        ({"seconds": [[1.0, 1.0, -1.0], [1.0, 1.0, 1.0]]}, "above 0"),
        ({"rows": None}, "malformed"),
        ({"conditions": 3}, "malformed"),
        ({"conditions": {"threads": 2}}, "measuring conditions have the keys"),
        ({"conditions": {**CONDITIONS.to_dict(), "threads": "2"}}, "threads is '2', which is of the wrong type"),
    ],
)
def test_what_was_damaged(damage: dict[str, Any], message: str) -> None:
    data = json.loads(json.dumps({**TUNED.to_dict(), **damage}))
    with pytest.raises(HeadsError, match=message):
        TreeFile(tree=TreeShape([[0]]), nodes=2, predicted={KEY: data}).tuned  # noqa: B018
    with pytest.raises(HeadsError, match="run `headstart tune` again"):
        Tuned.from_dict(data)


def test_the_mark_tells_heads_apart_and_not_precisions() -> None:
    stored = heads().to(torch.bfloat16)
    assert heads_mark(heads()) == heads_mark(stored) == heads_mark(heads().to(torch.bfloat16).to(torch.float64))
    assert heads_mark(heads(1)) != heads_mark(heads())


def test_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = TreeFile(tree=TreeShape([[0]]), nodes=2)
    file.write(tmp_path / "tree.json")
    assert [path.name for path in tmp_path.iterdir()] == ["tree.json"]
    assert TreeFile.from_json((tmp_path / "tree.json").read_text(), "tree.json") == file
    with pytest.raises(HeadsError, match=r"cannot write .*untouched"):
        file.write(tmp_path / "missing" / "tree.json")
