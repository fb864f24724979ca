"""Strict parsing of texts that a host printed: a text that only looks like a number or a document is refused."""

import re
from datetime import datetime
from functools import lru_cache
from ipaddress import IPv4Address
from typing import Any

from gpustack.files.yaml_text import parse_yaml

NUMBER = re.compile(r"[0-9]{1,18}")
FACTORS = {
    suffix: base**power
    for base, suffixes in ((1000, ("k", "M", "G", "T", "P", "E")), (1024, ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")))
    for power, suffix in enumerate(suffixes, 1)
}
"""The factors of the suffixes of quantities (k8s.io/apimachinery/pkg/api/resource/suffix.go)."""
QUANTITY = re.compile(rf"([0-9]{{1,18}})(?:({'|'.join(FACTORS)})|[eE]([0-9]{{1,2}}))?")
# A document of kubeadm or crictl has a few KiB, and PyYAML reads about 50 KiB in a second.
MAX_LENGTH = 64 * 1024
FLAGS = {"yes": True, "no": False}
"""Meanings of the words that scripts print. Another word raises KeyError, and so is no answer."""


def parse_integer(text: str) -> int:
    """Parse a whole number. Raise ValueError for `1_0`, ` 1`, `+1` and digits of other scripts, which int() accepts."""
    if not NUMBER.fullmatch(text):
        raise ValueError(f"not a number: {text[:40]}")
    return int(text)


def parse_quantity(text: str) -> int:
    """Parse a whole number as the API server writes it: 1000 is 1k, whatever was typed. Raise ValueError for another
    text."""
    match = QUANTITY.fullmatch(text)
    if not match:
        raise ValueError(f"not a whole number: {text[:40]}")
    number, suffix, exponent = match.groups()
    factor: int = FACTORS[suffix] if suffix else 10 ** parse_integer(exponent or "0")
    return parse_integer(number) * factor


def parse_optional_time(text: str | None) -> datetime | None:
    """Parse a time of RFC 3339, as the API writes it; None where there is none. Raise ValueError where its zone is
    missing."""
    if not text:
        return None
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(text)
    return time


@lru_cache(maxsize=4096)
def parse_ipv4(text: str) -> str:
    """Parse an IPv4 address. Raise ValueError where the text is none."""
    return str(IPv4Address(text))


def parse_yaml_mapping(text: str) -> dict[Any, Any]:
    """Parse a YAML mapping. Raise ValueError where the text is none, too long, or has aliases.

    No program that is asked writes aliases, and a few lines of them stand for a document of gigabytes.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"longer than {MAX_LENGTH} characters")
    document = parse_yaml(text)
    if not isinstance(document, dict):
        raise ValueError("not a mapping")
    return document
