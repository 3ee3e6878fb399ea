"""A heads directory comes back as it was saved, and says what is wrong when it is not whole or not of this model."""

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from headstart.drafters.base_check import base_sample
from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.errors import HeadsError
from headstart.trees.shape import TreeShape

D, V = 8, 50
PATHS = [[0], [0, 0], [1], [0, 1], [2]]
SAMPLE = (0.5, -1.25) * 16
COUNTS = {(0,): 60, (0, 0): 30, (1,): 20, (0, 1): 10, (2,): 5, (3,): 1}


def random_heads(**options: Any) -> MedusaHeads:
    """Random, and rounded to bfloat16 already, so that saving in bfloat16 changes nothing."""
    torch.manual_seed(0)
    config = HeadsConfig(**{"hidden_size": D, "vocab_size": V, "num_heads": 2, "base_model": "org/base", **options})
    draft_ids = None if config.draft_vocab_size is None else torch.arange(config.draft_vocab_size) * 3
    heads = MedusaHeads(config, draft_ids)
    for parameter in heads.parameters():
        torch.nn.init.normal_(parameter)
        parameter.data = parameter.data.bfloat16().float()
    return heads


def saved(directory: Path, **options: Any) -> Path:
    HeadsDirectory(random_heads(draft_vocab_size=10), TreeShape(PATHS), **options).save_pretrained(directory)
    return directory


def base_model(weight_VD: torch.Tensor, name: str = "org/base") -> Any:
    """As much of a base model as the check needs: its facts, and an LM head over chosen ids."""
    vocab_size, hidden_size = weight_VD.shape
    facts = SimpleNamespace(
        name=name, vocab_size=vocab_size, hidden_size=hidden_size, dtype=weight_VD.dtype, device=torch.device("cpu")
    )
    return SimpleNamespace(facts=facts, projection=lambda ids: lambda hidden: hidden @ weight_VD[ids].T)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"draft_vocab_size": 10},
        {"projection": "own", "condition_on_root": False},
        {"projection": "low-rank", "projection_rank": 3},
        {"num_layers": 2, "block": "mlp"},
        {"kind": "hydra", "num_heads": 3},
    ],
    ids=["default", "draft vocabulary", "own projection", "low-rank projection", "two layers", "hydra"],
)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_round_trip(options: dict[str, Any], dtype: torch.dtype, tmp_path: Path) -> None:
    heads = random_heads(**options)
    kept = HeadsDirectory(
        heads, TreeShape(PATHS), nodes=4, base_check=SAMPLE, counts=COUNTS, total=100,
        predicted={"tokens_per_step": {"4": 2.1}}, card="# Heads\n", dtype=dtype,
    )  # fmt: skip
    kept.save_pretrained(tmp_path / "heads")
    back = HeadsDirectory.from_pretrained(tmp_path / "heads")
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "README.md",
        "config.json",
        "heads",
        "heads.safetensors",
        "tree.json",
    ]
    assert (back.config, back.tree, back.nodes) == (heads.config, TreeShape(PATHS), 4)
    assert (back.counts, back.total, back.predicted) == (COUNTS, 100, {"tokens_per_step": {"4": 2.1}})
    assert (back.base_check, back.card) == (SAMPLE, "# Heads\n")
    assert back.heads.block_weight.dtype == dtype
    state, expected = back.heads.state_dict(), heads.state_dict()
    assert state.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(state[name].to(tensor.dtype), tensor), name


def test_defaults_name_the_base_model_and_use_the_whole_tree(tmp_path: Path) -> None:
    back = HeadsDirectory.from_pretrained(saved(tmp_path / "heads"))
    assert (back.nodes, back.counts, back.base_check) == (6, {}, None)  # five paths and the root
    assert "Medusa heads for org/base" in back.card


def test_heads_of_the_first_files_are_medusa_heads(tmp_path: Path) -> None:
    """They named their kind "drafter", or not at all."""
    path = saved(tmp_path / "heads") / "config.json"
    config = json.loads(path.read_text())
    assert config.pop("kind") == "medusa"
    for named in ({"drafter": "medusa"}, {}):
        path.write_text(json.dumps({**config, **named}))
        assert HeadsDirectory.from_pretrained(tmp_path / "heads").config.kind == "medusa"


def test_saving_over_a_directory_leaves_other_files_alone(tmp_path: Path) -> None:
    """Training keeps its own files beside the heads."""
    (tmp_path / "heads" / "run").mkdir(parents=True)
    (tmp_path / "heads" / "run" / "log.jsonl").write_text("{}\n")
    saved(tmp_path / "heads")
    saved(tmp_path / "heads", nodes=2)
    assert HeadsDirectory.from_pretrained(tmp_path / "heads").nodes == 2
    assert (tmp_path / "heads" / "run" / "log.jsonl").read_text() == "{}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["heads"]  # no temporary directory stays


