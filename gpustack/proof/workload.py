"""What is created for a proof, one namespace and one short pod for each GPU that is free; and what such a pod says:
whether the kernel ran, which GPU it was, or why not, in the words of who refused.

The kubelet hands the GPU of an init container on to the containers after it (its device manager, devicesToReuse). So
one GPU runs the kernel, tells its UUID, and is then held by the last container until every pod of the node has its own:
in this way N pods meet N GPUs. Each pod ends by itself, whatever becomes of us: activeDeadlineSeconds.
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
# One line per GPU that the container sees. nvidia-smi comes with the driver, by NVIDIA's container toolkit.
QUERY = ("nvidia-smi", "--query-gpu=uuid,pci.bus_id,name", "--format=csv,noheader")
SPARE = 60
"""Seconds that a pod may live longer than we wait: it is to end with us, and not before."""
Stage = Literal["waiting", "held", "failed", "stuck"]
GPU_ID = re.compile(r"(?:GPU|MIG)-[0-9a-fA-F-]{8,}")
# A first failure to pull is tried again by the kubelet after ten seconds; these do not pass by themselves.
STUCK = {"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"}
KEPT = 300


def namespace_manifest() -> dict[str, Any]:
    """The pods need no privileges; where Pod Security is enforced for all, this namespace has the label."""
    labels = {**OURS, "app.kubernetes.io/part-of": "gpustack", "pod-security.kubernetes.io/enforce": "baseline"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}


def pod_manifest(name: str, node: str, run: str, seconds: float) -> dict[str, Any]:
    """`run` tells the pods of one proof from those of another. The scheduler counts: the node is chosen by affinity."""
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    life, annotations = int(seconds) + SPARE, {NODE: node, PROCESS: name_process()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {**OURS, RUN: run}, "annotations": annotations},
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": life,
            "terminationGracePeriodSeconds": 1,  # sleep, as process 1, hears no SIGTERM
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "tolerations": [
                {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
                {"key": GPU, "operator": "Exists", "effect": "NoSchedule"},
            ],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [here]},
                }
            },
            "initContainers": [container_manifest(KERNEL), container_manifest(ASKED, *QUERY)],
            "containers": [container_manifest(HELD, "sleep", str(life))],
        },
    }


def container_manifest(name: str, *command: str) -> dict[str, Any]:
    """Without a command: what the image itself runs, the kernel."""
    made: dict[str, Any] = {
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": {GPU: "1"}},
        "securityContext": {"allowPrivilegeEscalation": False},
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    return {**made, "command": list(command)} if command else made


@dataclass(frozen=True)
class VisibleGpu:
    """A GPU as nvidia-smi names it inside the pod."""

    uuid: str
    bus: str
    model: str


@dataclass(frozen=True)
class PodResult:
    """Of one pod. `held`: it ran both programs and holds its GPU. `failed`: the kubelet, or the GPU, did not do what
    was asked. `stuck`: nothing was asked of a GPU, and nothing will be. `waiting`: not yet. `why` is the reason in
    words. `ran` is whether vectorAdd passed, None when unknown."""

    pod: str
    node: str
    stage: Stage
    why: str = ""
    ran: bool | None = None
    visible: tuple[VisibleGpu, ...] = ()


def judge_pod(pod: Mapping[str, Any], logs: Mapping[str, str], events: str = "") -> PodResult:
    """`pod` as the API has it, `logs` by container for those that ended well, `events` the last warning about it."""
    name = pod["metadata"]["name"]
    node = pod["metadata"].get("annotations", {}).get(NODE, "")
    status = pod.get("status", {})
    states = dict(container_states(status))
    if HELD in states and "running" in states[HELD]:
        return judge_output(name, node, logs)
    if broken := next(find_ended(states), ""):
        return PodResult(name, node, "failed", broken)
    if status.get("phase") == "Failed":
        reason = status.get("reason", "Failed")
        return PodResult(
            name, node, "failed" if reason == REFUSED else "stuck", join_words(reason, status.get("message", ""))
        )
    reason, why = explain_wait(status, states)
    return PodResult(name, node, "stuck" if reason in STUCK else "waiting", why or events)


def container_states(status: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for one in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        yield one["name"], one.get("state", {})


def find_ended(states: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Programs that ended badly; the last one is not to end at all."""
    for name, state in states.items():
        if (found := state.get("terminated")) and (found.get("exitCode") or name == HELD):
            how = join_words(found.get("reason", ""), found.get("message", ""))
            yield f"{name} ended with {found.get('exitCode')}: {how}"


def explain_wait(status: Mapping[str, Any], states: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """The reason in one word, and in the words of the scheduler or the kubelet."""
    for found in status.get("conditions", ()):
        if found["type"] == "PodScheduled" and found["status"] == "False":
            return "Unschedulable", join_words(found.get("reason", ""), found.get("message", ""))
    for state in states.values():
        waiting = state.get("waiting", {})
        if waiting.get("reason") not in (None, "PodInitializing", "ContainerCreating"):
            return waiting["reason"], join_words(waiting["reason"], waiting.get("message", ""))
    return "", ""


def join_words(reason: str, message: str) -> str:
    text = " ".join(message.split())
    return f"{reason}: {text}"[:KEPT] if text and reason else (text or reason)[:KEPT]


def judge_output(name: str, node: str, logs: Mapping[str, str]) -> PodResult:
    """All programs ended well; now what they printed. Output that cannot be read is unknown."""
    kernel, asked = logs.get(KERNEL), logs.get(ASKED)
    visible = tuple(parse_gpus(asked or ""))
    if asked is None or kernel is None:
        return PodResult(name, node, "held", "its output could not be read", None, visible)
    if PASSED not in kernel:
        text = join_words("", kernel) or "nothing"
        return PodResult(
            name, node, "held", f"vectorAdd did not say that it passed: {text}"[:KEPT], ran=False, visible=visible
        )
    if not visible:
        return PodResult(
            name, node, "held", f"nvidia-smi named no GPU: {join_words('', asked) or 'nothing'}"[:KEPT], None, ()
        )
    if len(visible) > 1:
        why = f"the pod asked for one GPU and sees {len(visible)}"
        return PodResult(name, node, "held", why, ran=False, visible=visible)
    return PodResult(name, node, "held", "", ran=True, visible=visible)


def parse_gpus(text: str) -> Iterator[VisibleGpu]:
    """Lines of `uuid, bus, name`."""
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if GPU_ID.fullmatch(parts[0]):
            yield VisibleGpu(parts[0], normalize_bus(parts[1] if len(parts) > 1 else ""), ", ".join(parts[2:]))


def normalize_bus(text: str) -> str:
    """`00000000:65:00.0` of NVML and `0000:65:00.0` of the kernel are one address: 0000:65:00.0, in small letters."""
    domain, _, rest = text.strip().lower().partition(":")
    return f"{domain[-4:]}:{rest}" if rest else ""
