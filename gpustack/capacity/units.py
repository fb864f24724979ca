"""How many GPUs a MIG instance is."""

import re
from functools import cache

from gpustack.config.usage_series import QUARTERS, SHARES

MIG = "nvidia_com_mig_"


@cache
def share_of(profile: str) -> float | None:
    """0.142857… of `1g.10gb`; None of a profile that is not known."""
    for table in (QUARTERS, SHARES):
        for share, pattern in table.items():
            if re.fullmatch(pattern, profile):
                return share
    return None


@cache
def profile_of(resource: str) -> str:
    """`1g.10gb` of nvidia_com_mig_1g_10gb, as kube-state-metrics spells nvidia.com/mig-1g.10gb; else empty."""
    return resource.removeprefix(MIG).replace("_", ".") if resource.startswith(MIG) else ""


def resource_of(profile: str) -> str:
    """The other way round."""
    return MIG + re.sub(r"[^A-Za-z0-9]", "_", profile)
