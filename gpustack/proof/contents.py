"""The objects in a namespace, of every kind of the API that can be deleted.

Aggregated discovery (k8s.io/api/apidiscovery/v2, since Kubernetes 1.30) names the kinds in two reads. Objects are read
by name (PartialObjectMetadataList), without the contents of Secrets.
"""

from collections.abc import Iterator
from typing import Any

from gpustack.ask.api_list import read_items
from gpustack.ask.probe import UNREADABLE
from gpustack.files.json_text import load_json

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
NAMES = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
# Kubernetes creates these in every namespace.
USUAL = {("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")}
# Events describe other objects, and expire by themselves.
EVENTS = "events"
PAGE_SIZE, OK = 50, 200


class ContentsUnknown(Exception):
    """Report that the API did not list the objects of a namespace, with the reason as text."""


def list_contents(client: Any, namespace: str, limit: int) -> list[str]:
    """Return the objects in a namespace as RESOURCE/NAME, without those that Kubernetes creates. `client` is an
    ApiClient, and `limit` is in seconds per read. Raise ContentsUnknown, and the errors of the client."""
    try:
        return [
            f"{resource}/{name}"
            for path, resource in list_kinds(client, namespace, limit)
            for name in list_names(client, path, limit)
            if (resource, name) not in USUAL
        ]
    except UNREADABLE as error:
        raise ContentsUnknown(f"the API answered in another shape: {type(error).__name__}") from error


def list_kinds(client: Any, namespace: str, limit: int) -> Iterator[tuple[str, str]]:
    """Yield the path and the resource of each kind. Raise ContentsUnknown where the discovery is incomplete."""
    for root in ("/api", "/apis"):
        document = read_document(client, root, DISCOVERY, limit)
        if document.get("kind") != "APIGroupDiscoveryList":
            raise ContentsUnknown(f"{root} does not list the kinds of objects")
        for group in read_items(document):
            name = group.get("metadata", {}).get("name", "")
            for version in group.get("versions", ())[:1]:
                base = f"{root}/{name}/{version['version']}" if name else f"{root}/{version['version']}"
                if version.get("freshness") == "Stale":
                    raise ContentsUnknown(f"{base} does not respond")
                for kind in version.get("resources", ()):
                    if is_lasting(kind):
                        yield f"{base}/namespaces/{namespace}/{kind['resource']}", kind["resource"]


def is_lasting(kind: Any) -> bool:
    """Tell whether objects of a kind are in a namespace until somebody deletes them."""
    verbs = set(kind.get("verbs", ()))
    return kind.get("scope") == "Namespaced" and {"list", "delete"} <= verbs and kind["resource"] != EVENTS


def list_names(client: Any, path: str, limit: int) -> Iterator[str]:
    """Yield the names of the first objects of a kind. One object is enough to keep the namespace."""
    for entry in read_items(read_document(client, f"{path}?limit={PAGE_SIZE}", NAMES, limit)):
        yield str(entry["metadata"]["name"])


def read_document(client: Any, path: str, form: str, limit: int) -> Any:
    response = client.call_api("GET", f"{client.configuration.host}{path}", {"Accept": form}, _request_timeout=limit)
    if response.status != OK:
        raise ContentsUnknown(f"{path}: {response.status} {response.reason}")
    return load_json(response.read())
