"""GPUs without NVIDIA's operator: k1 has two, k2 none; device plugin and exporter are ours."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.host import Host, HostSpec
from gpustack.probes.kubernetes.applied_objects import MANAGER
from gpustack.steps.gpu.plugin import PROBES
from gpustack.steps.gpu.plugin_objects import build_objects
from gpustack.steps.gpu.runtime import PACKAGES
from tests.worlds.snapshots.answers import make_answer, make_list, place_answers, read_case
from tests.worlds.snapshots.build import Answers, build
from tests.worlds.snapshots.cluster import K1, K2, MACHINES, SPEC
from tests.worlds.snapshots.managed_fields import build_owned_fields

HOST: dict[str, Any] = {"stack": "host"}
BUS = {"k1": "0000:65:00.0 0x2330\n0000:66:00.0 0x2330\n", "k2": ""}
PRESENT = {"nvidia.com/gpu.present": "true"}
TOOLKIT = "".join(f"{name} hold installed 1.20.1-1\n" for name in PACKAGES)


def build_node(
    host: str,
    gpus: int = 0,
    healthy: int | None = None,
    labels: Mapping[str, str] = {},
) -> dict[str, Any]:
    return {
        "metadata": {"name": host, "labels": dict(labels)},
        "status": {
            "nodeInfo": {"machineID": MACHINES[host]},
            "capacity": {"nvidia.com/gpu": str(gpus)},
            "allocatable": {"nvidia.com/gpu": str(gpus if healthy is None else healthy)},
        },
    }


def build_kube_node(host: Host) -> dict[str, Any]:
    """The node of a host, as the API has it."""
    return {
        "metadata": {"name": host.name},
        "spec": {"podCIDR": f"10.244.{int(host.name[-1]) - 1}.0/24"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": host.address}],
            "nodeInfo": {"machineID": MACHINES[host.name], "kubeletVersion": "v1.36.4"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def build_workload(name: str, desired_pods: int, ready: int) -> dict[str, Any]:
    status = {
        "observedGeneration": 1, "desiredNumberScheduled": desired_pods, "numberReady": ready,
        "updatedNumberScheduled": desired_pods,
    }  # fmt: skip
    return {"metadata": {"name": name, "generation": 1}, "spec": {}, "status": status}


def mark_applied(manifest: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {
            **manifest["metadata"],
            "managedFields": [{"manager": MANAGER, "fieldsV1": build_owned_fields(manifest)}],
        }
    }


def build_snapshot(spec: Mapping[str, Any] = {}, changed_answers: Answers = {}, k1: HostSpec | None = None) -> Snapshot:  # noqa: B006
    """Snapshot the cluster as the step leaves it, but for what is changed."""
    hosts = (K1 if k1 is None else replace(K1, spec=k1), K2)
    whole_spec = {**SPEC, "gpu": {**HOST, **spec}}
    answers: dict[tuple[str, str], Answer] = {}
    for host, machine in MACHINES.items():
        answers["system.identity", host] = make_answer("system.identity", f"{machine}\n\n")
        answers["gpu.devices", host] = make_answer("gpu.devices", BUS[host])
        answers["gpu.host-engines", host] = read_case("gpu.host-engines", "prepared-debian-12")
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    namespace = {"metadata": {"name": "gpu-operator", "labels": labels}, "status": {"phase": "Active"}}
    lists: dict[str, list[Any]] = {
        "gpu.nodes": [build_node("k1", 2, labels=PRESENT), build_node("k2")],
        "kube.nodes": [build_kube_node(K1), build_kube_node(K2)],
        "gpu.daemon-sets": [
            build_workload("gpustack-device-plugin", 1, 1),
            build_workload("gpustack-dcgm-exporter", 1, 1),
        ],
        "gpu.cluster-policies": [],
        "helm.releases": [],
        "kube.namespaces": [namespace],
    }
    answers |= {(probe, CLUSTER): make_list(probe, items) for probe, items in lists.items()}
    before = View(build(hosts, answers, whole_spec), CLUSTER)
    for kind, probe in PROBES.items():
        applied_objects = [mark_applied(manifest) for manifest in build_objects(before) if manifest["kind"] == kind]
        answers[probe.id, CLUSTER] = make_list(probe.id, applied_objects)
    return build(hosts, answers | dict(changed_answers), whole_spec)


def add_toolkit(*edits: tuple[str, str]) -> Answers:
    """Add the packages of the toolkit to the recorded ones, as the step leaves h1."""
    lines = TOOLKIT
    for old, new in edits:
        assert old in lines
        lines = lines.replace(old, new)
    driver = read_case("gpu.packages", "prepared-debian-12")
    return place_answers(
        "h1", make_answer("gpu.packages", driver.stdout + lines), read_case("containerd.runtime", "with-nvidia")
    )
