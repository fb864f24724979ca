"""Two hosts, k1 with two GPUs and k2 without; device plugin and exporter run without an operator."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.view import View
from gpustack.config.host import HostSpec
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.probes.kubernetes.applied import MANAGER
from gpustack.steps.gpu import plugin as gpu_plugin
from gpustack.steps.gpu.operator import host_stack
from gpustack.steps.gpu.plugin import PROBES, STEP
from gpustack.steps.gpu.plugin_objects import all_objects, objects
from tests.unit.judging import judge
from tests.unit.steps.recorded_cluster import K1, K2, SPEC, TAKEN, recorded, said

HOST: dict[str, Any] = {"stack": "host"}
MACHINES = {"k1": "121ca0afe03a40a488e2456beddcd32a", "k2": "ba0ba3be313041508437d607678a4fb3"}
BUS = {"k1": "0000:65:00.0 0x2330\n0000:66:00.0 0x2330\n", "k2": ""}
Found = Mapping[tuple[str, str], Answer]


def listed(items: list[Any]) -> str:
    return json.dumps({"items": items})


def node(
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


PRESENT = {"nvidia.com/gpu.present": "true"}


def workload(name: str, wanted: int, ready: int) -> dict[str, Any]:
    status = {
        "observedGeneration": 1, "desiredNumberScheduled": wanted, "numberReady": ready,
        "updatedNumberScheduled": wanted,
    }  # fmt: skip
    return {"metadata": {"name": name, "generation": 1}, "spec": {}, "status": status}


# x-kubernetes-map-type of the API's types.
ATOMIC = ("selector", "requiredDuringSchedulingIgnoredDuringExecution", "fieldRef")


def fields(value: Any, name: str = "") -> dict[str, Any]:
    """fieldsV1 as the API server writes it, of lists by the keys that the API's types name, of some maps as a whole."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        keys = {"ports": ("containerPort", "port", "protocol"), "volumeMounts": ("mountPath",)}.get(name, ("name",))
        if all(keys[0] in entry or keys[-1] in entry for entry in value):
            found = {}
            for entry in value:
                key = {word: entry[word] for word in sorted(keys) if word in entry}
                found[f"k:{json.dumps(key)}"] = {".": {}, **fields(entry)}
            return found
        return {}
    if not isinstance(value, dict) or name in ATOMIC:
        return {}
    return {f"f:{key}": fields(inner, key) for key, inner in value.items()}


def applied(one: dict[str, Any]) -> dict[str, Any]:
    owned = {key: value for key, value in one.items() if key not in ("apiVersion", "kind", "metadata")}
    metadata = {key: one["metadata"][key] for key in ("labels", "annotations")}
    manager = {"manager": MANAGER, "fieldsV1": fields({"metadata": metadata, **owned})}
    return {"metadata": {**one["metadata"], "managedFields": [manager]}}


def world(spec: Mapping[str, Any] = {}, changed: Found = {}, k1: HostSpec | None = None) -> Snapshot:  # noqa: B006
    """As the step leaves it, and what a test changes."""
    hosts = (K1 if k1 is None else replace(K1, spec=k1), K2)
    inventory = Inventory(Path("hosts.yml"), hosts, Spec.model_validate({**SPEC, "gpu": {**HOST, **spec}}))
    answers: dict[tuple[str, str], Answer] = {}
    for host, machine in MACHINES.items():
        answers["system.identity", host] = said("system.identity", f"{machine}\n\n")
        answers["gpu.devices", host] = said("gpu.devices", BUS[host])
        answers["gpu.host-engines", host] = recorded("gpu.host-engines", "prepared-debian-12")
    cluster = {
        "gpu.nodes": listed([node("k1", 2, labels=PRESENT), node("k2")]),
        "gpu.daemon-sets": listed([workload("gpustack-device-plugin", 1, 1), workload("gpustack-dcgm-exporter", 1, 1)]),
        "gpu.cluster-policies": listed([]),
        "helm.releases": listed([]),
        "kube.namespaces": listed(
            [
                {
                    "metadata": {
                        "name": "gpu-operator",
                        "labels": {"pod-security.kubernetes.io/enforce": "privileged"},
                    },
                    "status": {"phase": "Active"},
                }
            ]
        ),
    }
    answers |= {(probe, CLUSTER): said(probe, out) for probe, out in cluster.items()}
    reach = {host.name: Reach(host.name) for host in hosts}
    bare = Snapshot(TAKEN, inventory, reach, answers)
    for kind, probe in PROBES.items():
        there = [applied(one) for one in objects(View(bare, CLUSTER)) if one["kind"] == kind]
        answers[probe.id, CLUSTER] = said(probe.id, listed(there))
    placed = {key: replace(answer, where=key[1]) for key, answer in (answers | dict(changed)).items()}
    return Snapshot(TAKEN, inventory, reach, placed)


