"""Namespace and pods through the kubernetes client: only what is ours is touched, and all of it goes."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from kubernetes.client import ApiClient, Configuration, CoreV1Api

from gpustack.errors import RolloutError
from gpustack.probes.proof import PROCESS, RUN
from gpustack.process import name_process
from gpustack.proof.pod import ApiRefused, Pods
from gpustack.proof.workload import LABELS, NAMESPACE, build_namespace, build_proof_pod
from tests.unit.proof.core_api import Api, build_refusal


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def pods(api: Api) -> Pods:
    fake_time = [0.0]
    return Pods(api, lambda seconds: fake_time.__setitem__(0, fake_time[0] + seconds), lambda: fake_time[0])


def test_pods_are_made_used_and_removed(api: Api, pods: Pods) -> None:
    assert pods.open() == 0
    assert api.space is not None
    assert api.space["metadata"]["labels"].items() >= LABELS.items()
    for run in ("a", "a", "b"):
        pods.create(build_proof_pod(f"proof-{len(api.pods)}", "gpu1", run, 60))
    assert len(pods.list_pods("a")) == 2
    assert pods.read_log("proof-0", "kernel") == "Test PASSED\n\ufffd"
    assert pods.read_log("none", "kernel") is None
    assert pods.find_warning("proof-1") == "FailedCreatePodSandBox: no network"
    assert pods.find_warning("proof-2") == ""
    assert pods.remove("a")
    assert list(api.pods) == ["proof-2"], "the pods of another run stay, and the namespace with them"
    assert pods.read_namespace() is not None
    assert pods.remove("b")
    assert pods.read_namespace() is None
    assert pods.remove("b")


def leave(api: Api, name: str, labels: dict[str, str], process: str = "", phase: str = "Running") -> None:
    metadata = {"name": name, "uid": f"uid-{name}", "labels": labels, "annotations": {PROCESS: process}}
    api.pods[name] = {"metadata": metadata, "status": {"phase": phase}}


def test_what_an_earlier_proof_left_goes_first(api: Api, pods: Pods) -> None:
    own_name, dead = name_process(), name_process().rpartition(".")[0] + ".1"
    assert own_name != dead
    api.space = build_namespace()
    leave(api, "ended", LABELS | {RUN: "x"}, "elsewhere.1.1", "Failed")
    leave(api, "killed", LABELS | {RUN: "x"}, dead)
    stay = {
        "of another machine": (LABELS | {RUN: "y"}, "0123456789abcdef.1.1"),
        "of a run that goes on": (LABELS | {RUN: "z"}, own_name),
        "of an earlier release": (LABELS | {RUN: "v"}, ""),
        "of somebody else": ({"app": "x"}, dead),
        "of somebody who uses our label": ({RUN: "x"}, dead),
    }
    for name, (labels, process) in stay.items():
        leave(api, name, labels, process)
    assert pods.open() == 2
    assert list(api.pods) == list(stay)


def test_two_operators_do_not_remove_each_other_s_pods(api: Api, pods: Pods) -> None:
    other_pods = Pods(api, pods.wait, pods.clock)
    for run, pods_of_run in (("a", pods), ("b", other_pods)):
        assert pods_of_run.open() == 0
        pods_of_run.create(build_proof_pod(f"proof-{run}", "gpu1", run, 60))
    assert sorted(api.pods) == ["proof-a", "proof-b"]
    assert pods.remove("a")
    assert list(api.pods) == ["proof-b"]
    assert api.space is not None


@pytest.mark.parametrize("kind", ["persistentvolumeclaims/data", "configmaps/settings", "widgets/one", "pods/debug"])
def test_a_namespace_with_something_else_in_it_stays(api: Api, pods: Pods, kind: str) -> None:
    pods.open()
    pods.create(build_proof_pod("proof-0", "gpu1", "a", 60))
    api.other_objects.append(kind)
    assert pods.remove("a")
    assert (api.pods, api.space is None) == ({}, False)
    api.other_objects.remove(kind)
    assert pods.remove("a")
    assert api.space is None


def test_a_namespace_of_which_not_all_is_known_stays(api: Api, pods: Pods) -> None:
    pods.open()
    api.is_undiscovered = True
    assert pods.remove("a")
    assert api.space is not None


def test_a_pod_of_the_same_name_that_was_made_since_stays(api: Api, pods: Pods) -> None:
    pods.open()
    pods.create(build_proof_pod("proof-0", "gpu1", "a", 60))
    (listed_pod,) = pods.list_pods("a")
    api.pods["proof-0"] = {"metadata": {**listed_pod["metadata"], "uid": "another"}}
    assert pods.clear([listed_pod])
    assert list(api.pods) == ["proof-0"]


@pytest.mark.parametrize("labels", [None, {}, {"app.kubernetes.io/managed-by": "Helm"}])
def test_a_namespace_of_somebody_else_is_left_alone(api: Api, pods: Pods, labels: dict[str, str] | None) -> None:
    foreign_namespace = {"metadata": {"name": NAMESPACE, **({} if labels is None else {"labels": labels})}}
    api.space, api.pods = foreign_namespace, {"theirs": {"metadata": {"name": "theirs"}}}
    with pytest.raises(RolloutError) as excinfo:
        pods.open()
    assert excinfo.value.reference == "proof-namespace-foreign"
    assert pods.remove("a")
    assert (api.space, list(api.pods)) == (foreign_namespace, ["theirs"])


def test_a_namespace_that_ends_is_waited_for(api: Api, pods: Pods) -> None:
    api.space = {**build_namespace(), "status": {"phase": "Terminating"}}
    assert pods.open() == 0
    assert api.space is not None
    assert "status" not in api.space


def test_a_namespace_that_does_not_end_is_reported(api: Api, pods: Pods) -> None:
    api.space, api.ends = {**build_namespace(), "status": {"phase": "Terminating"}}, 10**6
    with pytest.raises(RolloutError) as excinfo:
        pods.open()
    assert excinfo.value.reference == "proof-namespace-stuck"


def test_the_service_account_of_a_new_namespace_is_waited_for(api: Api, pods: Pods) -> None:
    pods.open()
    api.accounts = 5
    pods.create(build_proof_pod("proof-0", "gpu1", "a", 60))
    assert list(api.pods) == ["proof-0"]
    api.accounts = 10**6
    with pytest.raises(ApiRefused, match="service account"):
        pods.create(build_proof_pod("proof-1", "gpu1", "a", 60))


def test_errors_are_in_the_api_s_words(api: Api, pods: Pods) -> None:
    api.fails = build_refusal(403, "namespaces is forbidden")
    with pytest.raises(ApiRefused, match="namespaces is forbidden"):
        pods.open()
    api.fails = ConnectionResetError("reset by peer")
    with pytest.raises(ApiRefused, match="the API was not reached: reset by peer"):
        pods.remove("a")


class Recorder(BaseHTTPRequestHandler):
    """An API that answers everything, and nothing: what the real client lets through arrives here."""

    requests: ClassVar[list[tuple[str, Any]]] = []
    content_types: ClassVar[list[str | None]] = []

    def answer(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        self.requests.append((f"{self.command} {self.path}", body))
        self.content_types.append(self.headers.get("Content-Type"))
        missing = self.command == "GET" and self.path.endswith(f"/{NAMESPACE}")
        text = b'{"items": []}' if not missing else b'{"message": "not found"}'
        text = b'{"metadata": {"uid": "node-1"}}' if "/nodes/" in self.path else text
        self.send_response(404 if missing else 200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - the names of http.server

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def real() -> Iterator[Pods]:
    """Pods through the real client, which checks types of arguments and of whole manifests."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Recorder.requests.clear()
    Recorder.content_types.clear()
    configuration = Configuration(host=f"http://127.0.0.1:{server.server_port}")
    configuration.proxy = None
    with ApiClient(configuration) as client:
        yield Pods(CoreV1Api(client))
    server.shutdown()
    server.server_close()


