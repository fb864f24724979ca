"""Two hosts, k1 with two GPUs and k2 without; device plugin and exporter run without an operator."""

import json
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.host import HostSpec
from gpustack.steps.gpu import plugin as gpu_plugin
from gpustack.steps.gpu.operator import host_stack
from gpustack.steps.gpu.plugin import PROBES, STEP
from gpustack.steps.gpu.plugin_objects import EXPORTER, build_all_objects, build_objects
from tests.worlds.snapshots.answers import make_answer, make_list, place_answers, read_case
from tests.worlds.snapshots.host_stack import PRESENT, build_node, build_snapshot, build_workload
from tests.worlds.snapshots.judge import judge_checks, list_failures


def find_failures(snapshot: Snapshot) -> dict[str, tuple[str, str]]:
    return list_failures(judge_checks(STEP, snapshot, CLUSTER))


def build_cluster(probe: str, *items: Any) -> dict[tuple[str, str], Answer]:
    return place_answers(CLUSTER, make_list(probe, items))


def test_as_the_step_leaves_it() -> None:
    assert find_failures(build_snapshot()) == {}


def test_without_gpus_nothing_is_to_do() -> None:
    changed_answers = {
        ("gpu.devices", "k1"): make_answer("gpu.devices", ""),
        **build_cluster("gpu.nodes", build_node("k1"), build_node("k2")),
    }
    empty = {key: value for probe in PROBES.values() for key, value in build_cluster(probe.id).items()}
    snapshot = build_snapshot({}, {**changed_answers, **empty, **build_cluster("gpu.daemon-sets")})
    assert find_failures(snapshot) == {}
    assert gpu_plugin.build_variables(View(snapshot, CLUSTER)) == {"objects": [], "labels": [], "daemon_sets": []}


def test_before_installation_all_is_for_install() -> None:
    empty = {key: value for probe in PROBES.values() for key, value in build_cluster(probe.id).items()}
    failures = find_failures(
        build_snapshot(
            {},
            {
                **empty,
                **build_cluster("gpu.daemon-sets"),
                **build_cluster("gpu.nodes", build_node("k1"), build_node("k2")),
            },
        )
    )
    assert failures == {
        "objects-applied": ("gpustack-device-plugin missing", "install"),
        "labels": ("k1: no label nvidia.com/gpu.present", "install"),
        "daemon-sets": ("device plugin on 0 of 1; exporter on 0 of 1", "install"),
        "allocatable": ("k1: 0 of 2", "install"),
    }


def test_the_operator_is_still_there() -> None:
    labels = {"name": "gpu-operator", "version": "1", "status": "deployed", "owner": "helm"}
    secret = {"name": "sh.helm.release.v1.gpu-operator.v1", "namespace": "gpu-operator", "labels": labels}
    release = {"metadata": secret}
    policy = {"metadata": {"name": "cluster-policy"}, "status": {}}
    snapshot = build_snapshot(
        {}, {**build_cluster("helm.releases", release), **build_cluster("gpu.cluster-policies", policy)}
    )
    failure = find_failures(snapshot)["operators-stack"]
    assert failure == ("ClusterPolicy cluster-policy, release gpu-operator/gpu-operator", "operator")


def test_a_namespace_without_its_level_is_for_install() -> None:
    going = {"metadata": {"name": "gpu-operator", "labels": {}}, "status": {"phase": "Terminating"}}
    assert find_failures(build_snapshot({}, build_cluster("kube.namespaces", going)))["namespace"] == (
        "Terminating",
        "operator",
    )
    plain = {"metadata": {"name": "gpu-operator", "labels": {}}, "status": {"phase": "Active"}}
    assert find_failures(build_snapshot({}, build_cluster("kube.namespaces", plain)))["namespace"] == (
        "unset",
        "install",
    )


def test_fewer_gpus_than_the_inventory_says_are_reported() -> None:
    failures = find_failures(build_snapshot({}, {}, HostSpec(gpustack_gpus=9)))
    assert failures["gpus-on-bus"] == ("k1: 2 of 9", "operator")


def test_an_existing_host_engine_is_used_over_the_host_network() -> None:
    engine = place_answers("k1", read_case("gpu.host-engines", "dcgm-4"))
    failures = find_failures(build_snapshot({}, engine))
    assert failures["host-engine"] == ("k1: nvidia-dcgm.service (127.0.0.1:5555), DCGM 4.6.0", "operator")
    assert find_failures(build_snapshot({"dcgm": "host"}, engine)) == {}
    (exporter,) = [
        manifest
        for manifest in build_objects(View(build_snapshot({"dcgm": "host"}), CLUSTER))
        if manifest["metadata"]["name"] == EXPORTER
    ]
    assert exporter["spec"]["template"]["spec"]["hostNetwork"] is True


def test_a_host_engine_of_another_version_is_for_the_operator() -> None:
    old = place_answers("k1", read_case("gpu.host-engines", "dcgm-3-all-addresses"))
    failures = find_failures(build_snapshot({"dcgm": "host"}, old))
    assert failures == {"engine-pair": ("k1: 3.3.5", "operator")}


