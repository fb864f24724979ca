"""The namespace and the pods of a proof, one for each free GPU, and the judgement of their status and output.

The kubelet gives the GPU of an init container to the containers after it (device manager, devicesToReuse). Therefore
one GPU runs the kernel, prints its UUID, and is held by the last container until every pod of the node has a GPU, so
that N pods get N GPUs. A pod ends by itself even if gpustack is killed, by activeDeadlineSeconds.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gpustack.probes.gpu.cluster import REFUSED
from gpustack.probes.proof import GPU, PROCESS, PROOF_NAMESPACE, RUN
from gpustack.process import name_process

NAMESPACE = PROOF_NAMESPACE
OURS = {"app.kubernetes.io/managed-by": "gpustack"}
NODE = "gpustack.io/node"
IMAGE = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubuntu22.04"
KERNEL, ASKED, HELD = "kernel", "uuid", "held"
PASSED = "Test PASSED"
# The output has a line per GPU in the container. NVIDIA's container toolkit adds nvidia-smi from the driver.
QUERY = ("nvidia-smi", "--query-gpu=uuid,pci.bus_id,name", "--format=csv,noheader")
SPARE = 60
"""Seconds that a pod may live longer than its proof, so that it does not end before the proof."""
Stage = Literal["waiting", "held", "failed", "stuck"]
GPU_ID = re.compile(r"(?:GPU|MIG)-[0-9a-fA-F-]{8,}")
# The kubelet retries a first failed pull after ten seconds. These reasons do not end by themselves.
STUCK = {"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"}
KEPT = 300


def build_namespace() -> dict[str, Any]:
    """Build the namespace. Its label enforces Pod Security `baseline`, because the pods need no privileges."""
    labels = {**OURS, "app.kubernetes.io/part-of": "gpustack", "pod-security.kubernetes.io/enforce": "baseline"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}


def build_pod(name: str, node: str, run: str, seconds: float) -> dict[str, Any]:
    """Build a pod of a run, which lives for `seconds` and SPARE. The node is selected by affinity, so that the
    scheduler accounts for the GPU."""
    node_selector = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    life, annotations = int(seconds) + SPARE, {NODE: node, PROCESS: name_process()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {**OURS, RUN: run}, "annotations": annotations},
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": life,
            "terminationGracePeriodSeconds": 1,  # sleep, as process 1, ignores SIGTERM
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "tolerations": [
                {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
                {"key": GPU, "operator": "Exists", "effect": "NoSchedule"},
            ],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [node_selector]},
                }
            },
            "initContainers": [build_container(KERNEL), build_container(ASKED, *QUERY)],
            "containers": [build_container(HELD, "sleep", str(life))],
        },
    }


def build_container(name: str, *command: str) -> dict[str, Any]:
    """Build a container with one GPU. Without a command it runs the entrypoint of the image, which is the kernel."""
    manifest: dict[str, Any] = {
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": {GPU: "1"}},
        "securityContext": {"allowPrivilegeEscalation": False},
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    return {**manifest, "command": list(command)} if command else manifest


@dataclass(frozen=True)
class VisibleGpu:
    """Describe a GPU as nvidia-smi lists it in the pod."""

    uuid: str
    bus: str
    model: str


@dataclass(frozen=True)
class PodResult:
    """Describe the result of a pod. In stage `held` it ran both programs and holds its GPU, in stage `failed` the
    kubelet or the GPU failed, in stage `stuck` the pod did not and will not start, and in stage `waiting` it may start.
    `ran` is whether vectorAdd passed, None where that is unknown."""

    pod: str
    node: str
    stage: Stage
    reason: str = ""
    ran: bool | None = None
    visible: tuple[VisibleGpu, ...] = ()


def judge_pod(pod: Mapping[str, Any], logs: Mapping[str, str], events: str = "") -> PodResult:
    """Judge a pod by its API object, the logs of containers that succeeded, and `events`, its last warning."""
    name = pod["metadata"]["name"]
    node = pod["metadata"].get("annotations", {}).get(NODE, "")
    status = pod.get("status", {})
    states = dict(list_states(status))
    if HELD in states and "running" in states[HELD]:
        return judge_output(name, node, logs)
    if failure := next(list_failures(states), ""):
        return PodResult(name, node, "failed", failure)
    if status.get("phase") == "Failed":
        condition = status.get("reason", "Failed")
        return PodResult(
            name, node, "failed" if condition == REFUSED else "stuck", join_words(condition, status.get("message", ""))
        )
    condition, reason = explain_wait(status, states)
    return PodResult(name, node, "stuck" if condition in STUCK else "waiting", reason or events)


def list_states(status: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for container in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        yield container["name"], container.get("state", {})


def list_failures(states: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """List the containers that failed. The last container fails also when it ends with 0."""
    for name, state in states.items():
        if (termination := state.get("terminated")) and (termination.get("exitCode") or name == HELD):
            explanation = join_words(termination.get("reason", ""), termination.get("message", ""))
            yield f"{name} ended with {termination.get('exitCode')}: {explanation}"


def explain_wait(status: Mapping[str, Any], states: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """Return the reason of a pending pod as a word, and the message of the scheduler or the kubelet."""
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return "Unschedulable", join_words(condition.get("reason", ""), condition.get("message", ""))
    for state in states.values():
        waiting = state.get("waiting", {})
        if waiting.get("reason") not in (None, "PodInitializing", "ContainerCreating"):
            return waiting["reason"], join_words(waiting["reason"], waiting.get("message", ""))
    return "", ""


def join_words(reason: str, message: str) -> str:
    text = " ".join(message.split())
    return f"{reason}: {text}"[:KEPT] if text and reason else (text or reason)[:KEPT]


def judge_output(name: str, node: str, logs: Mapping[str, str]) -> PodResult:
    """Judge the output of a pod whose containers succeeded. Output that cannot be read is unknown."""
    kernel, gpu_list = logs.get(KERNEL), logs.get(ASKED)
    visible = tuple(parse_gpus(gpu_list or ""))
    if gpu_list is None or kernel is None:
        return PodResult(name, node, "held", "its output could not be read", None, visible)
    if PASSED not in kernel:
        text = join_words("", kernel) or "nothing"
        return PodResult(
            name, node, "held", f"vectorAdd did not say that it passed: {text}"[:KEPT], ran=False, visible=visible
        )
    if not visible:
        return PodResult(
            name, node, "held", f"nvidia-smi named no GPU: {join_words('', gpu_list) or 'nothing'}"[:KEPT], None, ()
        )
    if len(visible) > 1:
        reason = f"the pod asked for one GPU and sees {len(visible)}"
        return PodResult(name, node, "held", reason, ran=False, visible=visible)
    return PodResult(name, node, "held", "", ran=True, visible=visible)


def parse_gpus(text: str) -> Iterator[VisibleGpu]:
    """Parse lines of `uuid, bus, name`, and skip other lines."""
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if GPU_ID.fullmatch(parts[0]):
            yield VisibleGpu(parts[0], normalize_bus(parts[1] if len(parts) > 1 else ""), ", ".join(parts[2:]))


def normalize_bus(text: str) -> str:
    """Normalise a PCI address to the form of the kernel, as 0000:65:00.0 in lower case. NVML has 00000000:65:00.0."""
    domain, _, address = text.strip().lower().partition(":")
    return f"{domain[-4:]}:{address}" if address else ""
