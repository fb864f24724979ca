"""The spec and the hosts become values of the chart gpu-operator."""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.view import View
from gpustack.config.resources import read_own_counters
from gpustack.probes.containerd.daemon import DROP_IN, FOLDER
from gpustack.rollout.overlay import build_cluster_variables
from gpustack.steps.gpu.exporter import count_series, count_watched_gpus, format_scrape_timeout, merge_counters
from gpustack.steps.gpu.operator_values import build_release
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import K1, K2
from tests.worlds.snapshots.gpus import BARE, build_devices, build_snapshot, edit_answer, set_gpus

DEBIAN: Answers = place_answers("k1", read_case("system.os", "prepared-debian-12"))
NO_UPGRADES = {"upgradePolicy": {"autoUpgrade": False}}
CONTAINER = {"enabled": True, "version": "595.91.07", "kernelModuleType": "open", **NO_UPGRADES}
NO_CONTAINER = {"enabled": False, **NO_UPGRADES}


def build_values(changes: Answers | None = None, **options: Any) -> dict[str, Any]:
    return dict(build_release(View(build_snapshot(changes, **options), CLUSTER)).values)


def build_driver(base: Snapshot) -> Any:
    return build_release(View(base, CLUSTER)).values["driver"]


def lose_host(base: Snapshot, host: str) -> Snapshot:
    return replace(base, reach={**base.reach, host: Reach(host, "host-ssh-unreachable")})


@pytest.mark.parametrize(("interval", "longest"), [("5s", "5s"), ("10s", "10s"), ("15s", "10s"), ("1m", "10s")])
def test_a_scrape_never_lasts_longer_than_its_interval(interval: str, longest: str) -> None:
    """Seen in a lab: the Prometheus operator leaves such a monitor out, and says so only in its log."""
    assert format_scrape_timeout(interval) == longest


def test_drivers_of_hosts_are_left_to_the_hosts() -> None:
    assert build_values()["driver"] == NO_CONTAINER
    assert build_values(BARE)["driver"] == CONTAINER
    assert build_values({**BARE, **DEBIAN})["driver"] == CONTAINER
    assert build_values({**BARE, **DEBIAN, **build_devices("k2")})["driver"] == NO_CONTAINER


@pytest.mark.parametrize(("mode", "enabled"), [("container", True), ("host", False), ("none", False)])
def test_the_driver_mode_of_the_spec_becomes_values(mode: str, *, enabled: bool) -> None:
    driver_spec = {"gpu": {"driver": {"mode": mode, "version": "580.178.04", "kernel_module": "proprietary"}}}
    values = build_values(BARE, spec=driver_spec)["driver"]
    assert values == (
        {"enabled": True, "version": "580.178.04", "kernelModuleType": "proprietary", **NO_UPGRADES}
        if enabled
        else NO_CONTAINER
    )


def test_a_host_that_is_away_keeps_its_driver_container() -> None:
    """k1 has packages, k2 a container, and k2 does not answer: the release is not to change."""

    def rename_daemon_set(items: list[Any]) -> None:
        items[0]["metadata"]["name"] = "nvidia-driver-daemonset-ubuntu24.04"

    fleet = {**BARE, **DEBIAN}
    containers = {**fleet, **edit_answer("gpu.daemon-sets", rename_daemon_set)}
    assert build_driver(lose_host(build_snapshot(containers), "k2")) == CONTAINER
    assert build_driver(lose_host(build_snapshot(fleet), "k2")) == NO_CONTAINER
    assert (
        build_driver(lose_host(build_snapshot(containers, spec={"gpu": {"driver": {"mode": "host"}}}), "k2"))
        == NO_CONTAINER
    )


def test_it_is_unknown_without_the_operands_then() -> None:
    whole_snapshot = lose_host(build_snapshot({**BARE, **DEBIAN}), "k2")
    other_answers = {key: answer for key, answer in whole_snapshot.answers.items() if key[0] != "gpu.daemon-sets"}
    with pytest.raises(FactUnavailable):
        build_driver(replace(whole_snapshot, answers=other_answers))
    assert (
        "gpu-operator"
        not in build_cluster_variables(replace(whole_snapshot, answers=other_answers))["gpustack_releases"]
    )


