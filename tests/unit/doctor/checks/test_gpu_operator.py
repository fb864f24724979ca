"""The GPU operator: on a node, and in the cluster."""

import json
import re
from dataclasses import replace

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.config.spec import Spec
from gpustack.doctor.diagnose import diagnose
from tests.unit.doctor.checks.evaluation import evaluate, judge_gpu_cluster, snapshot, summarize

HANDLER = "op-nvidia-runtime-handler-missing"
WITHOUT_TOOLKIT = {"containerd__runtime": "prepared-debian-12"}
SILENT_RUNTIME = {"containerd__runtime": "cri-disabled"}


@pytest.mark.parametrize(
    ("id", "cases", "outcome", "actual"),
    [
        (HANDLER, WITHOUT_TOOLKIT, "failed", "nothing"),
        (HANDLER, {}, "ok", "/usr/bin/nvidia-container-runtime"),
        (HANDLER, {"containerd__runtime": "cri-disabled"}, "unknown", "containerd does not respond"),
        (HANDLER, WITHOUT_TOOLKIT | {"gpu__pods": "none"}, "ok", "not configured on this host"),
        (f"{HANDLER} guard", {}, "failed", "running"),
        (f"{HANDLER} guard", {"gpu__pods": "none"}, "ok", "not running"),
        ("op-containerd-imports-overwritten", {"containerd__configuration": "imports-replaced"}, "failed",
         "/etc/containerd/conf.d/99-nvidia.toml"),
        ("op-containerd-imports-overwritten", {}, "ok", "conf.d/*.toml"),
        ("op-toolkit-config-incompatible",
         {"containerd__configuration": "toolkit-broken", "containerd__runtime": "cri-disabled"}, "failed", ""),
        ("op-toolkit-config-incompatible", {"containerd__configuration": "toolkit-broken"}, "ok", "accepted"),
        ("op-toolkit-config-incompatible", SILENT_RUNTIME | {"containerd__refusal": "newer-drop-in"}, "failed",
         "drop-in config version 4 higher than root config version 3"),
        ("op-toolkit-config-incompatible", SILENT_RUNTIME | {"containerd__refusal": "short-name"}, "ok", "valid"),
        ("op-toolkit-config-incompatible", SILENT_RUNTIME | {"containerd__refusal": "odd"}, "unknown", ""),
        ("op-toolkit-runtime-untyped", {}, "ok", "with a runtime_type"),
        ("op-toolkit-runtime-untyped", {"containerd__tables": "untyped"}, "failed", "in none"),
        ("op-toolkit-runtime-untyped", {"containerd__tables": "odd"}, "unknown", ""),
        ("op-device-plugin-restart-race", {"gpu__logs": "restarted", "gpu__nodes": "nothing-allocatable"}, "failed",
         "Received SIGHUP, restarting."),
        ("op-device-plugin-restart-race", {"gpu__logs": "restarted"}, "ok", "restarted"),
        ("op-device-plugin-restart-race",
         {"gpu__logs": "restarted", "gpu__nodes": "nothing-allocatable", "gpu__kernel_log": "xids"}, "ok", "restarted"),
        ("op-device-plugin-restart-race",
         {"gpu__logs": "restarted", "gpu__nodes": "nothing-allocatable", "gpu__plugin_files": "older-socket"}, "ok",
         "not registered"),
        ("op-device-plugin-restart-race", {"gpu__logs": "odd", "gpu__nodes": "nothing-allocatable"}, "unknown", ""),
        ("op-nodes-not-labelled", {"gpu__nodes": "no-labels"}, "failed", "nothing"),
        ("op-nodes-not-labelled", {"gpu__nodes": "two-hosts"}, "ok", "pci-10de.present"),
        ("op-nodes-not-labelled", {"gpu__nodes": "label-with-device"}, "failed",
         "pci-10de_2330.present=true, from other deviceLabelFields"),
        ("op-nodes-not-labelled", {"gpu__policy_settings": "no-such-kind"}, "ok", "no operator"),
        ("op-nodes-not-labelled", {"gpu__policy_settings": "refused"}, "unknown", ""),
        ("op-nodes-not-labelled guard", {"gpu__pods": "none"}, "failed", "missing"),
        ("op-gpu-node-tainted", {"kube__nodes": "tainted"}, "failed", "team:NoSchedule"),
        ("op-driver-image-not-published", {"gpu__pods": "pull-fails"}, "failed", "595.91.07-debian12"),
        ("op-driver-no-internet", {"gpu__logs": "driver"}, "ok", "the driver's pod is running"),
        ("op-driver-no-internet", {"gpu__logs": "driver", "gpu__pods": "pull-fails"}, "failed", "resolving"),
        ("op-validator-waits-driver", {"gpu__pods": "init", "gpu__plugin_files": "no-marks"}, "failed",
         "no driver-ready"),
        ("op-device-plugin-no-nvml", {"gpu__logs": "no-library"}, "failed", "only supported on NVML-based systems"),
        ("op-device-plugin-no-nvml", {"gpu__logs": "no-devices"}, "unknown", ""),
        ("op-device-plugin-no-nvml",
         {"gpu__logs": "no-library", "gpu__plugin_files": "no-marks", "gpu__driver": "nouveau"}, "ok",
         "the driver is not working"),
        ("op-kubelet-restart-lost-devices", {"gpu__plugin_files": "older-socket", "gpu__nodes": "nothing-allocatable"},
         "failed", "not registered since the kubelet started"),
        ("op-kubelet-restart-lost-devices", {"gpu__plugin_files": "older-socket"}, "ok", ""),
        ("op-kubelet-restart-lost-devices guard", {"gpu__inotify": "used-up"}, "ok", "128 of 128"),
        ("op-kubelet-restart-lost-devices guard", {"gpu__inotify": "odd"}, "unknown", ""),
        ("op-mig-mixed-nvml-regression", {"gpu__nodes": "mig-mixed"}, "failed", "570.133.20"),
        ("op-cdi-unresolvable", {"pods__pending": "cdi"}, "failed", "management.nvidia.com/gpu=all"),
        ("op-cuda-validation-failed", {"gpu__plugin_files": "no-marks", "gpu__logs": "engine"}, "failed", "vector"),
        ("gpu-host-driver-conflict -> st-gpu-operands-init", {"gpu__pods": "init"}, "ok", "none waits"),
        ("st-gpu-operands-init", {"gpu__pods": "init"}, "failed", "nvidia-dcgm-exporter-a"),
        ("st-no-gpu-labels", {"gpu__nodes": "no-labels"}, "failed", "nothing"),
        ("st-device-plugin-down", {"gpu__plugin_files": "no-socket"}, "failed", "not registered"),
        ("st-device-plugin-down", {"gpu__plugin_files": "no-socket", "gpu__pods": "none"}, "ok", "no pod on this node"),
        ("st-no-gpu-allocatable", {"gpu__nodes": "nothing-allocatable"}, "failed", "0"),
        ("st-driver-not-ready -> op-cdi-unresolvable", {"gpu__plugin_files": "no-marks"}, "ok", "not ready before"),
    ],
)  # fmt: skip
def test_faults_of_a_node_are_judged(id: str, cases: dict[str, str], outcome: str, actual: str) -> None:
    result = summarize(judge_gpu_cluster(id, "k1", **cases))
    assert result[0] == outcome, result
    assert actual in result[1], result