def broken(snapshot: Snapshot) -> dict[str, tuple[str, str]]:
    """(found, cure) of what differs, by check."""
    found = [judge(check, View(snapshot, CLUSTER)) for check in STEP.checks]
    assert [one for one in found if one.outcome == "unknown"] == []
    return {one.id: (one.result.found, one.result.cure) for one in found if one.result}


def cluster(probe: str, *items: Any) -> dict[tuple[str, str], Answer]:
    return {(probe, CLUSTER): said(probe, listed(list(items)))}


def test_as_the_step_leaves_it() -> None:
    assert broken(world()) == {}


def test_without_gpus_nothing_is_to_do() -> None:
    changed = {("gpu.devices", "k1"): said("gpu.devices", ""), **cluster("gpu.nodes", node("k1"), node("k2"))}
    empty = {key: value for probe in PROBES.values() for key, value in cluster(probe.id).items()}
    snapshot = world({}, {**changed, **empty, **cluster("gpu.daemon-sets")})
    assert broken(snapshot) == {}
    assert gpu_plugin.wanted(View(snapshot, CLUSTER)) == {"objects": [], "labels": [], "daemon_sets": []}


def test_before_the_first_installation() -> None:
    empty = {key: value for probe in PROBES.values() for key, value in cluster(probe.id).items()}
    found = broken(world({}, {**empty, **cluster("gpu.daemon-sets"), **cluster("gpu.nodes", node("k1"), node("k2"))}))
    assert found == {
        "brought": ("gpustack-device-plugin missing", "install"),
        "labels": ("k1: no label nvidia.com/gpu.present", "install"),
        "daemon-sets": ("device plugin on 0 of 1; exporter on 0 of 1", "install"),
        "allocatable": ("k1: 0 of 2", "install"),
    }


def test_the_operator_is_still_there() -> None:
    labels = {"name": "gpu-operator", "version": "1", "status": "deployed", "owner": "helm"}
    release = {"metadata": {"name": "x", "namespace": "gpu-operator", "labels": labels}}
    policy = {"metadata": {"name": "cluster-policy"}, "status": {}}
    snapshot = world({}, {**cluster("helm.releases", release), **cluster("gpu.cluster-policies", policy)})
    found = broken(snapshot)["operators-stack"]
    assert found == ("ClusterPolicy cluster-policy, release gpu-operator/gpu-operator", "operator")


def test_the_namespace() -> None:
    going = {"metadata": {"name": "gpu-operator", "labels": {}}, "status": {"phase": "Terminating"}}
    assert broken(world({}, cluster("kube.namespaces", going)))["namespace"] == ("Terminating", "operator")
    plain = {"metadata": {"name": "gpu-operator", "labels": {}}, "status": {"phase": "Active"}}
    assert broken(world({}, cluster("kube.namespaces", plain)))["namespace"] == ("unset", "install")


def test_fewer_gpus_than_the_inventory_says() -> None:
    found = broken(world({}, {}, HostSpec(gpustack_gpus=9)))
    assert found["gpus-on-bus"] == ("k1: 2 of 9", "operator")


def test_a_host_engine_that_is_there_already() -> None:
    engine = {("gpu.host-engines", "k1"): recorded("gpu.host-engines", "dcgm-4")}
    found = broken(world({}, engine))
    assert found["host-engine"] == ("k1: nvidia-dcgm.service (127.0.0.1:5555), DCGM 4.6.0", "operator")
    assert broken(world({"metrics": {"host_engine": "keep"}}, engine)) == {}


def test_neither_mps_nor_mig_without_the_operator() -> None:
    mig = world({}, {}, HostSpec(gpustack_mig="all-1g.10gb"))
    assert broken(mig)["ways"] == ("k1: gpustack_mig: all-1g.10gb", "operator")
    assert broken(world({"sharing": {"mode": "mps", "replicas": 2}}))["ways"] == ("k1: mps", "operator")