def test_a_gpu_more_is_no_other_release() -> None:
    larger_view = View(build_snapshot(build_devices("k2", "0000:17:00.0")), CLUSTER)
    assert build_release(larger_view).compute_digest(larger_view) == build_release(
        View(build_snapshot(), CLUSTER)
    ).compute_digest(larger_view)


def test_without_sharing_there_is_no_configuration_of_the_plugin() -> None:
    assert build_values()["devicePlugin"]["config"] == {}
    assert build_values(hosts=(set_gpus(K1, gpustack_sharing="none"), K2))["devicePlugin"]["config"] == {}


def test_every_way_of_sharing_of_some_host_has_an_entry() -> None:
    hosts = (set_gpus(K1, gpustack_sharing="mps:2"), set_gpus(K2, gpustack_sharing="none"))
    values = build_values(hosts=hosts, spec={"gpu": {"sharing": {"mode": "time-slicing", "replicas": 3}}})
    config = values["devicePlugin"]["config"]
    assert (config["create"], config["name"], config["default"]) == (True, "gpustack-device-plugin", "none")
    assert sorted(config["data"]) == ["mps-2", "none"]
    assert yaml.safe_load(config["data"]["none"]) == {"version": "v1"}
    resource = {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}
    assert yaml.safe_load(config["data"]["mps-2"]) == {"version": "v1", "sharing": {"mps": resource}}


def test_sharing_of_all_hosts_becomes_one_configuration() -> None:
    values = build_values(spec={"gpu": {"sharing": {"mode": "time-slicing", "replicas": 3}}})["devicePlugin"]["config"]
    assert sorted(values["data"]) == ["none", "time-slicing-3"]
    document = yaml.safe_load(values["data"]["time-slicing-3"])["sharing"]["timeSlicing"]
    assert document == {"resources": [{"name": "nvidia.com/gpu", "replicas": 3}]}


@pytest.mark.parametrize(
    ("layouts", "strategy"),
    [
        ((None, None), None),
        (("all-1g.10gb", None), None),
        (("all-1g.10gb", "all-3g.40gb"), None),
        (("all-1g.20gb.me", "all-disabled"), None),
        (("all-balanced", None), "mixed"),
        (("all-1g.10gb", "all-balanced"), "mixed"),
        (("all-enabled", None), "mixed"),
        (("four-small-one-large", None), "mixed"),
    ],
)
def test_the_mig_strategy_follows_the_layouts(layouts: tuple[str | None, str | None], strategy: str | None) -> None:
    """A node's instances must all be alike with `single`; nodes may differ from each other."""
    hosts = tuple(set_gpus(host, gpustack_mig=layout) for host, layout in zip((K1, K2), layouts, strict=True))
    assert build_values(hosts=hosts).get("mig", {}).get("strategy") == strategy


@pytest.mark.parametrize(
    ("spec", "enabled"),
    [
        ({}, True),
        ({"gpu": {"metrics": {"service_monitor": "ours"}}}, False),
        ({"monitoring": {"enabled": False}}, False),
    ],
)
def test_the_spec_decides_whose_service_monitor_it_is(spec: dict[str, Any], *, enabled: bool) -> None:
    assert build_values(spec=spec)["dcgmExporter"]["serviceMonitor"]["enabled"] is enabled


def test_the_exporter_asks_as_often_as_it_is_asked() -> None:
    exporter = build_values(spec={"gpu": {"metrics": {"interval": "1m"}}})["dcgmExporter"]
    assert exporter["env"] == [{"name": "DCGM_EXPORTER_INTERVAL", "value": "60000"}]
    assert exporter["serviceMonitor"]["interval"] == "1m"
    assert exporter["config"] == {"name": "gpustack-dcgm-counters", "create": True, "data": read_own_counters()}


