"""List what is in a namespace, of every kind that the API has and that can be deleted.

Aggregated discovery (k8s.io/api/apidiscovery/v2, since Kubernetes 1.30) names the kinds in two reads. Only names are
read of the objects (PartialObjectMetadataList), no contents of Secrets.
"""

from collections.abc import Iterator
from typing import Any

from gpustack.files.json_text import load_json

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
NAMES = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
# Kubernetes makes these in every namespace by itself.
USUAL = {("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")}
# They tell of other objects, and go with time.
EVENTS = "events"
MOST, OK = 50, 200


class ContentsUnknown(Exception):
    """The API did not say what is in the namespace; the text is the reason."""


def list_contents(client: Any, namespace: str, limit: int) -> list[str]:
    """Return the objects in a namespace as RESOURCE/NAME, without those that Kubernetes makes. `client` is an
    ApiClient, `limit` is in seconds for each read. Raises ContentsUnknown, and what the client raises."""
    return [
        f"{resource}/{name}"
        for path, resource in list_kinds(client, namespace, limit)
        for name in list_names(client, path, limit)
        if (resource, name) not in USUAL
    ]


def list_kinds(client: Any, namespace: str, limit: int) -> Iterator[tuple[str, str]]:
    """Yield the path and the resource of each kind."""
    for root in ("/api", "/apis"):
        found = read(client, root, DISCOVERY, limit)
        if found.get("kind") != "APIGroupDiscoveryList":
            raise ContentsUnknown(f"{root} does not list the kinds of objects")
        for group in found.get("items", ()):
            name = group.get("metadata", {}).get("name", "")
            for version in group.get("versions", ())[:1]:
                base = f"{root}/{name}/{version['version']}" if name else f"{root}/{version['version']}"
                if version.get("freshness") == "Stale":
                    raise ContentsUnknown(f"{base} does not respond")
                for kind in version.get("resources", ()):
                    if is_kept(kind):
                        yield f"{base}/namespaces/{namespace}/{kind['resource']}", kind["resource"]


def is_kept(kind: Any) -> bool:
    """Tell whether objects of a kind are in a namespace until somebody deletes them."""
    verbs = set(kind.get("verbs", ()))
    return kind.get("scope") == "Namespaced" and {"list", "delete"} <= verbs and kind["resource"] != EVENTS


def list_names(client: Any, path: str, limit: int) -> Iterator[str]:
    """Yield the names of the first objects of a kind: the namespace stays if there is one."""
    for item in read(client, f"{path}?limit={MOST}", NAMES, limit).get("items", ()):
        yield str(item["metadata"]["name"])


def read(client: Any, path: str, form: str, limit: int) -> Any:
    response = client.call_api("GET", f"{client.configuration.host}{path}", {"Accept": form}, _request_timeout=limit)
    if response.status != OK:
        raise ContentsUnknown(f"{path}: {response.status} {response.reason}")
    try:
        return load_json(response.read())
    except ValueError as error:
        raise ContentsUnknown(f"{path}: no JSON") from error
