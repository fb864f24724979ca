"""Strict readings of texts that a host printed: what only looks like a number or a document is refused."""

import re
from functools import lru_cache
from ipaddress import IPv4Address
from typing import Any

from gpustack.files.yaml_text import parse_yaml

NUMBER = re.compile(r"[0-9]{1,18}")
# A document of kubeadm or crictl has a few KiB, and PyYAML reads about 50 KiB in a second.
LONGEST = 64 * 1024


def number(text: str) -> int:
    """int() also takes `1_0`, ` 1`, `+1` and the digits of all scripts. Raises ValueError."""
    if not NUMBER.fullmatch(text):
        raise ValueError(f"not a number: {text[:40]}")
    return int(text)


@lru_cache(maxsize=4096)
def ipv4(text: str) -> str:
    """Raises ValueError."""
    return str(IPv4Address(text))


def yaml_mapping(text: str) -> dict[Any, Any]:
    """Raises ValueError for what is no YAML mapping, too long, or has aliases: nobody who is asked writes these, and a
    few lines of them stand for a document of gigabytes."""
    if len(text) > LONGEST:
        raise ValueError(f"longer than {LONGEST} characters")
    found = parse_yaml(text)
    if not isinstance(found, dict):
        raise ValueError("not a mapping")
    return found