def test_counters_of_the_spec_are_added_once() -> None:
    more_counters = ("DCGM_FI_DEV_FAN_SPEED", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_FAN_SPEED")
    added_counters = merge_counters(more_counters).removeprefix(read_own_counters())
    assert added_counters == "DCGM_FI_DEV_FAN_SPEED, gauge, asked for by the spec\n"
    assert merge_counters(()) == read_own_counters()


def test_what_our_table_only_speaks_of_is_not_there_yet() -> None:
    name = "DCGM_EXP_XID_ERRORS_TOTAL"
    assert f"# {name}," in read_own_counters()
    assert merge_counters((name,)).endswith(f"\n{name}, counter, asked for by the spec\n")


def test_the_operator_s_own_values_count_most() -> None:
    snapshot = build_snapshot()
    toolkit = {"enabled": False, "env": []}
    own_values = {"gpu-operator": {"toolkit": toolkit, "driver": {"enabled": True}, "daemonsets": None}}
    snapshot_of_values = replace(snapshot, inventory=replace(snapshot.inventory, values=own_values))
    values = build_release(View(snapshot_of_values, CLUSTER)).values
    assert (values["toolkit"], values["driver"], values["daemonsets"]) == (
        toolkit,
        NO_UPGRADES | {"enabled": True},
        None,
    )
    assert values["dcgmExporter"] == build_values()["dcgmExporter"]


def test_the_toolkit_takes_over_our_file_of_containerd() -> None:
    """The operator hands it on as a file below /host (NVIDIA/gpu-operator v26.7.0 controllers/object_controls.go)."""
    assert read_toolkit_variables()["RUNTIME_CONFIG_SOURCE"] == f"file={FOLDER}{DROP_IN}"


def test_systemd_restarts_containerd_for_the_toolkit() -> None:
    """A toolkit that sends SIGHUP may end its own container (docs/decisions/0037-containerd-restart.md). The name of
    the variable is of NVIDIA/nvidia-container-toolkit v1.20.1 cmd/nvidia-ctk-installer/container/runtime/runtime.go."""
    assert read_toolkit_variables()["RUNTIME_RESTART_MODE"] == "systemd"


def read_toolkit_variables() -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in build_values()["toolkit"]["env"]}


def test_the_role_gets_the_release_and_its_values() -> None:
    release = build_cluster_variables(build_snapshot())["gpustack_releases"]["gpu-operator"]
    assert (release["name"], release["namespace"], release["version"]) == ("gpu-operator", "gpu-operator", "v26.7.0")
    assert release["privileged"] is True
    assert len(release["digest"]) == 40
    assert release["values"]["daemonsets"]["tolerations"]


def test_settings_of_the_exporter_stand_in_one_place_each() -> None:
    metrics = {
        "interval": "30s",
        "devices": "g:0,1",
        "shared_gpus": True,
        "pod_labels": ["^app$", "^team$"],
        "pod_uid": True,
    }
    values = build_values(spec={"gpu": {"metrics": metrics}})["dcgmExporter"]
    assert {variable["name"]: variable["value"] for variable in values["env"]} == {
        "DCGM_EXPORTER_INTERVAL": "30000",
        "DCGM_EXPORTER_DEVICES_STR": "g:0,1",
        "KUBERNETES_VIRTUAL_GPUS": "true",
    }
    assert (values["enablePodLabels"], values["enablePodUID"]) == (True, True)
    assert values["hostPID"] is True
    assert values["podLabelAllowlistRegex"] == ["^app$", "^team$"]
    assert build_values()["dcgmExporter"].keys() == {"config", "env", "serviceMonitor"}


@pytest.mark.parametrize(("devices", "expected"), [("f", 4), ("g", 4), ("g:0", 1), ("g:0,2-3", 3), ("g:1-9,1", 3)])
def test_measured_gpus_are_counted_by_the_devices_setting(devices: str, expected: int) -> None:
    assert count_watched_gpus(devices, 4) == expected


def test_fields_of_ours_can_be_left_out() -> None:
    remaining_counters = merge_counters((), ("DCGM_FI_PROF_PIPE_FP64_ACTIVE", "DCGM_FI_DEV_SERIAL"))
    assert count_series(remaining_counters) == count_series(merge_counters(())) - 1
    assert "DCGM_FI_PROF_PIPE_FP64_ACTIVE" not in remaining_counters


def test_the_operands_accept_the_taints_of_the_inventory() -> None:
    host = set_gpus(K2, gpustack_taints=("team=a:NoSchedule", "soft=b:PreferNoSchedule"))
    values = build_values(hosts=(K1, host))
    for tolerations in (
        values["daemonsets"]["tolerations"],
        values["node-feature-discovery"]["worker"]["tolerations"],
    ):
        keys = [toleration["key"] for toleration in tolerations]
        assert keys == ["nvidia.com/gpu", "node-role.kubernetes.io/control-plane", "team"]
    assert "node-feature-discovery" not in build_values()
