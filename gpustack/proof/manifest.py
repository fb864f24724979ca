"""What is created for a proof: one namespace and one short pod for each GPU that is free.

The kubelet hands the GPU of an init container on to the containers after it (its device manager, devicesToReuse). So
one GPU runs the kernel, tells its UUID, and is then held by the last container until every pod of the node has its own:
in this way N pods meet N GPUs. Each pod ends by itself, whatever becomes of us: activeDeadlineSeconds.
"""

from typing import Any

from gpustack.probes.proof import GPU

NAMESPACE = "gpustack-proof"
OURS = {"app.kubernetes.io/managed-by": "gpustack"}
RUN, NODE = "gpustack.io/proof", "gpustack.io/node"
IMAGE = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubuntu22.04"
KERNEL, ASKED, HELD = "kernel", "uuid", "held"
PASSED = "Test PASSED"
# One line per GPU that the container sees. nvidia-smi comes with the driver, by NVIDIA's container toolkit.
QUERY = ("nvidia-smi", "--query-gpu=uuid,pci.bus_id,name", "--format=csv,noheader")
SPARE = 60
"""Seconds that a pod may live longer than we wait: it is to end with us, and not before."""


def namespace() -> dict[str, Any]:
    """The pods need no privileges; where Pod Security is enforced for all, this namespace says so itself."""
    labels = {**OURS, "app.kubernetes.io/part-of": "gpustack", "pod-security.kubernetes.io/enforce": "baseline"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}


def pod(name: str, node: str, run: str, seconds: float) -> dict[str, Any]:
    """`run` tells the pods of one proof from those of another. The scheduler counts: the node is chosen by affinity."""
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    life = int(seconds) + SPARE
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {**OURS, RUN: run}, "annotations": {NODE: node}},
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
            "initContainers": [container(KERNEL), container(ASKED, *QUERY)],
            "containers": [container(HELD, "sleep", str(life))],
        },
    }


def container(name: str, *command: str) -> dict[str, Any]:
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
