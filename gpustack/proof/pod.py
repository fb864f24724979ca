"""The pods of a proof, created and removed with the kubernetes client, which no other module uses.

The API is reached through a port forwarded over SSH, so its certificate is checked against the name of the API in the
inventory and not against the local address. The credential is in a private folder in memory.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from gpustack.ask.api_list import read_items
from gpustack.ask.probe import UNREADABLE
from gpustack.ask.transport.forward import PortForwarder
from gpustack.command import Command
from gpustack.errors import RolloutError
from gpustack.files.json_text import load_json
from gpustack.files.write import write_file
from gpustack.probes.kubernetes.gate import find_gate, remove_gate
from gpustack.probes.proof import PROCESS, RUN
from gpustack.process import is_dead
from gpustack.proof.contents import ContentsUnknown, list_contents
from gpustack.proof.kubeconfig import Access
from gpustack.proof.lease import APPLY, build_proof_lease
from gpustack.proof.workload import LABELS, NAMESPACE, build_namespace

LIMIT = 10
# Limits in seconds: for controllers to create the service account of a new namespace, for pods to end, for a namespace
# to end, and between two reads.
READY_LIMIT, PODS_LIMIT, GONE_LIMIT, READ_PAUSE = 15.0, 20.0, 60.0, 0.25
LOG = 4096
GATE_ATTEMPTS = 5
NOT_FOUND, CONFLICT = 404, 409
FINAL_PHASES = ("Succeeded", "Failed")


class ApiRefused(Exception):
    """Report that the API refused a request, with its message. `code` is the HTTP status, None without an answer."""

    def __init__(self, reason: str, code: int | None = None) -> None:
        super().__init__(reason)
        self.code = code


@contextmanager
def raise_refusals() -> Iterator[None]:
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except ApiException as error:
        raise ApiRefused(parse_reason(error.body) or str(error.reason), error.status) from error
    except (HTTPError, OSError) as error:
        raise ApiRefused(f"the API was not reached: {error}") from error
    except (ValueError, KeyError) as error:
        raise ApiRefused(f"the API gave an answer of another form: {error}") from error


def parse_reason(body: Any) -> str:
    try:
        return str(load_json(body)["message"])
    except UNREADABLE:
        return ""


def connect_client(access: Access, forwarder: PortForwarder, folder: Path) -> Any:
    """Return a CoreV1Api. Raise OSError where the API cannot be forwarded, or the folder takes no file."""
    from kubernetes.client import ApiClient, Configuration, CoreV1Api

    server, credential = access.server, access.credential
    address, port = forwarder.forward(server.name, server.port)
    configuration = Configuration(host=f"https://{address}:{port}")
    configuration.proxy = None
    configuration.retries = False
    configuration.tls_server_name = server.name
    configuration.ssl_ca_cert = write_private(folder / "ca.crt", credential.authority)
    configuration.cert_file = write_private(folder / "client.crt", credential.certificate)
    configuration.key_file = write_private(folder / "client.key", credential.key)
    return CoreV1Api(ApiClient(configuration))


def write_private(path: Path, pem: str) -> str:
    write_file(path, pem)
    return str(path)


@dataclass(frozen=True)
class Pods:
    """Manage pods through `api`, a CoreV1Api. Objects are read as plain documents."""

    api: Any
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def open(self) -> int:
        """Ensure the namespace, remove the pods of earlier runs that have ended, and return their number. Pods of a run
        that may be active are kept. Raise ApiRefused, and RolloutError where the namespace was not created by gpustack,
        or does not terminate."""
        space = self.read_namespace()
        if space is not None and is_foreign(space):
            message = f"The namespace {NAMESPACE} was not made by gpustack; nothing was created."
            reason = f"It has no label {next(iter(LABELS))}=gpustack."
            hint = Command("kubectl", "get", "all", "--namespace", NAMESPACE)
            raise RolloutError("proof-namespace-foreign", message, reason, hint)
        if space is not None and space.get("status", {}).get("phase") == "Terminating":
            if not self.wait_until(lambda: self.read_namespace() is None, GONE_LIMIT):
                message = f"The namespace {NAMESPACE} of an earlier proof does not come to its end."
                reason = f"It is Terminating for more than {GONE_LIMIT:.0f} s: something in it, or the API, holds it."
                hint = Command("kubectl", "get", "namespace", NAMESPACE, "--output", "yaml")
                raise RolloutError("proof-namespace-stuck", message, reason, hint)
            space = None
        if space is None:
            with raise_refusals():
                self.api.create_namespace(build_namespace(), _request_timeout=LIMIT)
            return 0
        old_pods = [pod for pod in self.list_pods() if is_over(pod)]
        self.clear(old_pods)
        return len(old_pods)

    def read_namespace(self) -> dict[str, Any] | None:
        try:
            with raise_refusals():
                return parse_document(self.api.read_namespace(NAMESPACE, **READ))
        except ApiRefused as error:
            if error.code == NOT_FOUND:
                return None
            raise

    def create(self, manifest: Mapping[str, Any]) -> None:
        """Create a pod. Pods of a new namespace are forbidden until its service account exists, so creation is retried.
        Raise ApiRefused."""
        deadline = self.clock() + READY_LIMIT
        while True:
            try:
                with raise_refusals():
                    self.api.create_namespaced_pod(NAMESPACE, manifest, _request_timeout=LIMIT)
                return
            except ApiRefused as error:
                early = error.code == 403 and "service account" in str(error)
                if not early or self.clock() > deadline:
                    raise
            self.wait(READ_PAUSE)

    def list_pods(self, run: str = "") -> list[dict[str, Any]]:
        """Return the pods of a run, or of all runs of gpustack. Raise ApiRefused."""
        selector = ",".join([*(f"{name}={value}" for name, value in LABELS.items()), f"{RUN}={run}" if run else RUN])
        with raise_refusals():
            return read_items(parse_document(self.api.list_namespaced_pod(NAMESPACE, label_selector=selector, **READ)))

    def delete(self, pod: Mapping[str, Any]) -> None:
        """Delete a pod by its UID, so that a later pod of the same name is kept. Raise ApiRefused."""
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        try:
            with raise_refusals():
                self.api.delete_namespaced_pod(
                    name, NAMESPACE, body={"preconditions": {"uid": uid}}, _request_timeout=LIMIT
                )
        except ApiRefused as error:
            if error.code not in (NOT_FOUND, CONFLICT):
                raise

    def read_log(self, pod: str, container: str, max_bytes: int = LOG) -> str | None:
        """Return the first `max_bytes` of the output of a container, and None where it cannot be read."""
        try:
            with raise_refusals():
                answer = self.api.read_namespaced_pod_log(
                    pod, NAMESPACE, container=container, limit_bytes=max_bytes, **READ
                )
                return str(answer.data.decode(errors="replace"))
        except ApiRefused:
            return None

    def find_warning(self, pod: str) -> str:
        """Return the last warning event of a pod. The text is empty where there is none, or where it cannot be read."""
        selector = f"involvedObject.name={pod},type=Warning"
        try:
            with raise_refusals():
                response = self.api.list_namespaced_event(NAMESPACE, field_selector=selector, **READ)
                events = read_items(parse_document(response))
            last: dict[str, Any] = max(
                events, key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "", default={}
            )
            words = " ".join(last.get("message", "").split())
        except (ApiRefused, *UNREADABLE):
            return ""
        return f"{last.get('reason', '')}: {words}" if events else ""

    def mark_node(self, node: str, name: str, text: str, manager: str) -> None:
        """Set an annotation of a node, as this field manager. Raise ApiRefused."""
        body = {"metadata": {"annotations": {name: text}}}
        with raise_refusals():
            self.api.patch_node(node, body, field_manager=manager, **READ)

    def record_proof(self, node: str, namespace: str, moment: datetime, author: str, manager: str) -> None:
        """Create or renew the Lease that tells when the node was proven. Raise ApiRefused."""
        from kubernetes.client import CoordinationV1Api

        with raise_refusals():
            uid = parse_document(self.api.read_node(node, **READ))["metadata"]["uid"]
            body = build_proof_lease(node, uid, namespace, moment, author)
            options = {"field_manager": manager, "force": True, "_content_type": APPLY, **READ}
            leases = CoordinationV1Api(self.api.api_client)
            leases.patch_namespaced_lease(body["metadata"]["name"], namespace, body, **options)

    def open_gate(self, node: str, manager: str) -> str:
        """Remove the gate of a node, and return the cause for which it stays, empty where it is gone. The taints of a
        node are one list: the list is written for exactly the version that was read. Raise ApiRefused."""
        for attempt in range(GATE_ATTEMPTS):
            with raise_refusals():
                document = parse_document(self.api.read_node(node, **READ))
                version, taints = document["metadata"]["resourceVersion"], document["spec"].get("taints", [])
                gate = find_gate(taints)
            if gate is None or gate.needs_diagnostic:
                return gate.cause if gate else ""
            body = {"metadata": {"resourceVersion": version}, "spec": {"taints": remove_gate(taints) or None}}
            try:
                with raise_refusals():
                    self.api.patch_node(node, body, field_manager=manager, **READ)
                    return ""
            except ApiRefused as error:
                if error.code != CONFLICT or attempt == GATE_ATTEMPTS - 1:
                    raise
        return ""

    def clear(self, pods: Sequence[Mapping[str, Any]]) -> bool:
        """Delete pods, wait until they are gone, and return False where they remain. Raise ApiRefused."""
        for pod in pods:
            self.delete(pod)
        uids = {pod["metadata"]["uid"] for pod in pods}
        return not uids or self.wait_until(
            lambda: not uids & {pod["metadata"]["uid"] for pod in self.list_pods()}, PODS_LIMIT
        )

    def remove(self, run: str) -> bool:
        """Remove the pods of a run, and the namespace where gpustack created it and it is empty. Return False where
        pods remain. The end of the namespace is not awaited. Raise ApiRefused."""
        space = self.read_namespace()
        if space is None or is_foreign(space):
            return True
        pods_gone = self.clear(self.list_pods(run))
        if pods_gone and self.is_empty():
            with raise_refusals():
                preconditions = {"uid": space["metadata"]["uid"]}
                self.api.delete_namespace(NAMESPACE, body={"preconditions": preconditions}, _request_timeout=LIMIT)
        return pods_gone

    def is_empty(self) -> bool:
        """Tell whether the namespace has only objects that Kubernetes creates. Return False where that is unknown."""
        try:
            with raise_refusals():
                return not list_contents(self.api.api_client, NAMESPACE, LIMIT)
        except (ApiRefused, ContentsUnknown):
            return False

    def wait_until(self, is_done: Callable[[], bool], limit: float) -> bool:
        end = self.clock() + limit
        while not is_done():
            if self.clock() > end:
                return False
            self.wait(READ_PAUSE)
        return True


READ: dict[str, Any] = {"_preload_content": False, "_request_timeout": LIMIT}
"""Arguments of a read. The body is returned as it is, and not parsed into the models of the client."""


def parse_document(response: Any) -> dict[str, Any]:
    """Parse an object of the API. Raise ValueError for a body that is none."""
    try:
        json = load_json(response.data)
    except RecursionError as error:
        raise ValueError("it has too many levels") from error
    if not isinstance(json, dict):
        raise ValueError("it is no object")
    return json


def is_foreign(namespace: Mapping[str, Any]) -> bool:
    labels = namespace["metadata"].get("labels", {})
    return any(labels.get(name) != value for name, value in LABELS.items())


def is_over(pod: Mapping[str, Any]) -> bool:
    """Tell whether a pod of gpustack has ended, or was created by a gpustack process of this machine that has ended."""
    process = pod["metadata"].get("annotations", {}).get(PROCESS, "")
    return pod.get("status", {}).get("phase") in FINAL_PHASES or is_dead(process)
