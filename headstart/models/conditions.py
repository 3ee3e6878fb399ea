"""What a measured time is valid for."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch

from headstart.errors import DataError
from headstart.models.dtype import dtype_name
from headstart.models.processor import processor
from headstart.models.protocol import BaseModel


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Model, number format and machine. Times taken under others say nothing about these."""

    model: str
    implementation: str
    """"native" or "transformers"; "native, compiled" where passes run under ``torch.compile``."""
    dtype: str
    weights: str
    """The weights' own format where it is another than ``dtype``, "int8" for instance; else empty."""
    bitwise: bool
    """Whether attention keeps the order that equal bits need."""
    device: str
    processor: str
    threads: int
    """CPU threads."""
    torch: str

    @classmethod
    def of(cls, model: BaseModel) -> "Conditions":
        """Those of a loaded model in this process, with the CPU threads that torch is set to now."""
        facts = model.facts
        return cls(
            model=facts.name,
            implementation=facts.implementation + (", compiled" if getattr(model, "compiles", False) else ""),
            dtype=dtype_name(facts.dtype),
            weights=facts.weights or "",
            bitwise=bool(getattr(model, "bitwise", False)),
            device=str(facts.device),
            processor=processor(facts.device),
            threads=torch.get_num_threads(),
            torch=str(torch.__version__),
        )

    def differences(self, other: "Conditions") -> list[str]:
        """What differs, in words: ``["dtype is bfloat16, was float32"]``."""
        pairs = [(f.name, getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return [f"{name} is {mine}, was {theirs}" for name, mine, theirs in pairs if mine != theirs]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Conditions":
        """Raises DataError for a key that is missing, unknown or of another type."""
        kinds = {"bitwise": bool, "threads": int}
        names = [f.name for f in fields(cls)]
        if sorted(data) != sorted(names):
            raise DataError(f"measuring conditions have the keys {sorted(data)}; expected {sorted(names)}. Measure again")
        wrong = [name for name in names if type(data[name]) is not kinds.get(name, str)]
        if wrong:
            raise DataError(f"measuring conditions: {wrong[0]} is {data[wrong[0]]!r}, which is of the wrong type. Measure again")
        return cls(**data)
