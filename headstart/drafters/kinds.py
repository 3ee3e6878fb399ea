"""Every kind of heads that a heads directory can hold."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.drafters.mtp_heads import MtpConfig, MtpHeads
from headstart.errors import HeadsError

AnyConfig = HeadsConfig | MtpConfig
AnyHeads = MedusaHeads | MtpHeads

CONFIGS: dict[str, type[HeadsConfig] | type[MtpConfig]] = {"medusa": HeadsConfig, "hydra": HeadsConfig, "mtp": MtpConfig}
"""By the kind that ``config.json`` names."""


def config_of(data: Mapping[str, Any]) -> AnyConfig:
    """What ``to_dict`` of a config of any kind gave; medusa's where no kind is named.

    Raises:
        HeadsError: a missing or unknown key, or a value out of range or of another type.
    """
    kind = data.get("kind", "medusa")
    if not isinstance(kind, str) or kind not in CONFIGS:
        raise HeadsError(f"heads config: kind is {kind!r}; expected one of {', '.join(CONFIGS)}")
    config = CONFIGS[kind]
    known = {field.name for field in fields(config)}
    if unknown := sorted(set(data) - known):
        raise HeadsError(f"heads config: unknown keys {unknown}; expected some of {sorted(known)}")
    try:
        return config(**data)
    except TypeError as error:
        needed = [field.name for field in fields(config) if field.default is MISSING]
        raise HeadsError(f"heads config: {error}; expected at least {', '.join(needed)}") from error