@pytest.mark.parametrize(("nodes", "latent"), [(None, True), ("nothing-allocatable", False), ("odd-count", False)])
def test_a_taint_harms_nothing_while_its_node_offers_all_gpus(nodes: str | None, latent: bool) -> None:
    cases = {"kube__nodes": "tainted"} | ({"gpu__nodes": nodes} if nodes else {})
    result = judge_gpu_cluster("op-gpu-node-tainted", "k1", **cases).result
    assert result
    assert result.latent == latent


@pytest.mark.parametrize(
    ("id", "cases", "outcome", "actual"),
    [
        ("op-no-gpu-nodes-false-ready", {"gpu__cluster_policies": "no-gpu-nodes"}, "ok", "k1, k2"),
        ("op-ngc-image-pull-auth", {"gpu__pods": "pull-fails"}, "failed", "nim-a"),
        ("op-image-tag-removed", {"gpu__pods": "pull-fails"}, "failed", "nvidia-cuda-a"),
        ("op-image-tag-removed", {"gpu__pods": "no-list"}, "unknown", ""),
        ("op-device-plugin-config-missing", {"gpu__policy_settings": "plugin-config"}, "failed", "no such"),
        ("op-operator-oom", {"gpu__pods": "out-of-memory"}, "failed", "OOMKilled"),
        ("op-operator-api-timeout", {"gpu__logs": "engine"}, "ok", "running"),
        (
            "op-operator-api-timeout",
            {"gpu__logs": "engine", "gpu__deployments": "not-running"},
            "failed",
            "i/o timeout",
        ),
        ("op-clusterpolicy-missing-or-duplicate", {"gpu__cluster_policies": "none"}, "failed", "nothing"),
        (
            "op-clusterpolicy-missing-or-duplicate",
            {"gpu__cluster_policies": "no-such-kind"},
            "ok",
            "no running operator",
        ),
        ("op-user-namespaces-pod", {"pods__pending": "own-users"}, "failed", "default/job-a"),
        ("op-crd-stale", {"gpu__policy_settings": "pruned"}, "failed", "dcgmExporter.serviceMonitor, hostPaths"),
        ("op-crd-stale", {"gpu__policy_settings": "pruned", "helm__releases": "none"}, "ok", "no release by gpustack"),
        ("st-clusterpolicy-stale", {}, "ok", "running"),
        ("st-clusterpolicy-stale", {"gpu__deployments": "not-running"}, "failed", "not running"),
    ],
)
def test_faults_of_the_cluster_are_judged(id: str, cases: dict[str, str], outcome: str, actual: str) -> None:
    result = summarize(judge_gpu_cluster(id, CLUSTER, **cases))
    assert result[0] == outcome, result
    assert actual in result[1], result


