"""GPUs that a MIG instance is, by its profile."""

import re
from functools import cache

from gpustack.vocabulary.usage_series import QUARTERS, SHARES

MIG = "nvidia_com_mig_"
SHARED_SUFFIX = "_shared"
"""The end of a resource's name where the device plugin renames shared ones (renameByDefault)."""


@cache
def find_share(profile: str) -> float | None:
    """Find the share of a profile: 0.142857… of `1g.10gb`. Return None for an unknown profile."""
    for table in (QUARTERS, SHARES):
        for share, pattern in table.items():
            if re.fullmatch(pattern, profile):
                return share
    return None


def is_part(gpus: float, profile: str) -> bool:
    """Tell whether this many GPUs are a part of a GPU, or of a MIG instance of the profile."""
    return gpus < (find_share(profile) or 1.0 if profile else 1.0) * 0.99


@cache
def parse_profile(resource: str) -> str:
    """Parse the profile of a resource: `1g.10gb` of nvidia_com_mig_1g_10gb, as kube-state-metrics spells
    nvidia.com/mig-1g.10gb, and of a shared one with another name. It is empty for other resources."""
    return resource.removeprefix(MIG).removesuffix(SHARED_SUFFIX).replace("_", ".") if resource.startswith(MIG) else ""


def format_resource(profile: str) -> str:
    """Format the resource of a profile, the inverse of parse_profile."""
    return MIG + re.sub(r"[^A-Za-z0-9]", "_", profile)
