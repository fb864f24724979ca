"""The namespace and the pods of a run, one for each GPU, and the judgement of their status and output.

The kubelet gives the GPU of an init container to the containers after it (device manager, devicesToReuse). Therefore,
in a proof, one GPU runs the kernel, prints its UUID, and is held by the last container until every pod of the node has
a GPU, so that N pods get N GPUs. A pod ends by itself even if gpustack is killed, by activeDeadlineSeconds.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gpustack.ask.message import shorten_message
from gpustack.probes.gpu.cluster import ADMISSION_ERROR
from gpustack.probes.kubernetes.taints import CORDON_TOLERATION, GATE_TOLERATION, USER_TOLERATIONS
from gpustack.probes.proof import GPU, PROCESS, PROOF_NAMESPACE, RUN
from gpustack.process import name_process

NAMESPACE = PROOF_NAMESPACE
LABELS = {"app.kubernetes.io/managed-by": "gpustack"}
NODE = "gpustack.io/node"
IMAGE = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubuntu22.04"
KERNEL, UUID_QUERY, HOLD = "kernel", "uuid", "held"
SUCCESS_LINE = "Test PASSED"
# The output has a line per GPU in the container. NVIDIA's container toolkit adds nvidia-smi from the driver.
QUERY = ("nvidia-smi", "--query-gpu=uuid,pci.bus_id,name", "--format=csv,noheader")
SPARE = 60
"""Seconds that a pod may live longer than its run, so that it does not end before the run."""
Stage = Literal["waiting", "running", "held", "ended", "stuck"]
SIGNALS = range(129, 166)
"""Exit codes of signals in a shell. Larger codes are return codes of DCGM, which are negative, plus 256."""
GPU_ID = re.compile(r"(?:GPU|MIG)-[0-9a-fA-F-]{8,}")
# The kubelet retries a first failed pull after ten seconds. These reasons do not end by themselves.
STUCK = {"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"}
UNSCHEDULABLE = "Unschedulable"


def build_namespace() -> dict[str, Any]:
    """Build the namespace. Its label enforces Pod Security `baseline`, because the pods need no privileges."""
    labels = {**LABELS, "app.kubernetes.io/part-of": "gpustack", "pod-security.kubernetes.io/enforce": "baseline"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}


def build_pod(
    name: str,
    node: str,
    run: str,
    seconds: float,
    container: Mapping[str, Any],
    init_containers: Sequence[Mapping[str, Any]] = (),
    *,
    cordoned: bool = False,
) -> dict[str, Any]:
    """Build a pod of a run. The node is selected by affinity, so that the scheduler accounts for the GPU. It has the
    tolerations of an ordinary pod with a GPU, and that of the gate: what it gets, users get once the gate is open. With
    `cordoned` it also goes to a cordoned node."""
    node_selector = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    annotations = {NODE: node, PROCESS: name_process()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {**LABELS, RUN: run}, "annotations": annotations},
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": compute_life(seconds),
            "terminationGracePeriodSeconds": 1,  # sleep, as process 1, ignores SIGTERM
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "tolerations": [*USER_TOLERATIONS, GATE_TOLERATION, *([CORDON_TOLERATION] if cordoned else [])],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [node_selector]}
                }
            },
            **({"initContainers": list(init_containers)} if init_containers else {}),
            "containers": [container],
        },
    }


def compute_life(seconds: float) -> int:
    """Compute the deadline of a pod that is used for `seconds`."""
    return int(seconds) + SPARE


def build_proof_pod(name: str, node: str, run: str, seconds: float, *, cordoned: bool = False) -> dict[str, Any]:
    kernel, query = build_container(KERNEL), build_container(UUID_QUERY, *QUERY)
    return build_pod(name, node, run, seconds, build_sleeper(seconds), (kernel, query), cordoned=cordoned)


def build_sleeper(seconds: float) -> dict[str, Any]:
    """Build a container that holds its GPU until the deadline of its pod."""
    return build_container(HOLD, "sleep", str(compute_life(seconds)))


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
    bus: str = ""
    model: str = ""


@dataclass(frozen=True)
class PodResult:
    """Describe the result of a pod. In stage `waiting` it may start, in stage `running` its container runs, in stage
    `held` it has a GPU and keeps it, in stage `ended` a container ended or the kubelet refused the pod its GPU, and in
    stage `stuck` it did not and will not start. `code` is the exit status of the container that ended, None where it
    did not end by itself. `ran` is whether vectorAdd passed, None where that is unknown."""

    name: str
    node: str
    stage: Stage = "waiting"
    reason: str = ""
    ran: bool | None = None
    gpus: tuple[VisibleGpu, ...] = ()
    code: int | None = None
    output: str = ""


def judge_pod(pod: PodResult, document: Mapping[str, Any]) -> PodResult:
    """Judge a pod by its API object, without its output."""
    status = document.get("status", {})
    states = {container["name"]: container.get("state", {}) for container in list_containers(status)}
    main_containers = {container["name"] for container in status.get("containerStatuses", ())}
    if any("running" in states[name] for name in main_containers):
        return replace(pod, stage="running", reason="")
    for name, state in states.items():
        if (ending := state.get("terminated")) and (ending.get("exitCode") or name in main_containers):
            return judge_ending(pod, name, ending, status.get("reason", ""))
    if status.get("phase") == "Failed":
        condition = status.get("reason", "Failed")
        stage: Stage = "ended" if condition == ADMISSION_ERROR else "stuck"
        return replace(pod, stage=stage, reason=join_words(condition, status.get("message", "")))
    condition, reason = explain_wait(status, states)
    return replace(pod, stage="stuck" if condition in STUCK else "waiting", reason=reason)


def judge_ending(pod: PodResult, container: str, ending: Mapping[str, Any], condition: str) -> PodResult:
    """Judge a pod of which a container ended. `condition` is why the kubelet ended the pod, and may be empty."""
    code = int(ending["exitCode"])
    killed = bool(condition) or code in SIGNALS
    cause = f"was ended by signal {code - 128}" if code in SIGNALS else f"ended with {code}"
    explanation = join_words(ending.get("reason", ""), ending.get("message", ""))
    reason = join_words(condition, f"{container} {cause}: {explanation}")
    return replace(pod, stage="ended", reason=reason, code=None if killed else code)


def list_containers(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]


def explain_wait(status: Mapping[str, Any], states: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """Return the reason of a pending pod as a word, and the message of the scheduler or the kubelet."""
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return UNSCHEDULABLE, join_words(condition.get("reason", ""), condition.get("message", ""))
    for state in states.values():
        waiting = state.get("waiting", {})
        if waiting.get("reason") not in (None, "PodInitializing", "ContainerCreating"):
            return waiting["reason"], join_words(waiting["reason"], waiting.get("message", ""))
    return "", ""


def join_words(reason: str, message: str) -> str:
    text = " ".join(message.split())
    return shorten_message(f"{reason}: {text}" if text and reason else text or reason)


def judge_output(pod: PodResult, kernel: str | None, gpu_list: str | None) -> PodResult:
    """Judge the output of a proof's pod whose programs succeeded. Output that cannot be read is unknown."""
    gpus = tuple(parse_gpus(gpu_list or ""))
    pod = replace(pod, stage="held", gpus=gpus)
    if gpu_list is None or kernel is None:
        return replace(pod, reason="its output could not be read")
    if SUCCESS_LINE not in kernel:
        reason = f"vectorAdd did not say that it passed: {join_words('', kernel) or 'nothing'}"
        return replace(pod, reason=reason, ran=False)
    if not gpus:
        return replace(pod, reason=f"nvidia-smi named no GPU: {join_words('', gpu_list) or 'nothing'}")
    if len(gpus) > 1:
        return replace(pod, reason=f"the pod asked for one GPU and sees {len(gpus)}", ran=False)
    return replace(pod, ran=True)


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