def test_a_save_that_fails_leaves_the_old_heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "heads", nodes=3)

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)  # where a disk that fills up says so at the latest
    with pytest.raises(HeadsError, match=r"cannot write the heads to .*No space left on device.*untouched"):
        saved(tmp_path / "heads", nodes=2)
    assert HeadsDirectory.from_pretrained(tmp_path / "heads").nodes == 3
    assert [path.name for path in tmp_path.iterdir()] == ["heads"]


@pytest.mark.parametrize("name", ["config.json", "heads.safetensors", "tree.json"])
def test_a_missing_file(name: str, tmp_path: Path) -> None:
    (saved(tmp_path / "heads") / name).unlink()
    with pytest.raises(HeadsError, match=f"has no {name}"):
        HeadsDirectory.from_pretrained(tmp_path / "heads")


def test_a_missing_card_is_no_error(tmp_path: Path) -> None:
    (saved(tmp_path / "heads") / "README.md").unlink()
    assert HeadsDirectory.from_pretrained(tmp_path / "heads").card == ""


@pytest.mark.parametrize("name", ["no/such/directory", "nobody/nothing", "./missing"])
def test_no_directory(name: str) -> None:
    with pytest.raises(HeadsError, match="there is no heads directory"):
        HeadsDirectory.from_pretrained(name)


def _edit(state: dict[str, torch.Tensor], change: str) -> None:
    if change == "missing":
        del state["block_bias"]
    elif change == "extra":
        state["lm_head.weight"] = torch.zeros(2, 2)
    elif change == "misshapen":
        state["block_weight"] = torch.zeros(1, 3, D, D)
    elif change == "integer":
        state["block_bias"] = state["block_bias"].int()
    elif change == "no draft ids":
        del state["draft_ids"]
    elif change == "draft ids out of order":
        state["draft_ids"] = state["draft_ids"].flip(0)
    elif change == "draft ids too large":
        state["draft_ids"] = state["draft_ids"] + V


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("missing", "lacks tensor block_bias"),
        ("extra", "has the unexpected tensor lm_head.weight"),
        ("misshapen", r"tensor block_weight is float32 of shape \[1, 3, 8, 8\]; expected floating point of shape \[1, 2, 8, 8\]"),
        ("integer", "tensor block_bias is int32"),
        ("no draft ids", r"lacks tensor draft_ids \(draft_vocab_size is 10"),
        ("draft ids out of order", "ascending ids from 0 to 49"),
        ("draft ids too large", "ascending ids from 0 to 49"),
    ],
)
def test_tensors_that_do_not_belong(change: str, complaint: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "heads") / "heads.safetensors"
    state = load_file(path)
    _edit(state, change)
    save_file(state, path)
    with pytest.raises(HeadsError, match=complaint):
        HeadsDirectory.from_pretrained(tmp_path / "heads")


@pytest.mark.parametrize("kept", [0, 5, 100, -1], ids=["empty", "in the length", "in the header", "last byte"])
def test_a_truncated_file(kept: int, tmp_path: Path) -> None:
    path = saved(tmp_path / "heads") / "heads.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(HeadsError, match=r"heads\.safetensors is broken: it (breaks off|has [\d,]+ bytes instead)"):
        HeadsDirectory.from_pretrained(tmp_path / "heads")


@pytest.mark.parametrize(
    ("file", "change", "complaint"),
    [
        ("config.json", {"colour": "red"}, r"unknown keys \['colour'\]"),
        ("config.json", {"format": 2}, "format 2; expected 1"),
        ("config.json", {"kind": "eagle"}, "kind is 'eagle'; expected one of medusa, hydra, mtp"),
        ("config.json", {"kind": "hydra"}, "lacks tensor path_in.0"),
        ("config.json", {"kind": "hydra", "condition_on_root": False}, "hydra heads read all tokens of a path"),
        ("config.json", {"base_check": "yes"}, "base_check is 'yes'"),
        ("config.json", {"num_heads": 1}, r"expected floating point of shape \[1, 1,"),
        ("tree.json", {"format": 9}, "no tree file"),
        ("tree.json", {"paths": [[0], [0, 0, 0]]}, r"path \[0, 0, 0\] has no parent"),
        ("tree.json", {"paths": [[0], [0, 0], [0, 0, 0]]}, "3 deep, but there are 2 heads"),
        ("tree.json", {"paths": [[10]]}, "11 wide, but a head knows 10 tokens"),
        ("tree.json", {"nodes": 7}, "nodes is 7; expected 1 to 6"),
        ("tree.json", {"counts": [1]}, "malformed"),
        ("tree.json", {"width": 3}, r"unknown keys \['width'\]"),
    ],
)
def test_files_that_do_not_belong(file: str, change: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "heads") / file
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(HeadsError, match=complaint):
        HeadsDirectory.from_pretrained(tmp_path / "heads")