def test_time_slicing_has_a_plugin_of_its_own() -> None:
    shared = {"sharing": {"mode": "time-slicing", "replicas": 4}}
    snapshot = world(shared)
    assert broken(snapshot) == {
        "daemon-sets": ("device plugin on 1 of 1", "install"),
        "labels": ("k1: nvidia.com/device-plugin.config=none instead of time-slicing-4", "install"),
        "allocatable": ("k1: 2 of 8", "install"),
    }
    wanted = gpu_plugin.wanted(View(snapshot, CLUSTER))
    assert wanted["labels"] == [
        "k1 nvidia.com/gpu.present true", "k1 nvidia.com/device-plugin.config time-slicing-4",
    ]  # fmt: skip
    assert wanted["daemon_sets"] == [
        "gpustack-device-plugin", "gpustack-device-plugin-time-slicing-4", "gpustack-dcgm-exporter",
    ]  # fmt: skip


def test_a_daemon_set_of_another_way_of_sharing() -> None:
    there = [workload(f"gpustack-{name}", 1, 1) for name in ("device-plugin", "dcgm-exporter", "device-plugin-mps-2")]
    found = broken(world({}, cluster("gpu.daemon-sets", *there)))
    assert found == {"stale-daemon-sets": ("also gpustack-device-plugin-mps-2", "install")}


def test_objects_that_somebody_changed() -> None:
    """By kubectl set image: the field is theirs then. A restart takes nothing from us."""
    snapshot = world()
    probe = PROBES["DaemonSet"].id
    there = json.loads(snapshot.answers[probe, CLUSTER].out)["items"]
    restarted: dict[str, Any] = {
        "f:spec": {"f:template": {"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/restartedAt": {}}}}}
    }
    for item in there:
        item["metadata"]["managedFields"].append({"manager": "kubectl-rollout", "fieldsV1": restarted})
    assert broken(world({}, cluster(probe, *there))) == {}
    for item in there:
        pod = item["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]["f:spec"]
        for container in pod["f:containers"].values():
            del container["f:image"]
    found = broken(world({}, cluster(probe, *there)))["brought"]
    assert found == ("gpustack-dcgm-exporter, gpustack-device-plugin changed by kubectl-rollout", "install")


def test_a_node_that_lost_its_gpus_loses_the_label() -> None:
    nodes = cluster("gpu.nodes", node("k1", 2, labels=PRESENT), node("k2", labels=PRESENT))
    assert broken(world({}, nodes)) == {"labels": ("k2: labelled, but without GPUs", "install")}
    assert "k2 nvidia.com/gpu.present -" in gpu_plugin.wanted(View(world({}, nodes), CLUSTER))["labels"]


def test_a_gpu_that_is_ill_is_for_a_person() -> None:
    nodes = cluster("gpu.nodes", node("k1", 2, 1, labels=PRESENT), node("k2"))
    assert broken(world({}, nodes)) == {"allocatable": ("k1: 1 of 2 unhealthy", "operator")}


def test_pods_that_are_not_ready() -> None:
    there = [workload("gpustack-device-plugin", 1, 0), workload("gpustack-dcgm-exporter", 1, 1)]
    assert broken(world({}, cluster("gpu.daemon-sets", *there))) == {
        "daemon-sets": ("device plugin on 0 of 1", "install")
    }


def pods(snapshot: Snapshot) -> dict[str, Any]:
    """Templates of the DaemonSets' pods, by name."""
    found = [one for one in all_objects(View(snapshot, CLUSTER)) if one["kind"] == "DaemonSet"]
    return {one["metadata"]["name"]: one["spec"]["template"] for one in found}


def test_a_change_of_what_a_pod_reads_at_its_start_makes_a_new_one() -> None:
    before, after = pods(world()), pods(world({"metrics": {"counters": ["DCGM_FI_DEV_FAN_SPEED"]}}))
    assert before["gpustack-dcgm-exporter"] != after["gpustack-dcgm-exporter"]
    assert before["gpustack-device-plugin"] == after["gpustack-device-plugin"]


def test_no_pod_runs_where_there_is_no_gpu_and_none_may_ask_the_api() -> None:
    for template in pods(world()).values():
        pod = template["spec"]
        wanted = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (term,) = wanted["nodeSelectorTerms"]
        assert {"key": "nvidia.com/gpu.present", "operator": "In", "values": ["true"]} in term["matchExpressions"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["runtimeClassName"] == "nvidia"


def test_both_stacks_at_once_are_refused_by_the_operator_s_step_too() -> None:
    found = host_stack(View(world({"stack": "operator"}), CLUSTER))
    assert found
    assert (found.found, found.cure) == ("gpustack-dcgm-exporter, gpustack-device-plugin", "operator")
    none = world({"stack": "operator"}, cluster("gpu.daemon-sets", workload("nvidia-dcgm-exporter", 1, 1)))
    assert host_stack(View(none, CLUSTER)) is None
