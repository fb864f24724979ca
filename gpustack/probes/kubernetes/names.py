"""Names that the API server accepts. An answer with another name comes from another program, and is not used.

Rules: RFC 1123 as https://kubernetes.io/docs/concepts/overview/working-with-objects/names describes it, and
ValidatePathSegmentName of k8s.io/apimachinery/pkg/api/validation/path for kinds that have no narrower rule.
"""

import re
from collections.abc import Iterator
from typing import Any

from gpustack.ask.probe import FactUnavailable

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
PATH_SEGMENT = re.compile(r"(?!\.{1,2}$)[^/%\s]+")
"""The names of Roles, ClusterRoles and their bindings, such as system:node. No program gives one with a blank."""
ROLE = re.compile(r"[a-z0-9]([-a-z0-9:.]*[a-z0-9])?")
"""The names of ClusterRoles and their bindings as programs form them, such as system:coredns."""
LONGEST = 253


def require_names(entry: Any, name: re.Pattern[str] = SUBDOMAIN) -> None:
    """Raise FactUnavailable where an object of the API has a name that the API server does not accept."""
    for rule, text in list_names(entry, name):
        if not isinstance(text, str) or len(text) > LONGEST or not rule.fullmatch(text):
            raise FactUnavailable(f"the API server accepts no such name: {str(text)[:LONGEST]!r}")


def list_names(entry: Any, name: re.Pattern[str]) -> Iterator[tuple[re.Pattern[str], Any]]:
    """Yield the names of the object, of its node and of the object that an event is about, each with its rule. A name
    that the object does not have is left out."""
    metadata, spec = entry.get("metadata") or {}, entry.get("spec") or {}
    rules = [
        (name, metadata.get("name")),
        (LABEL, metadata.get("namespace")),
        (SUBDOMAIN, spec.get("nodeName")),
        *((PATH_SEGMENT, (entry.get(key) or {}).get("name")) for key in ("involvedObject", "regarding")),
        *((LABEL, (entry.get(key) or {}).get("namespace")) for key in ("involvedObject", "regarding")),
    ]
    yield from ((rule, text) for rule, text in rules if text is not None and text != "")
