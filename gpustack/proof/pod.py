"""Creates, watches and removes the pods of a proof. The only file that knows the kubernetes client.

The API is reached through a way over SSH, so its name is not the address that is connected to: the certificate is
checked against the name of the API in the inventory. The credential lies in a private folder in memory.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpustack.ask.transport.forward import PortForwarder
from gpustack.command import Command
from gpustack.errors import RolloutError
from gpustack.files.json_text import load_json
from gpustack.files.write import write_file
from gpustack.probes.proof import RUN
from gpustack.proof.kubeconfig import Access
from gpustack.proof.workload import NAMESPACE, OURS, namespace_manifest

LIMIT = 10
# Seconds: for the controllers to make what pods of a new namespace need, for pods that are gone, for a namespace.
READY_LIMIT, PODS_LIMIT, GONE_LIMIT, AGAIN = 15.0, 20.0, 60.0, 0.25
LOG = 4096


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
        """Sees to the namespace, and that it is empty; returns how many pods of an earlier proof were in it. Raises
        RolloutError where it is not ours, or does not come to an end; ApiRefused."""
        found = self.space()
        left = 0
        if found is not None and is_foreign(found):
            message = f"The namespace {NAMESPACE} was not made by gpustack; nothing was created."
            why = f"It has no label {next(iter(OURS))}=gpustack."
            raise RolloutError(
                "proof-namespace-foreign", message, why, Command("kubectl", "get", "all", "--namespace", NAMESPACE)
            )
        if found is not None and found.get("status", {}).get("phase") == "Terminating":
            if not self.until(lambda: self.space() is None, GONE_LIMIT):
                message = f"The namespace {NAMESPACE} of an earlier proof does not come to its end."
                why = f"It is Terminating for more than {GONE_LIMIT:.0f} s: something in it, or the API, holds it."
                raise RolloutError(
                    "proof-namespace-stuck",
                    message,
                    why,
                    Command("kubectl", "get", "namespace", NAMESPACE, "--output", "yaml"),
                )
            found = None
        elif found is not None:
            left = len(self.all())
            self.clear()
        with raise_refusals():
            if found is None:
                self.api.create_namespace(namespace_manifest(), _request_timeout=LIMIT)
        return left

    def space(self) -> dict[str, Any] | None:
        try:
            with raise_refusals():
                return read_document(self.api.read_namespace(NAMESPACE, **READ))
        except ApiRefused as refused:
            if refused.code == 404:
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
        """Those of one proof, or of all. Raises ApiRefused."""
        chosen = {"label_selector": f"{RUN}={run}"} if run else {}
        with raise_refusals():
            return list(read_document(self.api.list_namespaced_pod(NAMESPACE, **chosen, **READ))["items"])

    def delete(self, pod: str) -> None:
        """Raises ApiRefused."""
        with raise_refusals():
            self.api.delete_namespaced_pod(pod, NAMESPACE, _request_timeout=LIMIT)

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

    def clear(self) -> bool:
        """Removes all pods, and whether they are gone: then their GPUs are free. Raises ApiRefused."""
        with raise_refusals():
            self.api.delete_collection_namespaced_pod(NAMESPACE, _request_timeout=LIMIT)
        return self.until(lambda: not self.all(), PODS_LIMIT)

    def remove(self) -> bool:
        """Removes pods and namespace, if that is ours. The namespace's own end is not waited for: nothing is in it."""
        found = self.space()
        if found is None or is_foreign(found):
            return True
        gone = self.clear()
        with raise_refusals():
            self.api.delete_namespace(NAMESPACE, _request_timeout=LIMIT)
        return gone

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