@pytest.mark.parametrize(
    ("location", "cases", "roots"),
    [
        (CLUSTER, {}, set()),
        (CLUSTER, {"pods__pending": "of-users"}, set()),
        ("k1", WITHOUT_TOOLKIT, {HANDLER}),
        ("k1", {"gpu__plugin_files": "older-socket", "gpu__nodes": "nothing-allocatable"},
         {"op-kubelet-restart-lost-devices"}),
        (CLUSTER, {"service_monitors__objects": "none", "dcgm__monitors": "none", "scrape__jobs": "no-exporter",
                   "dcgm__series": "none"}, {"mon-servicemonitor-disabled"}),
        (CLUSTER, {"service_monitors__objects": "wrong-port", "scrape__jobs": "no-exporter", "dcgm__series": "none"},
         {"mon-servicemonitor-port-name"}),
        (CLUSTER, {"scrape__duplicates": "two-jobs"}, {"mon-duplicate-metrics"}),
        (CLUSTER, {"grafana__response": "refused"}, {"mon-grafana-password-unknown"}),
        (CLUSTER, {"grafana__response": "unregistered"}, {"mon-grafana-plugin-lost"}),
        (CLUSTER, {"grafana__data_sources": "two", "grafana__response": "no-source"}, {"mon-grafana-datasource-wrong"}),
        (CLUSTER, {"monitoring__operators": "two"}, {"mon-two-operators-fight"}),
        (CLUSTER, {"gpu__policy_settings": "pruned"}, {"op-crd-stale"}),
    ],
)  # fmt: skip
def test_the_roots_are_these_and_nothing_is_left_over(location: str, cases: dict[str, str], roots: set[str]) -> None:
    diagnosis = diagnose(snapshot(location, **cases))
    assert {root.id for root in diagnosis.roots} == roots
    assert [symptom.id for symptom in diagnosis.verdict.unexplained_symptoms] == []
    assert [f"{drift.step}/{drift.check}" for drift in diagnosis.drift if drift.step != "prereqs"] == []


def test_what_a_container_failed_for_before_it_ran_is_over() -> None:
    summary = summarize(judge_gpu_cluster("op-cdi-unresolvable", "k2", gpu__pods="after-reboot"))
    assert summary == ("ok", "no error")


@pytest.mark.parametrize(
    ("start", "outcome"), [("2026-11-21T04:59:58Z", "unknown"), ("2026-11-21T04:58:00Z", "failed")]
)
def test_a_device_plugin_that_was_started_just_now_has_lost_nothing(start: str, outcome: str) -> None:
    gpu_snapshot = snapshot("k1", gpu__plugin_files="no-socket", gpu__nodes="nothing-allocatable")
    pods = gpu_snapshot.answers["gpu.pods", CLUSTER]
    restarted_pods = re.sub(r'(?<="running":\{"startedAt":")[^"]*', start, pods.stdout)
    assert restarted_pods != pods.stdout
    later = replace(
        gpu_snapshot, answers={**gpu_snapshot.answers, ("gpu.pods", CLUSTER): replace(pods, stdout=restarted_pods)}
    )
    assert summarize(evaluate("op-kubelet-restart-lost-devices", later, "k1"))[0] == outcome


