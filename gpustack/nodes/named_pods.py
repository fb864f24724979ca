"""The pods that a person gives up by name, or by a pattern of names in one namespace.

A pattern is needed for what moves: a pod of the monitoring has another name on the next node of a rolling reboot.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from gpustack.errors import InputError

PATTERN = re.compile(r"[a-z0-9-]+/[a-z0-9.*-]+")


def require_patterns(patterns: Iterable[str]) -> None:
    """Raise InputError for a text that is neither NAMESPACE/NAME nor a pattern of names in a namespace."""
    if odd := [pattern for pattern in patterns if not PATTERN.fullmatch(pattern)]:
        reason = "A namespace is named in full, so that no pattern means all pods."
        raise InputError("node-unknown-pod", f"{', '.join(odd)} is no NAMESPACE/NAME and no NAMESPACE/NAME*.", reason)


def includes_pod(patterns: Iterable[str], full_name: str) -> bool:
    """Tell whether the patterns include a pod."""
    return any(fnmatchcase(full_name, pattern) for pattern in patterns)