def test_the_engine_beside_the_exporter_has_no_service() -> None:
    """Found by dcgmi's users as the operator's is, by the name of its container."""
    snapshot = build_snapshot({"dcgm": "standalone"})
    objects = build_objects(View(snapshot, CLUSTER))
    (exporter,) = [item for item in objects if item["metadata"]["name"] == EXPORTER]
    containers = {item["name"]: item for item in exporter["spec"]["template"]["spec"]["containers"]}
    engine = containers["nvidia-dcgm-ctr"]
    # Without -b ALL it listens on 127.0.0.1 (NVIDIA/DCGM 4.6.0, hostengine/src/HostEngineCommandLine.cpp).
    assert engine["command"] == ["nv-hostengine", "-n"]
    assert "ports" not in engine
    variables = containers["nvidia-dcgm-exporter"]["env"]
    assert {"name": "DCGM_REMOTE_HOSTENGINE_INFO", "value": "127.0.0.1"} in variables
    assert [item["metadata"]["name"] for item in objects if item["kind"] == "Service"] == ["nvidia-dcgm-exporter"]
    assert "privileged" not in containers["nvidia-dcgm-exporter"]["securityContext"]


def test_an_engine_with_a_service_of_an_earlier_release_goes() -> None:
    workloads = [build_workload(f"gpustack-{name}", 1, 1) for name in ("device-plugin", "dcgm-exporter", "dcgm-engine")]
    snapshot = build_snapshot({"dcgm": "standalone"}, build_cluster("gpu.daemon-sets", *workloads))
    failures = find_failures(snapshot)
    assert failures == {"stale-daemon-sets": ("also gpustack-dcgm-engine", "install")}


def test_mps_and_mig_need_the_operator() -> None:
    mig = build_snapshot({}, {}, HostSpec(gpustack_mig="all-1g.10gb"))
    assert find_failures(mig)["sharing-supported"] == (
        "k1: gpustack_mig: all-1g.10gb",
        "operator",
    )
    assert find_failures(build_snapshot({"sharing": {"mode": "mps", "replicas": 2}}))["sharing-supported"] == (
        "k1: mps",
        "operator",
    )


def test_time_slicing_has_a_plugin_of_its_own() -> None:
    shared_spec = {"sharing": {"mode": "time-slicing", "replicas": 4}}
    snapshot = build_snapshot(shared_spec)
    assert find_failures(snapshot) == {
        "daemon-sets": ("device plugin on 1 of 1", "install"),
        "labels": ("k1: nvidia.com/device-plugin.config=none instead of time-slicing-4", "install"),
        "allocatable": ("k1: 2 of 8", "install"),
    }
    variables = gpu_plugin.build_variables(View(snapshot, CLUSTER))
    assert variables["labels"] == [
        "k1 nvidia.com/gpu.present true", "k1 nvidia.com/device-plugin.config time-slicing-4",
    ]  # fmt: skip
    assert variables["daemon_sets"] == [
        "gpustack-device-plugin", "gpustack-device-plugin-time-slicing-4", "gpustack-dcgm-exporter",
    ]  # fmt: skip


def test_a_daemon_set_of_another_sharing_mode_is_removed() -> None:
    workloads = [
        build_workload(f"gpustack-{name}", 1, 1) for name in ("device-plugin", "dcgm-exporter", "device-plugin-mps-2")
    ]
    failures = find_failures(build_snapshot({}, build_cluster("gpu.daemon-sets", *workloads)))
    assert failures == {"stale-daemon-sets": ("also gpustack-device-plugin-mps-2", "install")}