def test_a_device_plugin_that_started_after_the_kubelet_has_missed_no_restart() -> None:
    gpu_snapshot = snapshot("k1", gpu__plugin_files="no-socket", gpu__nodes="nothing-allocatable")
    files = gpu_snapshot.answers["gpu.plugin-files", "k1"]
    older = replace(files, stdout=files.stdout.replace("kubelet.sock 1795319843", "kubelet.sock 1795230000"))
    answers = {**gpu_snapshot.answers, ("gpu.plugin-files", "k1"): older}
    summary = summarize(evaluate("op-kubelet-restart-lost-devices", replace(gpu_snapshot, answers=answers), "k1"))
    assert summary == ("ok", "started after the kubelet, and has registered nothing")


@pytest.mark.parametrize(("pods", "person"), [(1, "excludes the node"), (2, "")])
def test_a_labeller_that_its_daemon_set_keeps_away_comes_by_no_installing(pods: int, person: str) -> None:
    gpu_snapshot = snapshot("k1", gpu__nodes="no-labels", gpu__pods="none")
    sets = json.loads(gpu_snapshot.answers["gpu.daemon-sets", CLUSTER].stdout)
    worker = next(entry for entry in sets["items"] if entry["metadata"]["name"].endswith("discovery-worker"))
    worker["status"]["desiredNumberScheduled"] = pods
    answer = replace(gpu_snapshot.answers["gpu.daemon-sets", CLUSTER], stdout=json.dumps(sets))
    judgement = evaluate(
        "op-nodes-not-labelled",
        replace(gpu_snapshot, answers={**gpu_snapshot.answers, ("gpu.daemon-sets", CLUSTER): answer}),
        "k1",
    )
    assert judgement.result
    assert person in judgement.result.person
    assert bool(person) == bool(judgement.result.person)


@pytest.mark.parametrize(
    ("brings", "person"), [("nvidia-driver-daemonset", "driver.enabled"), ("nvidia-gpu-driver-site", "nvidiadrivers")]
)
def test_a_driver_that_nobody_here_asked_the_operator_for_is_for_a_person(brings: str, person: str) -> None:
    gpu_snapshot = snapshot("k1", gpu__pods="pull-fails")
    pods = gpu_snapshot.answers["gpu.pods", CLUSTER]
    answer = replace(pods, stdout=pods.stdout.replace("nvidia-driver-daemonset-a", f"{brings}-a"))
    judgement = evaluate(
        "op-driver-image-not-published",
        replace(gpu_snapshot, answers={**gpu_snapshot.answers, ("gpu.pods", CLUSTER): answer}),
        "k1",
    )
    assert judgement.result
    assert person in judgement.result.person


def test_a_driver_that_the_spec_has_the_operator_bring_is_not() -> None:
    gpu_snapshot = snapshot("k1", gpu__pods="pull-fails")
    spec = gpu_snapshot.inventory.spec.model_dump(mode="json", by_alias=True)
    spec["gpu"]["driver"]["mode"] = "container"
    configured_snapshot = replace(
        gpu_snapshot, inventory=replace(gpu_snapshot.inventory, spec=Spec.model_validate(spec))
    )
    judgement = evaluate("op-driver-image-not-published", configured_snapshot, "k1")
    assert (judgement.outcome, judgement.result and judgement.result.person) == ("failed", "")


def test_a_driver_that_waits_keeps_the_other_operands_waiting() -> None:
    gpu_snapshot = snapshot("k1", gpu__pods="init")
    pods = gpu_snapshot.answers["gpu.pods", CLUSTER]
    answer = replace(pods, stdout=pods.stdout.replace("nvidia-dcgm-exporter", "nvidia-driver-daemonset"))
    assert answer != pods
    judgement = evaluate(
        "gpu-host-driver-conflict -> st-gpu-operands-init",
        replace(gpu_snapshot, answers={**gpu_snapshot.answers, ("gpu.pods", CLUSTER): answer}),
        "k1",
    )
    assert summarize(judgement) == ("failed", "nvidia-driver-daemonset-a")
