"""What ``headstart tune`` found out about heads on one machine; it lies in ``tree.json`` under ``predicted``, as ``tuned``."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from headstart.drafters.kinds import AnyHeads
from headstart.errors import DataError, HeadsError, TreeError
from headstart.models.conditions import Conditions
from headstart.trees.step_table import StepTable

KEY = "tuned"
_FORMAT = 1
_SAMPLE = 64  # numbers of each tensor
_KEYS = {"format", "heads", "conditions", "nodes", "tokens", "rows", "seconds", "chosen", "passes", "observed", "verified"}


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """Measured steps, for which heads and under what conditions, and the budgets that follow from them."""

    heads: str
    """:func:`heads_mark` of the heads."""
    conditions: Conditions
    """Under which times were measured."""
    tables: dict[str, StepTable]
    """By the drafter's name; their times are the same."""
    passes: list[dict[str, Any]] = field(default_factory=list)
    """The latency curve T(n): passes alone, without drafting."""
    observed: dict[str, Any] = field(default_factory=dict)
    """What tokens per step stand on."""
    verified: list[dict[str, Any]] = field(default_factory=list)
    """Predicted beside measured."""

    def table(self, drafter: str) -> StepTable:
        return self.tables[drafter]

    def chosen(self, drafter: str) -> dict[int, int]:
        """By batch size, the nodes of the fastest tree; 1 is plain decoding."""
        table = self.tables[drafter]
        return {rows: table.nodes_N[table.best(rows)] for rows in table.rows_R}

    def to_dict(self) -> dict[str, Any]:
        table = next(iter(self.tables.values()))
        return {
            "format": _FORMAT,
            "heads": self.heads,
            "conditions": self.conditions.to_dict(),
            "nodes": list(table.nodes_N),
            "tokens": {name: list(each.tokens_N) for name, each in self.tables.items()},
            "rows": list(table.rows_R),
            "seconds": [list(times) for times in table.seconds_RN],
            "chosen": {name: [[rows, nodes] for rows, nodes in self.chosen(name).items()] for name in self.tables},
            "passes": self.passes,
            "observed": self.observed,
            "verified": self.verified,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "tree.json") -> "Tuned":
        """Raises HeadsError for what :meth:`to_dict` would not give. ``where`` names the file in it."""
        again = "run `headstart tune` again"
        if not isinstance(data, Mapping) or data.get("format") != _FORMAT or set(data) - _KEYS:
            raise HeadsError(f"{where}: what was tuned is of another version, or not by Headstart; {again}")
        try:
            nodes, rows = tuple(int(n) for n in data["nodes"]), tuple(int(r) for r in data["rows"])
            seconds = tuple(tuple(float(s) for s in times) for times in data["seconds"])
            tables = {
                str(name): StepTable(nodes, tuple(float(t) for t in tokens), rows, seconds)
                for name, tokens in data["tokens"].items()
            }
            if not tables:
                raise ValueError("no drafter")
            return cls(
                heads=str(data["heads"]),
                conditions=Conditions.from_dict(dict(data["conditions"])),
                tables=tables,
                passes=list(data.get("passes") or []),
                observed=dict(data.get("observed") or {}),
                verified=list(data.get("verified") or []),
            )
        except (DataError, TreeError) as error:
            raise HeadsError(f"{where}: {error}; {again}") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise HeadsError(f"{where}: what was tuned is malformed ({error!r}); {again}") from error


def heads_mark(heads: AnyHeads) -> str:
    """A short mark of the weights, the same in whatever precision they are held from bfloat16 on."""
    mark = 0
    for name, tensor in sorted(heads.state_dict().items()):
        flat = tensor.detach().flatten()
        count = min(_SAMPLE, flat.numel())
        some = flat[torch.arange(count, device=flat.device) * flat.numel() // max(count, 1)]
        values = some.to("cpu", torch.float32).to(torch.bfloat16).float().tolist()
        mark = zlib.crc32(f"{name} {tuple(tensor.shape)} {values}".encode(), mark)
    return f"{mark:08x}"
