"""Independent witnesses: the kubernetes client and testinfra. None of our own probes are used here."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import testinfra
from kubernetes import client, config
from kubernetes.stream import stream
from urllib3.exceptions import HTTPError

from gpustack_lab import lab

IMAGE = "docker.io/library/busybox:stable"
LABEL = {"app": "witness"}


def connect_host(running_lab: lab.Lab, name: str) -> Any:
    return testinfra.get_host(f"ssh://{name}", ssh_config=str(running_lab.ssh_config), sudo=True)


def connect_api(kubeconfig: Path) -> client.CoreV1Api:
    config.load_kube_config(str(kubeconfig))
    return client.CoreV1Api()


def wait_until(description: str, ask: Callable[[], Any], limit: float = 120) -> Any:
    """Return what `ask` returns once it is true. Fail with the last answer."""
    end, last = time.monotonic() + limit, None
    while time.monotonic() < end:
        try:
            last = ask()
            if last:
                return last
        except (client.ApiException, HTTPError, OSError) as error:
            last = error
        time.sleep(0.5)
    raise AssertionError(f"{description}: not within {limit} s; last {last!r}")


def list_ready(core: client.CoreV1Api) -> list[str]:
    """List the names of the nodes that are Ready."""
    return [
        node.metadata.name
        for node in core.list_node().items
        if any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions)
    ]


@contextmanager
def run_pods(core: client.CoreV1Api, nodes: list[str]) -> Iterator[dict[str, Any]]:
    """Run one small web server per node and a Service before them, and yield {node: pod}."""
    script = "mkdir -p /www && hostname >/www/index.html && exec httpd -f -p 80 -h /www"
    for node in nodes:
        spec = client.V1PodSpec(
            node_name=node,
            termination_grace_period_seconds=0,
            containers=[client.V1Container(name="web", image=IMAGE, command=["sh", "-c", script])],
        )
        core.create_namespaced_pod(
            "default", client.V1Pod(metadata=client.V1ObjectMeta(name=f"witness-{node}", labels=LABEL), spec=spec)
        )
    service = client.V1ServiceSpec(selector=LABEL, ports=[client.V1ServicePort(port=80)])
    core.create_namespaced_service(
        "default", client.V1Service(metadata=client.V1ObjectMeta(name="witness"), spec=service)
    )
    try:
        names = [f"witness-{node}" for node in nodes]
        wait_until("pods Running with addresses", lambda: all(is_running(core, name) for name in names))
        yield {node: core.read_namespaced_pod(f"witness-{node}", "default") for node in nodes}
    finally:
        core.delete_namespaced_service("witness", "default")
        for node in nodes:
            core.delete_namespaced_pod(f"witness-{node}", "default", grace_period_seconds=0)


def is_running(core: client.CoreV1Api, name: str) -> bool:
    status = core.read_namespaced_pod(name, "default").status
    return status.phase == "Running" and bool(status.pod_ip)


def run_inside(core: client.CoreV1Api, pod: str, command: str) -> str:
    """Run a shell command inside a pod, and return both outputs together."""
    talk = stream(
        core.connect_get_namespaced_pod_exec,
        pod,
        "default",
        command=["sh", "-c", command],
        stderr=True,
        stdin=False,
        stdout=True,
        tty=False,
        _preload_content=False,
    )
    try:
        talk.run_forever(timeout=30)
        return str(talk.read_all())
    finally:
        talk.close()


def run_in_netns(value: Any, command: str) -> str:
    """Run a command of the host in the network of the web server there, and return its output."""
    find = "crictl inspect -o go-template --template '{{.info.pid}}' $(crictl ps --name web -q | head -n 1)"
    return str(value.check_output(f"nsenter -t $({find}) -n {command}"))
