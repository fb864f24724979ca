"""Labels and taints that the inventory gives the node of a host."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator

from gpustack.config.form import Form

PROTECTED_DOMAINS = ("kubernetes.io", "k8s.io", "nvidia.com", "gpustack.io")
"""Kubernetes and its kubelets (admission plugin NodeRestriction), NVIDIA's components and gpustack write these."""
GPU_TAINT_KEY = "nvidia.com/gpu"
"""NVIDIA's components read this taint and set it nowhere."""
NAME = r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
PART = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
KEY = rf"({PART}(\.{PART})*/)?{NAME}"
LONGEST_DOMAIN = 253


def is_protected(key: str) -> bool:
    """Tell whether the domain of a key, or a domain above it, is that of Kubernetes, NVIDIA or gpustack."""
    domain = key.rpartition("/")[0]
    return any(f".{domain}".endswith(f".{name}") for name in PROTECTED_DOMAINS)


def validate_key(key: str) -> str:
    if len(key.rpartition("/")[0]) > LONGEST_DOMAIN:
        raise ValueError(f"a domain of at most {LONGEST_DOMAIN} characters before the slash")
    if is_protected(key):
        raise ValueError(f"a key outside {', '.join(PROTECTED_DOMAINS)} and their subdomains, such as example.com/pool")
    return key


def validate_taint(taint: str) -> str:
    key = split_taint(taint)[0]
    if key != GPU_TAINT_KEY:
        validate_key(key)
    return taint


def validate_taints(taints: Sequence[str]) -> Sequence[str]:
    """Return taints of which no two have the same key and effect, as the API demands."""
    places = [split_taint(taint)[::2] for taint in taints]
    if len(set(places)) < len(places):
        raise ValueError("one taint for each key and effect")
    return taints


def split_taint(taint: str) -> tuple[str, str, str]:
    """Split a taint into key, value and effect."""
    name, _, effect = taint.rpartition(":")
    key, _, value = name.partition("=")
    return key, value, effect


LabelKey = Annotated[
    str,
    Form(KEY, "a name of at most 63 characters, with or without a domain before it", "example.com/pool"),
    AfterValidator(validate_key),
]
LabelValue = Annotated[str, Form(rf"({NAME})?", "at most 63 letters, digits, dashes, underscores and dots", "research")]
# NoExecute would end every pod that does not tolerate it, at once, by an install.
Taint = Annotated[
    str,
    Form(
        rf"{KEY}(=({NAME})?)?:(NoSchedule|PreferNoSchedule)",
        "KEY=VALUE:EFFECT with the effect NoSchedule or PreferNoSchedule",
        "example.com/team=research:NoSchedule",
    ),
    AfterValidator(validate_taint),
]
