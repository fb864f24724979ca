"""The keys of a release's values with a short digest each, and how those of the cluster differ from the spec's.

They are labels of the release beside the digest of all values (docs/decisions/0034-differing-values.md): so no value is
read from a cluster, and a key is named only where gpustack set it. A key whose name is that of a secret has no digest.
A list is one value.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from gpustack.config.secrets.secret_values import is_secret_name
from gpustack.events import format_count
from gpustack.files.json_text import dump_json

LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
"""The name of a label behind its prefix (kubernetes.io, "Labels and Selectors")."""
MAX_KEYS = 300
DIGEST_LENGTH = 4
"""Too short to confirm a guess: the digest of all values says whether anything differs, these only say where."""
PLACEHOLDER = "x"
MAX_SHOWN, MAX_VALUE = 5, 40


def list_leaves(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """List the values by their dotted keys. What no label can name stands together under the key above it."""
    unnamed_values = {}
    for key, value in values.items():
        name = f"{path}.{key}" if path else str(key)
        if not LABEL.fullmatch(name):
            unnamed_values[key] = value
        elif isinstance(value, Mapping) and value:
            yield from list_leaves(value, name)
        else:
            yield name, value
    if unnamed_values and path:
        yield path, unnamed_values


def compute_value_digests(values: Mapping[str, Any]) -> dict[str, str]:
    """Compute the digests by key, of the first MAX_KEYS keys."""
    leaves = islice(sorted(dict(list_leaves(values)).items()), MAX_KEYS)
    return {name: PLACEHOLDER if is_hidden(name) else digest_value(value) for name, value in leaves}


def is_hidden(name: str) -> bool:
    return any(is_secret_name(part) for part in name.split("."))


def digest_value(value: Any) -> str:
    document = dump_json(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(document.encode()).hexdigest()[:DIGEST_LENGTH]


def describe_value_differences(values: Mapping[str, Any], actual_digests: Mapping[str, str]) -> str:
    """Describe in which keys a release differs, with the values of the spec. Return an empty text where the release has
    no digests, or where they do not tell."""
    leaves, expected_digests = dict(list_leaves(values)), compute_value_digests(values)
    if not actual_digests:
        return ""
    differences = [
        f"{name} is missing" if name not in actual_digests else f"{name} is not {format_value(name, leaves[name])}"
        for name, digest in expected_digests.items()
        if actual_digests.get(name) != digest
    ]
    differences += [f"{name} is not in the spec" for name in sorted(actual_digests) if name not in expected_digests]
    remainder = [f"{format_count(len(differences) - MAX_SHOWN, 'key')} more"] if len(differences) > MAX_SHOWN else []
    return ", ".join([*differences[:MAX_SHOWN], *remainder])


def format_value(name: str, value: Any) -> str:
    text = dump_json(value, sort_keys=True)
    return "that of the spec" if is_hidden(name) or len(text) > MAX_VALUE else text
