"""Namespace and pods through the kubernetes client: only what is ours is touched, and all of it goes."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from kubernetes.client import ApiClient, Configuration, CoreV1Api
from kubernetes.client.exceptions import ApiException

from gpustack.errors import RolloutError
from gpustack.probes.proof import RUN
from gpustack.proof.pod import ApiRefused, Pods
from gpustack.proof.workload import NAMESPACE, OURS, namespace_manifest, pod_manifest


class Body:
    def __init__(self, document: Any) -> None:
        self.data = document if isinstance(document, bytes) else json.dumps(document).encode()


def refusal(status: int, message: str) -> ApiException:
    error = ApiException(status=status, reason="refused")
    error.body = json.dumps({"message": message})
    return error


class Api:
    """A CoreV1Api with one namespace. `ends` is how many looks a Terminating one takes to be gone."""

    def __init__(self) -> None:
        self.space: dict[str, Any] | None = None
        self.pods: dict[str, dict[str, Any]] = {}
        self.accounts, self.ends = 0, 2
        self.fails: Exception | None = None

    def read_namespace(self, name: str, **_: Any) -> Body:
        assert name == NAMESPACE
        if self.fails:
            raise self.fails
        if self.space and self.space.get("status"):
            self.ends -= 1
            self.space = self.space if self.ends > 0 else None
        if self.space is None:
            raise refusal(404, "not found")
        return Body(self.space)

    def create_namespace(self, body: dict[str, Any], **_: Any) -> None:
        assert self.space is None
        self.space = body

    def delete_namespace(self, name: str, **_: Any) -> None:
        assert not self.pods
        self.space = None

    def create_namespaced_pod(self, space: str, body: dict[str, Any], **_: Any) -> None:
        if self.accounts > 0:
            self.accounts -= 1
            raise refusal(403, f'error looking up service account {space}/default: serviceaccount "default" not found')
        self.pods[body["metadata"]["name"]] = body

    def list_namespaced_pod(self, space: str, label_selector: str = "", **_: Any) -> Body:
        key, value = label_selector.split("=") if label_selector else ("", "")
        chosen = [one for one in self.pods.values() if not key or one["metadata"]["labels"].get(key) == value]
        return Body({"items": chosen})

    def delete_collection_namespaced_pod(self, space: str, **_: Any) -> None:
        self.pods.clear()

    def read_namespaced_pod_log(self, name: str, space: str, container: str, **_: Any) -> Body:
        if name not in self.pods:
            raise refusal(404, "not found")
        return Body(b"Test PASSED\n\xff")

    def list_namespaced_event(self, space: str, field_selector: str, **_: Any) -> Body:
        events = [
            {"reason": "FailedMount", "message": "older", "lastTimestamp": "2026-11-20T10:00:00Z"},
            {"reason": "FailedCreatePodSandBox", "message": "no\n network", "lastTimestamp": "2026-11-20T10:00:05Z"},
        ]
        return Body({"items": events if "proof-1" in field_selector else []})


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def pods(api: Api) -> Pods:
    passed = [0.0]
    return Pods(api, lambda seconds: passed.__setitem__(0, passed[0] + seconds), lambda: passed[0])


def test_made_used_and_removed(api: Api, pods: Pods) -> None:
    assert pods.open() == 0
    assert api.space is not None
    assert api.space["metadata"]["labels"].items() >= OURS.items()
    for run in ("a", "a", "b"):
        pods.create(pod_manifest(f"proof-{len(api.pods)}", "gpu1", run, 60))
    assert len(pods.all("a")) == 2
    assert pods.log("proof-0", "kernel") == "Test PASSED\n\ufffd"
    assert pods.log("none", "kernel") is None
    assert pods.warning("proof-1") == "FailedCreatePodSandBox: no network"
    assert pods.warning("proof-2") == ""
    assert pods.remove()
    assert not api.pods
    assert pods.space() is None
    assert pods.remove()


def test_what_an_earlier_proof_left_goes_first(api: Api, pods: Pods) -> None:
    api.space, api.pods = namespace_manifest(), {"old": {"metadata": {"name": "old", "labels": {RUN: "x"}}}}
    assert pods.open() == 1
    assert (api.space, api.pods) == (namespace_manifest(), {})


@pytest.mark.parametrize("labels", [None, {}, {"app.kubernetes.io/managed-by": "Helm"}])
def test_a_namespace_of_somebody_else_is_left_alone(api: Api, pods: Pods, labels: dict[str, str] | None) -> None:
    theirs = {"metadata": {"name": NAMESPACE, **({} if labels is None else {"labels": labels})}}
    api.space, api.pods = theirs, {"theirs": {"metadata": {"name": "theirs"}}}
    with pytest.raises(RolloutError) as raised:
        pods.open()
    assert raised.value.reference == "proof-namespace-foreign"
    assert pods.remove()
    assert (api.space, list(api.pods)) == (theirs, ["theirs"])


def test_one_that_ends_is_waited_for(api: Api, pods: Pods) -> None:
    api.space = {**namespace_manifest(), "status": {"phase": "Terminating"}}
    assert pods.open() == 0
    assert api.space == namespace_manifest()


def test_one_that_does_not_end_is_reported(api: Api, pods: Pods) -> None:
    api.space, api.ends = {**namespace_manifest(), "status": {"phase": "Terminating"}}, 10**6
    with pytest.raises(RolloutError) as raised:
        pods.open()
    assert raised.value.reference == "proof-namespace-stuck"


def test_the_service_account_of_a_new_namespace_is_waited_for(api: Api, pods: Pods) -> None:
    pods.open()
    api.accounts = 5
    pods.create(pod_manifest("proof-0", "gpu1", "a", 60))
    assert list(api.pods) == ["proof-0"]
    api.accounts = 10**6
    with pytest.raises(ApiRefused, match="service account"):
        pods.create(pod_manifest("proof-1", "gpu1", "a", 60))


def test_errors_are_in_the_api_s_words(api: Api, pods: Pods) -> None:
    api.fails = refusal(403, "namespaces is forbidden")
    with pytest.raises(ApiRefused, match="namespaces is forbidden"):
        pods.open()
    api.fails = ConnectionResetError("reset by peer")
    with pytest.raises(ApiRefused, match="the API was not reached: reset by peer"):
        pods.remove()


class Recorder(BaseHTTPRequestHandler):
    """An API that answers everything, and nothing: what the real client lets through arrives here."""

    requests: ClassVar[list[tuple[str, Any]]] = []

    def answer(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        self.requests.append((f"{self.command} {self.path}", body))
        missing = self.command == "GET" and self.path.endswith(f"/{NAMESPACE}")
        text = b'{"items": []}' if not missing else b'{"message": "not found"}'
        self.send_response(404 if missing else 200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = answer  # noqa: N815 - the names of http.server

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def real() -> Iterator[Pods]:
    """With the real client, which checks types of arguments and of whole manifests."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Recorder.requests.clear()
    configuration = Configuration(host=f"http://127.0.0.1:{server.server_port}")
    configuration.proxy = None
    with ApiClient(configuration) as client:
        yield Pods(CoreV1Api(client))
    server.shutdown()
    server.server_close()