@pytest.mark.parametrize("file", ["config.json", "tree.json"])
def test_broken_json(file: str, tmp_path: Path) -> None:
    (saved(tmp_path / "heads") / file).write_text('{"format": 1,')
    with pytest.raises(HeadsError, match=f"{file} is not JSON"):
        HeadsDirectory.from_pretrained(tmp_path / "heads")


def test_the_right_base_model_passes_in_any_rounding() -> None:
    """bfloat16 moves the sample by far less than the tolerance; so does a light fine-tune of one percent."""
    torch.manual_seed(0)
    weight = torch.randn(V, D)
    directory = HeadsDirectory(random_heads(), TreeShape(PATHS), base_check=base_sample(base_model(weight)))
    for other in (weight, weight.double(), weight.bfloat16(), weight + 0.01 * torch.randn(V, D)):
        directory.check_base(base_model(other))


def test_another_base_model_is_refused() -> None:
    torch.manual_seed(0)
    directory = HeadsDirectory(random_heads(), TreeShape(PATHS), base_check=base_sample(base_model(torch.randn(V, D))))
    with pytest.raises(HeadsError, match=r"trained for org/base, and the LM head of org/other is another one"):
        directory.check_base(base_model(torch.randn(V, D), "org/other"))
    with pytest.raises(HeadsError, match="org/base has a hidden size of 9, the heads were trained for org/base with 8"):
        directory.check_base(base_model(torch.randn(V, D + 1)))
    with pytest.raises(HeadsError, match="vocabulary of 51"):
        directory.check_base(base_model(torch.randn(V + 1, D)))
    HeadsDirectory(random_heads(), TreeShape(PATHS)).check_base(base_model(torch.randn(V, D)))  # no sample: sizes alone


def test_push_to_hub_sends_the_four_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub is replaced by a directory: what is uploaded there can be loaded again."""
    from huggingface_hub import hub_mixin

    class Hub:
        def __init__(self, token: str | None = None) -> None:
            assert token == "secret"

        def create_repo(self, repo_id: str, private: bool | None, exist_ok: bool) -> SimpleNamespace:
            return SimpleNamespace(repo_id=repo_id)

        def upload_folder(self, *, repo_id: str, folder_path: Path, **_: Any) -> str:
            shutil.copytree(folder_path, tmp_path / "hub")
            return f"https://huggingface.co/{repo_id}"

    monkeypatch.setattr(hub_mixin, "HfApi", Hub)
    directory = HeadsDirectory(random_heads(), TreeShape(PATHS), nodes=5)
    assert directory.push_to_hub("me/heads", token="secret") == "https://huggingface.co/me/heads"
    assert sorted(path.name for path in (tmp_path / "hub").iterdir()) == [
        "README.md",
        "config.json",
        "heads.safetensors",
        "tree.json",
    ]
    assert HeadsDirectory.from_pretrained(tmp_path / "hub").nodes == 5


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("config.json", {"num_heads": "4"}, "config.json: heads config: num_heads is '4'; expected a whole number"),
        ("config.json", {"condition_on_root": 1}, "condition_on_root is 1; expected true or false"),
        ("config.json", {"base_check": [0.5]}, "expected a list of 32 numbers"),
        ("tree.json", {"nodes": 5000}, "tree.json does not go with these heads: nodes is 5000"),
        ("tree.json", {"paths": [[0], [0, 0], [0, 0, 0]]}, "tree.json does not go with these heads: the tree is 3 deep"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_name(name: str, change: dict[str, Any], message: str, tmp_path: Path) -> None:
    directory = saved(tmp_path / "heads")
    data = json.loads((directory / name).read_text(encoding="utf-8"))
    (directory / name).write_text(json.dumps({**data, **change}), encoding="utf-8")
    with pytest.raises(HeadsError) as caught:
        HeadsDirectory.from_pretrained(directory)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["config.json", "tree.json", "README.md"])
def test_a_file_that_is_not_utf_8(name: str, tmp_path: Path) -> None:
    directory = saved(tmp_path / "heads")
    (directory / name).write_bytes(b"caf\xe9")
    with pytest.raises(HeadsError, match=rf"{name} is not UTF-8"):
        HeadsDirectory.from_pretrained(directory)
