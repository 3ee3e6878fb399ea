"""The same options for either kind of training."""

from dataclasses import replace
from typing import Literal

from headstart.train.joint.options import JointOptions


def with_backbone(options: JointOptions, kind: Literal["lora", "full"]) -> JointOptions:
    """What is said of LoRA's matrices is left out where there are none."""
    unsaid = {} if kind == "lora" else {name: getattr(JointOptions, name) for name in ("rank", "alpha", "dropout")}
    return replace(options, backbone=kind, **unsaid)