def test_the_real_client_takes_what_we_give_it(real: Pods) -> None:
    made = pod_manifest("proof-0", "gpu1", "a", 60)
    assert real.open() == 0
    real.create(made)
    assert real.all("a") == []
    assert real.log("proof-0", "kernel") == '{"items": []}'
    assert real.warning("proof-0") == ""
    assert real.clear()
    assert real.remove()
    asked = [line.partition("?")[0] for line, _ in Recorder.requests]
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    assert asked == [
        f"GET /api/v1/namespaces/{NAMESPACE}",
        "POST /api/v1/namespaces",
        f"POST {pods}",
        f"GET {pods}",
        f"GET {pods}/proof-0/log",
        f"GET /api/v1/namespaces/{NAMESPACE}/events",
        f"DELETE {pods}",
        f"GET {pods}",
        f"GET /api/v1/namespaces/{NAMESPACE}",
    ]
    assert Recorder.requests[2][1] == made


def test_pods_that_do_not_go_are_reported(api: Api, pods: Pods, monkeypatch: pytest.MonkeyPatch) -> None:
    pods.open()
    pods.create(pod_manifest("proof-0", "gpu1", "a", 60))
    monkeypatch.setattr(Api, "delete_collection_namespaced_pod", lambda *_, **__: None)
    monkeypatch.setattr(Api, "delete_namespace", lambda *_, **__: None)
    assert not pods.remove()


def test_the_pod_as_it_is_made() -> None:
    made = pod_manifest("proof-0", "gpu1", "a", 180)
    spec = made["spec"]
    assert spec["activeDeadlineSeconds"] == 240
    assert "nodeName" not in spec, "the scheduler counts GPUs"
    containers = [*spec["initContainers"], *spec["containers"]]
    assert [one["name"] for one in containers] == ["kernel", "uuid", "held"]
    assert {one["resources"]["limits"]["nvidia.com/gpu"] for one in containers} == {"1"}
    assert "command" not in containers[0]
    assert (spec["restartPolicy"], spec["automountServiceAccountToken"]) == ("Never", False)
    assert made["metadata"]["labels"].items() >= OURS.items()
    assert made["metadata"]["namespace"] == NAMESPACE
