"""Names that the API server accepts. An answer with another name comes from another program, and is not used.

Rules: RFC 1123 as https://kubernetes.io/docs/concepts/overview/working-with-objects/names describes it, and
IsValidPathSegmentName of k8s.io/apimachinery/pkg/api/validation/path for roles and their bindings
(kubernetes/kubernetes pkg/apis/rbac/validation). The name of the object that an event is about is not validated at all
(pkg/apis/core/validation/events.go).
"""

import re
from collections.abc import Iterator
from typing import Any

from gpustack.ask.probe import FactUnavailable

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
PATH_SEGMENT = re.compile(r"(?!\.{1,2}\Z)[^/%]+")
"""The names of Roles, ClusterRoles and their bindings, such as `system:node`, and those that people type, such as
`Team A`."""
MAX_LENGTH = 253


def require_names(entry: Any, name: re.Pattern[str] = SUBDOMAIN) -> None:
    """Raise FactUnavailable where an object of the API has a name that the API server does not accept."""
    for rule, text in list_names(entry, name):
        if not isinstance(text, str) or len(text) > MAX_LENGTH or not rule.fullmatch(text):
            raise FactUnavailable(f"the API server accepts no such name: {str(text)[:MAX_LENGTH]!r}")


def list_names(entry: Any, name: re.Pattern[str]) -> Iterator[tuple[re.Pattern[str], Any]]:
    """Yield the names of the object, of its node and of the namespace that an event is about, each with its rule. A
    name that the object does not have is left out."""
    metadata, spec = entry.get("metadata") or {}, entry.get("spec") or {}
    rules = [
        (name, metadata.get("name")),
        (LABEL, metadata.get("namespace")),
        (SUBDOMAIN, spec.get("nodeName")),
        *((LABEL, (entry.get(key) or {}).get("namespace")) for key in ("involvedObject", "regarding")),
    ]
    yield from ((rule, text) for rule, text in rules if text is not None and text != "")
