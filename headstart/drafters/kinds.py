"""Every kind of heads that a heads directory can hold."""

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.drafters.mtp_heads import MtpConfig, MtpHeads

AnyConfig = HeadsConfig | MtpConfig
AnyHeads = MedusaHeads | MtpHeads

CONFIGS: dict[str, type[HeadsConfig] | type[MtpConfig]] = {"medusa": HeadsConfig, "hydra": HeadsConfig, "mtp": MtpConfig}
"""By the kind that ``config.json`` names."""
