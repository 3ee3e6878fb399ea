"""The directory that holds a set of heads: ``config.json``, ``heads.safetensors``, ``tree.json`` and ``README.md``.

It is written whole or not at all, and read strictly.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import ModelHubMixin, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from safetensors import safe_open
from safetensors.torch import save

from headstart import whole_file
from headstart.drafters.base_check import VALUES, check_base
from headstart.drafters.heads import MedusaHeads
from headstart.drafters.kinds import AnyConfig, AnyHeads, config_of
from headstart.drafters.mtp_heads import MtpConfig, MtpHeads
from headstart.drafters.tree_file import TreeFile
from headstart.errors import HeadsError
from headstart.models.protocol import BaseModel
from headstart.models.weight_files import fault
from headstart.trees.calibration import Calibration
from headstart.trees.shape import Path as TreePath
from headstart.trees.shape import TreeShape

CONFIG, WEIGHTS, TREE, CARD = "config.json", "heads.safetensors", "tree.json", "README.md"
_FORMAT = 1
_DRAFT_IDS = "draft_ids"
_DEFAULT_CARD = """---
library_name: headstart
tags: [headstart, {kind}, speculative-decoding]
---
{name} heads for {base_model}, made with Headstart.
"""


class HeadsDirectory(ModelHubMixin, library_name="headstart", tags=["medusa", "speculative-decoding"]):
    """Heads, the tree to use them with, and what is known about both.

    Args:
        heads: the heads.
        tree: the tree, its paths ordered by worth, so that a smaller budget is a prefix of it.
        nodes: how many nodes of it to use where nobody says, the root included; None is all of it.
        base_check: what :func:`headstart.drafters.base_check.base_sample` gave for the base model; None checks sizes alone.
        counts: how often the true continuation lay on each rank path, over ``total`` observed positions.
        total: see ``counts``.
        predicted: what was measured or predicted, by name; kept as it is.
        card: the text of ``README.md``; empty writes a short one.
        dtype: what weights are saved in.

    Raises:
        HeadsError: the tree is deeper than the heads or wider than their vocabulary, or ``nodes`` is outside the tree.
    """

    def __init__(
        self,
        heads: AnyHeads,
        tree: TreeShape,
        *,
        nodes: int | None = None,
        base_check: Sequence[float] | None = None,
        counts: Mapping[TreePath, int] | None = None,
        total: int = 0,
        calibration: Calibration | None = None,
        predicted: Mapping[str, Any] | None = None,
        card: str = "",
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        self.heads = heads
        self.tree_file = TreeFile(
            tree=tree,
            nodes=len(tree) if nodes is None else nodes,
            counts=dict(counts or {}),
            total=total,
            calibration=calibration,
            predicted=dict(predicted or {}),
        )
        self.tree_file.check(heads.config)
        self.base_check = None if base_check is None else tuple(base_check)
        self.card = card
        self.dtype = dtype

    @property
    def config(self) -> AnyConfig:
        return self.heads.config

    @property
    def tree(self) -> TreeShape:
        return self.tree_file.tree

    @property
    def nodes(self) -> int:
        """The recommended budget, the root included."""
        return self.tree_file.nodes

    @property
    def counts(self) -> Mapping[TreePath, int]:
        return self.tree_file.counts

    @property
    def total(self) -> int:
        return self.tree_file.total

    @property
    def calibration(self) -> Calibration | None:
        return self.tree_file.calibration

    @property
    def predicted(self) -> Mapping[str, Any]:
        return self.tree_file.predicted

    def check_base(self, model: BaseModel) -> None:
        """Raises HeadsError if the heads belong to another base model than ``model``."""
        check_base(self.config, self.base_check, model)

    def save_pretrained(self, save_directory: str | Path, **options: Any) -> str | None:
        """Write the directory; other files in it are left alone. ``options`` as in huggingface_hub (``push_to_hub``, ...).

        Raises:
            HeadsError: it cannot be written; what was there before is untouched.
        """
        target = Path(save_directory)
        push = bool(options.pop("push_to_hub", False))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
            try:
                self._save_pretrained(temporary)
                _put_in_place(temporary, target)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
        except OSError as error:
            size = sum(tensor.numel() * self.dtype.itemsize for tensor in self.heads.state_dict().values())
            raise HeadsError(
                f"cannot write the heads to {target}: {error.strerror or error}. They take {size / 2**20:,.0f} MiB; make room or"
                " choose another directory. What was there before is untouched"
            ) from error
        if not push:
            return None
        repo_id = str(options.pop("repo_id", None) or target.name)
        for unused in ("config", "model_card_kwargs"):
            options.pop(unused, None)
        return self.push_to_hub(repo_id, **options)

    def _save_pretrained(self, save_directory: Path) -> None:
        state = {}
        for name, tensor in self.heads.state_dict().items():
            stored = _DRAFT_IDS if name == "draft_ids_V" else name
            state[stored] = tensor.to(torch.int32 if stored == _DRAFT_IDS else self.dtype).contiguous().cpu()
        whole_file.write(save_directory / WEIGHTS, save(state, metadata={"format": "pt"}))
        config = {"format": _FORMAT, **self.config.to_dict(), "base_check": self.base_check}
        whole_file.write(save_directory / CONFIG, (json.dumps(config, indent=2) + "\n").encode())
        whole_file.write(save_directory / TREE, self.tree_file.to_json().encode())
        kind = self.config.kind
        base_model = self.config.base_model or "a base model"
        card = self.card or _DEFAULT_CARD.format(kind=kind, name=kind.capitalize(), base_model=base_model)
        whole_file.write(save_directory / CARD, card.encode())

    @classmethod
    def from_pretrained(  # type: ignore[override]  # the mixin hands config.json to __init__ loosely; here nothing is guessed
        cls,
        pretrained_model_name_or_path: str | Path,
        *,
        force_download: bool = False,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        local_files_only: bool = False,
        revision: str | None = None,
    ) -> "HeadsDirectory":
        """Read a directory, or one from the hub.

        Raises:
            HeadsError: it is missing, a file of it is missing or broken, the config has an unknown key, a tensor is missing,
                unexpected or of another shape, or the tree does not fit the heads. The message says which.
        """
        return cls._from_pretrained(
            model_id=str(pretrained_model_name_or_path),
            revision=revision,
            cache_dir=cache_dir,
            force_download=force_download,
            local_files_only=local_files_only,
            token=token,
        )

    @classmethod
    def _from_pretrained(cls, *, model_id: str, **hub: Any) -> "HeadsDirectory":
        directory = Path(model_id).expanduser()
        if not directory.is_dir():
            directory = _download(model_id, hub)
        for name in (CONFIG, WEIGHTS, TREE):
            if not (directory / name).is_file():
                inside = ", ".join(sorted(path.name for path in directory.iterdir())[:6]) or "nothing"
                raise HeadsError(f"{directory} has no {name}, so it is no heads directory (it holds {inside})")
        config, sample = _read_config(directory / CONFIG)
        heads = _read_heads(directory / WEIGHTS, config)
        tree_file = TreeFile.from_json(_text(directory / TREE), str(directory / TREE))
        try:
            tree_file.check(config)
        except HeadsError as error:
            raise HeadsError(f"{directory / TREE} does not go with these heads: {error}") from error
        card = _text(directory / CARD) if (directory / CARD).is_file() else ""
        return cls(
            heads,
            tree_file.tree,
            nodes=tree_file.nodes,
            base_check=sample,
            counts=tree_file.counts,
            total=tree_file.total,
            calibration=tree_file.calibration,
            predicted=tree_file.predicted,
            card=card,
            dtype=next(heads.parameters()).dtype,
        )


def _put_in_place(temporary: Path, target: Path) -> None:
    """Give the finished directory its name, or its files to the directory that is there already."""
    if target.is_dir() and any(target.iterdir()):
        for name in (WEIGHTS, TREE, CARD, CONFIG):
            os.replace(temporary / name, target / name)
        return
    temporary.chmod(0o755)  # temporary directories are closed to others
    if target.is_dir():
        target.rmdir()
    os.replace(temporary, target)


def _download(model_id: str, hub: Mapping[str, Any]) -> Path:
    try:
        return Path(snapshot_download(model_id, allow_patterns=[CONFIG, WEIGHTS, TREE, CARD], **hub))
    except HFValidationError as error:
        raise HeadsError(f"there is no heads directory at {model_id!r}; check the path, or train heads: headstart train") from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise HeadsError(
            f"there is no heads directory {model_id!r} here, and the hub gives none of that name ({type(error).__name__}); check"
            " the name, go online (is HF_HUB_OFFLINE set?), or train heads: headstart train"
        ) from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise HeadsError(f"{path} is not UTF-8: {error}; save the heads again") from error


def _read_config(path: Path) -> tuple[AnyConfig, Sequence[float] | None]:
    try:
        data = json.loads(_text(path))
    except ValueError as error:
        raise HeadsError(f"{path} is not JSON: {error}; save the heads again") from error
    if not isinstance(data, dict):
        raise HeadsError(f"{path} holds a {type(data).__name__}; expected a JSON object")
    if (version := data.pop("format", None)) != _FORMAT:
        raise HeadsError(
            f"{path} says format {version!r}; expected {_FORMAT}. It was written by another version or project: update Headstart,"
            " or convert the heads"
        )
    if "kind" not in data:
        data["kind"] = data.pop("drafter", "medusa")  # its name in the first files
    sample = data.pop("base_check", None)
    numbers = isinstance(sample, list) and all(isinstance(value, (int, float)) for value in sample) and len(sample) == VALUES
    if sample is not None and not numbers:
        raise HeadsError(f"{path}: base_check is {sample!r}; expected a list of {VALUES} numbers or null. Save the heads again")
    try:
        return config_of(data), sample
    except HeadsError as error:
        raise HeadsError(f"{path}: {error}") from error


def _read_heads(path: Path, config: AnyConfig) -> AnyHeads:
    if (wrong := fault(path)) is not None:
        raise HeadsError(f"{path} is broken: {wrong}. Copy or download it again")
    with safe_open(path, framework="pt") as file:
        state: dict[str, torch.Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    draft_ids = state.pop(_DRAFT_IDS, None)
    _check_draft_ids(path, draft_ids, config)
    with torch.device("meta"):  # shapes first, no memory for weights that are replaced at once
        heads: AnyHeads
        if isinstance(config, MtpConfig):
            heads = MtpHeads(config)
        else:
            heads = MedusaHeads(config, None if draft_ids is None else draft_ids.to(torch.int64))
    expected = {name: tensor.shape for name, tensor in heads.state_dict().items() if name != "draft_ids_V"}
    for what, names in (("lacks", expected.keys() - state.keys()), ("has the unexpected", state.keys() - expected.keys())):
        if names:
            raise HeadsError(f"{path} {what} tensor {', '.join(sorted(names))}; it does not belong to its config.json")
    for name, shape in expected.items():
        if state[name].shape != shape or not state[name].is_floating_point():
            raise HeadsError(f"{path}: tensor {name} is {_form(state[name])}; expected floating point of shape {list(shape)}")
    if draft_ids is not None:
        state["draft_ids_V"] = draft_ids.to(torch.int64)
    heads.load_state_dict(state, strict=True, assign=True)
    return heads


def _check_draft_ids(path: Path, draft_ids: torch.Tensor | None, config: AnyConfig) -> None:
    wanted = config.draft_vocab_size
    if (draft_ids is None) != (wanted is None):
        wrong = "lacks" if draft_ids is None else "has the unexpected"
        raise HeadsError(f"{path} {wrong} tensor {_DRAFT_IDS} (draft_vocab_size is {wanted} in its config.json)")
    if draft_ids is None:
        return
    if draft_ids.shape != (wanted,) or draft_ids.is_floating_point():
        raise HeadsError(f"{path}: tensor {_DRAFT_IDS} is {_form(draft_ids)}; expected integers of shape [{wanted}]")
    if int(draft_ids[0]) < 0 or int(draft_ids[-1]) >= config.vocab_size or bool((draft_ids[1:] <= draft_ids[:-1]).any()):
        raise HeadsError(f"{path}: tensor {_DRAFT_IDS} has to hold ascending ids from 0 to {config.vocab_size - 1}")


def _form(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {list(tensor.shape)}"