def test_the_real_client_takes_what_we_give_it(real: Pods) -> None:
    pod = build_proof_pod("proof-0", "gpu1", "a", 60)
    assert real.open() == 0
    real.create(pod)
    assert real.list_pods("a") == []
    assert real.read_log("proof-0", "kernel") == '{"items": []}'
    assert real.find_warning("proof-0") == ""
    assert real.clear([{"metadata": {"name": "proof-0", "uid": "u"}}])
    assert real.remove("a")
    assert not real.is_empty()
    requests = [line.partition("?")[0] for line, _ in Recorder.requests]
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    assert requests == [
        f"GET /api/v1/namespaces/{NAMESPACE}",
        "POST /api/v1/namespaces",
        f"POST {pods}",
        f"GET {pods}",
        f"GET {pods}/proof-0/log",
        f"GET /api/v1/namespaces/{NAMESPACE}/events",
        f"DELETE {pods}/proof-0",
        f"GET {pods}",
        f"GET /api/v1/namespaces/{NAMESPACE}",
        "GET /api",
    ]
    assert Recorder.requests[2][1] == pod
    assert Recorder.requests[6][1] == {"preconditions": {"uid": "u"}}


def test_the_lease_of_a_proof_is_applied_and_goes_with_its_node(real: Pods) -> None:
    real.record_proof("gpu1", "gpu-operator", datetime(2026, 11, 30, 12, tzinfo=UTC), "anna@desk", "gpustack-proof")
    lines, bodies = zip(*Recorder.requests, strict=True)
    leases = "/apis/coordination.k8s.io/v1/namespaces/gpu-operator/leases"
    assert lines[0] == "GET /api/v1/nodes/gpu1"
    assert lines[1] == f"PATCH {leases}/gpustack-proof-gpu1?fieldManager=gpustack-proof&force=true"
    assert Recorder.content_types[1] == "application/apply-patch+yaml"
    assert bodies[1]["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Node", "name": "gpu1", "uid": "node-1"}
    ]
    assert bodies[1]["spec"] == {"holderIdentity": "anna@desk", "renewTime": "2026-11-30T12:00:00.000000Z"}


