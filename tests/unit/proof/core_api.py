"""Stand in for the CoreV1Api of the kubernetes client: a namespace, its pods, and names of other objects in it."""

import json
from copy import deepcopy
from typing import Any

from kubernetes.client.exceptions import ApiException

from gpustack.proof.workload import NAMESPACE


class Body:
    def __init__(self, document: Any) -> None:
        self.data = document if isinstance(document, bytes) else json.dumps(document).encode()


def build_refusal(status: int, message: str) -> ApiException:
    error = ApiException(status=status, reason="refused")
    error.body = json.dumps({"message": message})
    return error


class Api:
    """A CoreV1Api with one namespace. `ends` is how many looks a Terminating one takes to be gone, `other_objects` are
    of other kinds, in it, as RESOURCE/NAME."""

    def __init__(self) -> None:
        self.api_client = self
        self.configuration = self
        self.host = ""
        self.other_objects: list[str] = ["configmaps/kube-root-ca.crt", "serviceaccounts/default"]
        self.is_undiscovered = False
        self.space: dict[str, Any] | None = None
        self.pods: dict[str, dict[str, Any]] = {}
        self.accounts, self.ends = 0, 2
        self.fails: Exception | None = None
        self.nodes: dict[str, Any] = {}
        self.late_taints: list[Any] = []

    def read_namespace(self, name: str, **_: Any) -> Body:
        assert name == NAMESPACE
        if self.fails:
            raise self.fails
        if self.space and self.space.get("status"):
            self.ends -= 1
            self.space = self.space if self.ends > 0 else None
        if self.space is None:
            raise build_refusal(404, "not found")
        return Body(self.space)

    def create_namespace(self, body: dict[str, Any], **_: Any) -> None:
        assert self.space is None
        self.space = {**body, "metadata": {**body["metadata"], "uid": "space-1"}}

    def delete_namespace(self, name: str, body: dict[str, Any], **_: Any) -> None:
        assert self.space is not None
        assert body == {"preconditions": {"uid": self.space["metadata"]["uid"]}}
        assert not self.pods
        self.space = None

    def call_api(self, method: str, url: str, headers: dict[str, str], **_: Any) -> "Response":
        assert method == "GET"
        assert "PartialObjectMetadataList" in headers["Accept"] or url in ("/api", "/apis")
        if self.is_undiscovered:
            return Response(406, {})
        if url in ("/api", "/apis"):
            kinds = (
                ["configmaps", "persistentvolumeclaims", "pods", "serviceaccounts"] if url == "/api" else ["widgets"]
            )
            return Response(200, build_discovery("" if url == "/api" else "example.com", kinds))
        place, query = url.split("?")
        resource = place.rpartition("/")[2]
        assert query == "limit=50"
        names = [name for name in self.other_objects if name.startswith(f"{resource}/")]
        names += [f"pods/{name}" for name in self.pods] if resource == "pods" else []
        # An empty list of metadata is null: k8s.io/apiserver 0.36.3, pkg/endpoints/handlers/response.go.
        return Response(200, {"items": [{"metadata": {"name": name.partition("/")[2]}} for name in names] or None})

    def create_namespaced_pod(self, space: str, body: dict[str, Any], **_: Any) -> None:
        if self.accounts > 0:
            self.accounts -= 1
            raise build_refusal(
                403, f'error looking up service account {space}/default: serviceaccount "default" not found'
            )
        uid = f"uid-{len(self.pods)}-{body['metadata']['name']}"
        self.pods[body["metadata"]["name"]] = {**body, "metadata": {**body["metadata"], "uid": uid}}

    def list_namespaced_pod(self, space: str, label_selector: str = "", **_: Any) -> Body:
        requirements = [part.partition("=") for part in label_selector.split(",")]
        assert requirements
        chosen_pods = [
            pod for pod in self.pods.values() if is_selected(pod["metadata"].get("labels", {}), requirements)
        ]
        return Body({"items": chosen_pods})

    def read_node(self, name: str, **_: Any) -> Body:
        """Read a node; somebody else taints it right after, as often as `late_taints` says."""
        node, body = self.nodes[name], Body(deepcopy(self.nodes[name]))
        if self.late_taints:
            node["spec"].setdefault("taints", []).append(self.late_taints.pop())
            node["metadata"]["resourceVersion"] += "1"
        return body

    def patch_node(self, name: str, body: dict[str, Any], field_manager: str, **_: Any) -> None:
        node = self.nodes[name]
        if body["metadata"]["resourceVersion"] != node["metadata"]["resourceVersion"]:
            raise build_refusal(409, "the object has been modified")
        node["spec"] = {"taints": body["spec"]["taints"]} if body["spec"]["taints"] else {}

    def delete_namespaced_pod(self, name: str, space: str, body: dict[str, Any], **_: Any) -> None:
        if name not in self.pods:
            raise build_refusal(404, "not found")
        if body != {"preconditions": {"uid": self.pods[name]["metadata"]["uid"]}}:
            raise build_refusal(409, "the UID in the precondition does not match")
        del self.pods[name]

    def read_namespaced_pod_log(self, name: str, space: str, container: str, **_: Any) -> Body:
        if name not in self.pods:
            raise build_refusal(404, "not found")
        return Body(b"Test PASSED\n\xff")

    def list_namespaced_event(self, space: str, field_selector: str, **_: Any) -> Body:
        events = [
            {"reason": "FailedMount", "message": "older", "lastTimestamp": "2026-11-20T10:00:00Z"},
            {"reason": "FailedCreatePodSandBox", "message": "no\n network", "lastTimestamp": "2026-11-20T10:00:05Z"},
        ]
        return Body({"items": events if "proof-1" in field_selector else []})


class Response:
    def __init__(self, status: int, document: Any) -> None:
        self.status, self.reason, self.document = status, "Not Acceptable", document

    def read(self) -> str:
        return json.dumps(self.document)


def build_discovery(group: str, kinds: list[str]) -> dict[str, Any]:
    """Return the kinds of one version of a group as Kubernetes 1.36 lists them."""
    resources = [
        {"resource": kind, "scope": "Namespaced", "verbs": ["create", "delete", "get", "list"]} for kind in kinds
    ]
    resources.append({"resource": "events", "scope": "Namespaced", "verbs": ["delete", "list"]})
    resources.append({"resource": "measures", "scope": "Namespaced", "verbs": ["get", "list"]})
    resources.append({"resource": "nodes", "scope": "Cluster", "verbs": ["delete", "list"]})
    versions = [{"version": "v1", "resources": resources, "freshness": "Current"}]
    return {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": group}, "versions": versions}]}


def is_selected(labels: dict[str, str], requirements: list[tuple[str, str, str]]) -> bool:
    return all(key in labels and (not equals or labels[key] == value) for key, equals, value in requirements)
