"""Creates, watches and removes the pods of a proof. The only file that knows the kubernetes client.

The API is reached through a way over SSH, so its name is not the address that is connected to: the certificate is
checked against the name of the API in the inventory. The credential lies in a private folder in memory.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpustack.ask.transport.forward import PortForwarder
from gpustack.command import Command
from gpustack.errors import RolloutError
from gpustack.files.json_text import load_json
from gpustack.files.write import write_file
from gpustack.probes.proof import PROCESS, RUN
from gpustack.process import is_dead
from gpustack.proof.contents import ContentsUnknown, list_contents
from gpustack.proof.kubeconfig import Access
from gpustack.proof.workload import NAMESPACE, OURS, namespace_manifest

LIMIT = 10
# Seconds: for the controllers to make what pods of a new namespace need, for pods that are gone, for a namespace.
READY_LIMIT, PODS_LIMIT, GONE_LIMIT, AGAIN = 15.0, 20.0, 60.0, 0.25
LOG = 4096
NOT_FOUND, CONFLICT = 404, 409
ENDED = ("Succeeded", "Failed")


class ApiRefused(Exception):
    """The API did not do what was asked; the text is its own. `code` is the HTTP status, 0 when there was none."""

    def __init__(self, why: str, code: int = 0) -> None:
        super().__init__(why)
        self.code = code


@contextmanager
def raise_refusals() -> Iterator[None]:
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except ApiException as error:
        raise ApiRefused(parse_reason(error.body) or str(error.reason), error.status or 0) from error
    except (HTTPError, OSError) as error:
        raise ApiRefused(f"the API was not reached: {error}") from error


def parse_reason(body: Any) -> str:
    try:
        return str(load_json(body)["message"])
    except (ValueError, KeyError, TypeError):
        return ""


def connect_client(access: Access, way: PortForwarder, folder: Path) -> Any:
    """Return a CoreV1Api. Raises OSError where the way leads nowhere, or the folder takes no file."""
    from kubernetes.client import ApiClient, Configuration, CoreV1Api

    server, credential = access.server, access.credential
    address, port = way.forward(server.name, server.port)
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
    """`api` is a CoreV1Api. What is read comes as plain documents."""

    api: Any
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def open(self) -> int:
        """Ensure the namespace, and remove pods of earlier runs that are over; return how many. Pods of a run that may
        still go on stay. Raises ApiRefused, and RolloutError where the namespace is not ours, or does not come to an
        end."""
        space = self.space()
        if space is not None and is_foreign(space):
            message = f"The namespace {NAMESPACE} was not made by gpustack; nothing was created."
            why = f"It has no label {next(iter(OURS))}=gpustack."
            hint = Command("kubectl", "get", "all", "--namespace", NAMESPACE)
            raise RolloutError("proof-namespace-foreign", message, why, hint)
        if space is not None and space.get("status", {}).get("phase") == "Terminating":
            if not self.until(lambda: self.space() is None, GONE_LIMIT):
                message = f"The namespace {NAMESPACE} of an earlier proof does not come to its end."
                why = f"It is Terminating for more than {GONE_LIMIT:.0f} s: something in it, or the API, holds it."
                hint = Command("kubectl", "get", "namespace", NAMESPACE, "--output", "yaml")
                raise RolloutError("proof-namespace-stuck", message, why, hint)
            space = None
        if space is None:
            with raise_refusals():
                self.api.create_namespace(namespace_manifest(), _request_timeout=LIMIT)
            return 0
        over = [pod for pod in self.all() if is_over(pod)]
        self.clear(over)
        return len(over)

    def space(self) -> dict[str, Any] | None:
        try:
            with raise_refusals():
                return read_document(self.api.read_namespace(NAMESPACE, **READ))
        except ApiRefused as refused:
            if refused.code == NOT_FOUND:
                return None
            raise

    def create(self, manifest: Mapping[str, Any]) -> None:
        """In a new namespace the service account is made a moment later, and pods are forbidden until then. Raises
        ApiRefused."""
        until = self.clock() + READY_LIMIT
        while True:
            try:
                with raise_refusals():
                    self.api.create_namespaced_pod(NAMESPACE, manifest, _request_timeout=LIMIT)
                return
            except ApiRefused as refused:
                early = refused.code == 403 and "service account" in str(refused)
                if not early or self.clock() > until:
                    raise
            self.wait(AGAIN)

    def all(self, run: str = "") -> list[dict[str, Any]]:
        """Return the pods of one run, or those of gpustack's runs. Raises ApiRefused."""
        chosen = ",".join([*(f"{name}={value}" for name, value in OURS.items()), f"{RUN}={run}" if run else RUN])
        with raise_refusals():
            return list(read_document(self.api.list_namespaced_pod(NAMESPACE, label_selector=chosen, **READ))["items"])

    def delete(self, pod: Mapping[str, Any]) -> None:
        """Delete a pod as it was read, and no later one of the same name. Raises ApiRefused."""
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        try:
            with raise_refusals():
                self.api.delete_namespaced_pod(
                    name, NAMESPACE, body={"preconditions": {"uid": uid}}, _request_timeout=LIMIT
                )
        except ApiRefused as refused:
            if refused.code not in (NOT_FOUND, CONFLICT):
                raise

    def log(self, pod: str, container: str, most: int = LOG) -> str | None:
        """The beginning of what a container printed, in bytes at most; None when it cannot be read."""
        try:
            with raise_refusals():
                answer = self.api.read_namespaced_pod_log(pod, NAMESPACE, container=container, limit_bytes=most, **READ)
                return str(answer.data.decode(errors="replace"))
        except ApiRefused:
            return None

    def warning(self, pod: str) -> str:
        """The last warning about a pod, in the kubelet's words; empty when there is none or it cannot be read."""
        chosen = f"involvedObject.name={pod},type=Warning"
        try:
            with raise_refusals():
                found = read_document(self.api.list_namespaced_event(NAMESPACE, field_selector=chosen, **READ))["items"]
        except ApiRefused:
            return ""
        if not found:
            return ""
        last = max(found, key=lambda one: one.get("lastTimestamp") or one.get("eventTime") or "")
        return f"{last.get('reason', '')}: {' '.join(last.get('message', '').split())}"

    def clear(self, pods: Sequence[Mapping[str, Any]]) -> bool:
        """Delete these pods, and return whether they are gone: then their GPUs are free. Raises ApiRefused."""
        for pod in pods:
            self.delete(pod)
        gone = {pod["metadata"]["uid"] for pod in pods}
        return not gone or self.until(lambda: not gone & {pod["metadata"]["uid"] for pod in self.all()}, PODS_LIMIT)

    def remove(self, run: str) -> bool:
        """Remove the pods of a run, and the namespace if it is ours and nothing else is in it. Return whether the pods
        are gone. The namespace's own end is not waited for. Raises ApiRefused."""
        space = self.space()
        if space is None or is_foreign(space):
            return True
        gone = self.clear(self.all(run))
        if gone and self.is_empty():
            with raise_refusals():
                preconditions = {"uid": space["metadata"]["uid"]}
                self.api.delete_namespace(NAMESPACE, body={"preconditions": preconditions}, _request_timeout=LIMIT)
        return gone

    def is_empty(self) -> bool:
        """Tell whether the namespace has only objects that Kubernetes makes. Return False where that is not known."""
        try:
            with raise_refusals():
                return not list_contents(self.api.api_client, NAMESPACE, LIMIT)
        except (ApiRefused, ContentsUnknown):
            return False

    def until(self, done: Callable[[], bool], limit: float) -> bool:
        end = self.clock() + limit
        while not done():
            if self.clock() > end:
                return False
            self.wait(AGAIN)
        return True


READ: dict[str, Any] = {"_preload_content": False, "_request_timeout": LIMIT}
"""Arguments of a read: the body as it came, and not as one object for each field."""


def read_document(response: Any) -> dict[str, Any]:
    found: dict[str, Any] = load_json(response.data)
    return found


def is_foreign(found: Mapping[str, Any]) -> bool:
    labels = found["metadata"].get("labels", {})
    return any(labels.get(name) != value for name, value in OURS.items())


def is_over(pod: Mapping[str, Any]) -> bool:
    """Tell whether a pod of gpustack has ended, or was made by a gpustack process of this machine that has ended."""
    made_by = pod["metadata"].get("annotations", {}).get(PROCESS, "")
    return pod.get("status", {}).get("phase") in ENDED or is_dead(made_by)