def test_pods_that_do_not_go_are_reported(api: Api, pods: Pods, monkeypatch: pytest.MonkeyPatch) -> None:
    pods.open()
    pods.create(build_proof_pod("proof-0", "gpu1", "a", 60))
    monkeypatch.setattr(Api, "delete_namespaced_pod", lambda *_, **__: None)
    assert not pods.remove("a")
    assert api.space is not None


def test_the_pod_asks_for_its_gpu_and_node() -> None:
    pod = build_proof_pod("proof-0", "gpu1", "a", 180)
    spec = pod["spec"]
    assert spec["activeDeadlineSeconds"] == 240
    assert "nodeName" not in spec, "the scheduler counts GPUs"
    containers = [*spec["initContainers"], *spec["containers"]]
    assert [container["name"] for container in containers] == ["kernel", "uuid", "held"]
    assert {container["resources"]["limits"]["nvidia.com/gpu"] for container in containers} == {"1"}
    assert "command" not in containers[0]
    assert (spec["restartPolicy"], spec["automountServiceAccountToken"]) == ("Never", False)
    assert pod["metadata"]["labels"].items() >= LABELS.items()
    assert pod["metadata"]["namespace"] == NAMESPACE


GATE: dict[str, Any] = {"key": "gpustack.io/unproven", "value": "reboot", "effect": "NoSchedule"}
TEAM: dict[str, Any] = {"key": "team", "value": "a", "effect": "NoSchedule"}


def make_node(api: Api, *taints: Any) -> None:
    api.nodes = {"gpu1": {"metadata": {"resourceVersion": "7"}, "spec": {"taints": list(taints)} if taints else {}}}


@pytest.mark.parametrize(("taints", "remaining"), [((GATE,), None), ((TEAM, GATE), [TEAM]), ((TEAM,), [TEAM])])
def test_an_open_gate_leaves_the_other_taints(api: Api, pods: Pods, taints: tuple[Any, ...], remaining: Any) -> None:
    make_node(api, *taints)
    assert pods.open_gate("gpu1", "gpustack-proof") == ""
    assert api.nodes["gpu1"]["spec"].get("taints") == remaining


def test_a_taint_that_comes_while_the_gate_opens_is_not_lost(api: Api, pods: Pods) -> None:
    make_node(api, GATE)
    api.late_taints = [TEAM]
    assert pods.open_gate("gpu1", "gpustack-proof") == ""
    assert api.nodes["gpu1"]["spec"]["taints"] == [TEAM]


def test_a_node_that_changes_without_end_keeps_its_gate(api: Api, pods: Pods) -> None:
    make_node(api, GATE)
    api.late_taints = [TEAM] * 9
    with pytest.raises(ApiRefused):
        pods.open_gate("gpu1", "gpustack-proof")
    assert GATE in api.nodes["gpu1"]["spec"]["taints"]


def test_the_gate_of_a_reset_stays(api: Api, pods: Pods) -> None:
    make_node(api, GATE | {"value": "reset"})
    assert pods.open_gate("gpu1", "gpustack-proof") == "reset"
    assert len(api.nodes["gpu1"]["spec"]["taints"]) == 1
