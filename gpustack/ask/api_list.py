"""Lists of the Kubernetes API, as JSON."""

from typing import Any


def read_items(document: Any) -> list[Any]:
    """Return the objects of a list. Raise ValueError where the document is no list.

    A list of nothing is null where only metadata were asked for (PartialObjectMetadataList), as Go writes a slice that
    nothing was added to (k8s.io/apiserver, pkg/endpoints/handlers/response.go).
    """
    items = document.get("items", "") if isinstance(document, dict) else ""
    if items is None:
        return []
    if not isinstance(items, list):
        raise ValueError("no list of the API")
    return items