def test_changed_objects_are_for_install() -> None:
    """kubectl set image changed a field, which is its own then. A restart takes nothing from us."""
    snapshot = build_snapshot()
    probe = PROBES["DaemonSet"].id
    loads = json.loads(snapshot.answers[probe, CLUSTER].stdout)["items"]
    restarted_pod: dict[str, Any] = {
        "f:spec": {"f:template": {"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/restartedAt": {}}}}}
    }
    for item in loads:
        item["metadata"]["managedFields"].append({"manager": "kubectl-rollout", "fieldsV1": restarted_pod})
    assert find_failures(build_snapshot({}, build_cluster(probe, *loads))) == {}
    for item in loads:
        pod = item["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]["f:spec"]
        for container in pod["f:containers"].values():
            del container["f:image"]
    failure = find_failures(build_snapshot({}, build_cluster(probe, *loads)))["objects-applied"]
    assert failure == ("gpustack-dcgm-exporter, gpustack-device-plugin changed by kubectl-rollout", "install")


def test_a_node_that_lost_its_gpus_loses_the_label() -> None:
    nodes = build_cluster("gpu.nodes", build_node("k1", 2, labels=PRESENT), build_node("k2", labels=PRESENT))
    assert find_failures(build_snapshot({}, nodes)) == {"labels": ("k2: labelled, but without GPUs", "install")}
    assert (
        "k2 nvidia.com/gpu.present -" in gpu_plugin.build_variables(View(build_snapshot({}, nodes), CLUSTER))["labels"]
    )


def test_a_gpu_that_is_ill_is_for_a_person() -> None:
    nodes = build_cluster("gpu.nodes", build_node("k1", 2, 1, labels=PRESENT), build_node("k2"))
    assert find_failures(build_snapshot({}, nodes)) == {"allocatable": ("k1: 1 of 2 unhealthy", "operator")}


def test_pods_that_are_not_ready_are_for_install() -> None:
    workloads = [build_workload("gpustack-device-plugin", 1, 0), build_workload("gpustack-dcgm-exporter", 1, 1)]
    assert find_failures(build_snapshot({}, build_cluster("gpu.daemon-sets", *workloads))) == {
        "daemon-sets": ("device plugin on 0 of 1", "install")
    }


def list_templates(snapshot: Snapshot) -> dict[str, Any]:
    """List the templates of the DaemonSets' pods, by name."""
    objects = [
        all_object for all_object in build_all_objects(View(snapshot, CLUSTER)) if all_object["kind"] == "DaemonSet"
    ]
    return {manifest["metadata"]["name"]: manifest["spec"]["template"] for manifest in objects}


def test_a_change_of_what_a_pod_reads_at_its_start_makes_a_new_one() -> None:
    before, after = (
        list_templates(build_snapshot()),
        list_templates(build_snapshot({"metrics": {"counters": ["DCGM_FI_DEV_FAN_SPEED"]}})),
    )
    assert before["gpustack-dcgm-exporter"] != after["gpustack-dcgm-exporter"]
    assert before["gpustack-device-plugin"] == after["gpustack-device-plugin"]


def test_no_pod_runs_where_there_is_no_gpu_and_none_may_ask_the_api() -> None:
    for template in list_templates(build_snapshot()).values():
        pod = template["spec"]
        requirement = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (term,) = requirement["nodeSelectorTerms"]
        assert {"key": "nvidia.com/gpu.present", "operator": "In", "values": ["true"]} in term["matchExpressions"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["runtimeClassName"] == "nvidia"


def test_both_stacks_at_once_are_refused_by_the_operator_s_step_too() -> None:
    result = host_stack(View(build_snapshot({"stack": "operator"}), CLUSTER))
    assert result
    assert (result.actual, result.cure) == ("gpustack-dcgm-exporter, gpustack-device-plugin", "operator")
    operator_snapshot = build_snapshot(
        {"stack": "operator"}, build_cluster("gpu.daemon-sets", build_workload("nvidia-dcgm-exporter", 1, 1))
    )
    assert host_stack(View(operator_snapshot, CLUSTER)) is None


def list_host_paths() -> dict[str, list[tuple[str, bool]]]:
    """Collect (path, writable) of every hostPath that containers of the DaemonSets mount, by DaemonSet."""
    paths_by_name: dict[str, list[tuple[str, bool]]] = {}
    view = View(build_snapshot({"dcgm": "standalone"}), CLUSTER)
    for item in (item for item in build_objects(view) if item["kind"] == "DaemonSet"):
        pod = item["spec"]["template"]["spec"]
        paths = {
            volume["name"]: volume["hostPath"]["path"] for volume in pod.get("volumes", []) if "hostPath" in volume
        }
        mounts = [mount for container in pod["containers"] for mount in container.get("volumeMounts", [])]
        paths_by_name[item["metadata"]["name"]] = [
            (paths[mount["name"]], not mount.get("readOnly")) for mount in mounts if mount["name"] in paths
        ]
    return paths_by_name


def test_no_pod_sees_the_secrets_or_the_sockets_of_its_host() -> None:
    """A socket of a container runtime gives root on the host, through a read-only mount too."""
    private = (
        "/etc/shadow",
        "/etc/kubernetes/admin.conf",
        "/root/.ssh/id_ed25519",
        "/var/lib/etcd/member",
        "/run/containerd/containerd.sock",
        "/var/run/docker.sock",
        "/home/a",
        "/var/lib/kubelet/pods",
    )
    for name, mounts in list_host_paths().items():
        for path, _ in mounts:
            assert [file for file in private if f"{file}/".startswith(f"{path.rstrip('/')}/")] == [], (name, path)


def test_pods_write_to_the_host_where_the_kubelet_and_containerd_look() -> None:
    writable = {(name, path) for name, mounts in list_host_paths().items() for path, writes in mounts if writes}
    assert writable == {
        ("gpustack-device-plugin", "/var/lib/kubelet/device-plugins"),
        ("gpustack-device-plugin", "/var/run/cdi"),
    }


def test_containers_have_the_capabilities_that_they_need() -> None:
    view = View(build_snapshot(), CLUSTER)
    given_values = {
        item["metadata"]["name"]: item["spec"]["template"]["spec"]["containers"][0]["securityContext"]["capabilities"]
        for item in build_objects(view)
        if item["kind"] == "DaemonSet"
    }
    assert given_values == {
        "gpustack-device-plugin": {"drop": ["ALL"]},
        "gpustack-dcgm-exporter": {"drop": ["ALL"], "add": ["SYS_ADMIN"]},
    }
