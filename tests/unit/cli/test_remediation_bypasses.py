"""Ways past the guard rails of `gpustack remediate`: none of them leads to an act. All cases are constructed from the
recorded objects of tests/worlds/programs/node_api.py."""

import json
import subprocess
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.cli.node.options import open_node_run
from gpustack.config.host import HostSpec
from gpustack.errors import GpustackError, LockedError
from gpustack.gpus.fleet import ACTION
from gpustack.health import sources
from gpustack.health.host_sources import HostSources
from gpustack.health.sources import Sources
from gpustack.nodes import drain_plan, reboot_plan
from gpustack.remediation import acts, remediation
from gpustack.remediation.reset import build_reset_script
from tests.unit.cli.remediations import (
    check,
    drain_node,
    expect_error,
    list_refusals,
    list_states,
    record_act,
    replace_sources,
    run,
)
from tests.unit.cli.test_remediation_acts import change_while_asked, install_programs, list_acts, take
from tests.unit.cli.unwell_gpus import UnwellGpus
from tests.worlds.programs import node_api as node_api_module
from tests.worlds.programs.node_api import NodeApi

REBOOT = json.dumps(
    {"host": "h1", "boot": "b", "devices": {}, "has_exporter": False, "author": "ann", "begun_at": "today"}
)


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> UnwellGpus:
    monkeypatch.setattr(acts, "PAUSE", 0.01)
    monkeypatch.setattr(acts, "ROUNDS", 0)
    return replace_sources(monkeypatch)


def change_node(node_api: NodeApi, name: str, **changes: Any) -> None:
    """Change annotations or the spec of a node."""
    objects = node_api.read()
    (node,) = (node for node in objects["nodes"] if node["metadata"]["name"] == name)
    node["metadata"].setdefault("annotations", {}).update(changes.get("annotations", {}))
    node["spec"] = node.get("spec", {}) | changes.get("spec", {})
    node_api.write(objects)


def test_a_restart_of_the_plugin_needs_all_gpus_of_the_node_to_be_well(node_api: NodeApi, gpus: UnwellGpus) -> None:
    """The kubelet does not say which GPU it withholds: with another name in the command it is still the unwell one."""
    gpus.withheld_count = 1
    node_api.drop_device()
    assert "device-plugin" not in list_states("gpu1:1")
    gpus.values = {"XID_ERRORS": 48.0}
    assert "device-plugin" not in list_states("gpu1:1")
    gpus.values = {}
    assert list_states("gpu1:1")["device-plugin"] == "next"


def test_one_source_alone_adds_no_rung_to_a_verdict_on_another_gpu(
    node_api: NodeApi, gpus: UnwellGpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = gpus.read_sources

    def add_single_sign(prometheus: object, hosts: HostSources) -> Sources:
        current = read(prometheus, hosts)
        newest = tuple(
            replace(reading, value=2.0)
            if (reading.field.name, reading.gpu.key[0]) == (ACTION, "GPU-gpu1-1")
            else reading
            for reading in current.readings.newest
        )
        return replace(current, readings=replace(current.readings, newest=newest))

    monkeypatch.setattr(sources, "read_sources", add_single_sign)
    drain_node(node_api)
    assert (check("gpu1")["health"], list_states("gpu1")["reset"]) == ("reset", "next")


def test_a_node_with_a_taint_that_this_node_has_not_takes_none_of_its_pods(node_api: NodeApi) -> None:
    change_node(node_api, "k1", spec={"taints": [{"key": "maintenance", "effect": "NoSchedule"}]})
    assert list_refusals() == ["last-gpu-node"]
    change_node(node_api, "gpu1", spec={"taints": [{"key": "maintenance", "effect": "NoSchedule"}]})
    assert list_refusals() == []
    change_node(node_api, "gpu1", spec={"taints": []})
    change_node(node_api, "k1", spec={"taints": [{"key": "maintenance", "effect": "PreferNoSchedule"}]})
    assert list_refusals() == []


def test_a_pod_that_was_not_shown_is_not_drained(node_api: NodeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    node_api.keep_pods("web", "exporter")
    node_api.set_allowance(2)
    take()
    objects = node_api.read()
    web = next(pod for pod in objects["pods"] if pod["metadata"]["name"].startswith("web"))

    def add_pod() -> None:
        later = json.loads(json.dumps(web))
        later["metadata"] |= {"name": "web-later", "uid": "later"}
        node_api.write(node_api.read() | {"pods": [*node_api.read()["pods"], later]})

    change_while_asked(monkeypatch, add_pod)
    error = expect_error("gpu1:0", "--yes")
    assert (error.reference, error.reason) == ("remediation-changed-since", "team-a/web-later came to the node")
    assert len([name for name in node_api.list_pod_names() if "web" in name]) == 3


def test_the_record_of_a_reboot_lifts_no_limit_of_resets(node_api: NodeApi) -> None:
    drain_node(node_api, timedelta(minutes=1))
    record_act(node_api, "reset", timedelta(minutes=50))
    record_act(node_api, "reset", timedelta(days=3))
    change_node(node_api, "gpu1", annotations={"gpustack.io/reboot": REBOOT})
    assert list_refusals() == ["resets-per-week", "cool-down"]


def test_only_a_reboot_that_was_killed_is_continued_beyond_its_limit(node_api: NodeApi, gpus: UnwellGpus) -> None:
    gpus.values = {"XID_ERRORS": 79, "GET_GPU_RECOVERY_ACTION": 2}
    drain_node(node_api)
    record_act(node_api, "reboot", timedelta(days=6))
    record_act(node_api, "reboot", timedelta(days=5))
    change_node(node_api, "gpu1", annotations={"gpustack.io/reboot": REBOOT})
    assert list_refusals() == ["reboots-per-week"]
    change_node(node_api, "gpu1", annotations={"gpustack.io/remediation": '{"acts": []}'})
    record_act(node_api, "reboot", timedelta(days=5))
    record_act(node_api, "reboot", timedelta(minutes=5), "begun")
    assert list_refusals() == []
    change_node(node_api, "gpu1", annotations={"gpustack.io/reboot": "{}"})
    assert list_refusals() == ["reboots-per-week", "cool-down"]


def test_a_record_of_another_node_that_cannot_be_read_stops_the_act(node_api: NodeApi) -> None:
    change_node(node_api, "k1", annotations={"gpustack.io/remediation": "{}"})
    assert list_refusals() == ["fresh-data"]


def test_a_record_that_became_unreadable_is_not_written_over(
    node_api: NodeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    drain_node(node_api)
    install_programs(node_api)

    def spoil_record(*_: object) -> str:
        change_node(node_api, "gpu1", annotations={"gpustack.io/remediation": "spoilt"})
        return ""

    monkeypatch.setattr(acts.Acts, "reset", spoil_record)
    error = expect_error("gpu1:0", "--yes")
    assert error.reason == "The annotation gpustack.io/remediation cannot be read."
    assert node_api.read_node()["metadata"]["annotations"]["gpustack.io/remediation"] == "spoilt"


def test_a_reset_is_verified_without_kube_state_metrics(
    node_api: NodeApi, gpus: UnwellGpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = gpus.read_sources
    monkeypatch.setattr(sources, "read_sources", lambda *words: replace(read(*words), offers={}))
    drain_node(node_api)
    objects = node_api.read()
    (node,) = (node for node in objects["nodes"] if node["metadata"]["name"] == "gpu1")
    node["status"]["capacity"] = {"nvidia.com/gpu": "4"}
    node["status"]["allocatable"]["nvidia.com/gpu"] = "0"
    node_api.write(objects)
    install_programs(node_api)
    document = take()
    assert (document["outcome"], "it offers 0 of 4 GPUs" in document["reason"]) == ("failed", True)


def test_gpus_that_the_host_does_not_have_are_not_reset(node_api: NodeApi) -> None:
    drain_node(node_api)
    node_api.switches = 4
    log = install_programs(node_api)
    program = node_api.folder / "nvidia-smi"
    program.write_text(program.read_text().replace("GPU-gpu1-0", "GPU-another-machine"))
    assert "the host has no GPU GPU-gpu1-0" in take()["reason"]
    assert "--gpu-reset" not in log.read_text()
    assert "taint" not in str(node_api.read()["calls"])
    assert list_acts(node_api) == [("reset", "failed")]


def test_a_node_that_was_uncordoned_is_not_rebooted(
    node_api: NodeApi, gpus: UnwellGpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus.values = {"XID_ERRORS": 79, "GET_GPU_RECOVERY_ACTION": 2}
    drain_node(node_api)

    def uncordon(*words: Any) -> Any:
        change_node(node_api, "gpu1", spec={"unschedulable": False})
        return reboot_plan.gather_nodes(*words)

    monkeypatch.setattr(remediation, "gather_nodes", uncordon)
    document = take()
    assert (document["outcome"], document["reason"]) == ("failed", "the cordon is none now, and was gpustack")
    assert (node_api.read()["boots"]["h1"], list_acts(node_api)) == (0, [])


def test_without_a_known_host_nothing_is_reset_and_no_act_recorded(
    node_api: NodeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    drain_node(node_api)
    node_api.lost_hosts = {"h1"}
    assert list_refusals() == ["known-host"]
    assert (expect_error("gpu1:0", "--yes").reference, list_acts(node_api)) == ("remediation-refused", [])


def test_the_host_of_gpustack_is_not_rebooted(
    node_api: NodeApi, gpus: UnwellGpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus.values = {"XID_ERRORS": 79, "GET_GPU_RECOVERY_ACTION": 2}
    drain_node(node_api)
    plane, host = node_api_module.HOSTS
    hosts = (plane, replace(host, connection="local", spec=HostSpec(gpustack_node_ip=IPv4Address(host.address))))
    monkeypatch.setattr(node_api_module, "HOSTS", hosts)
    assert list_refusals() == ["own-host"]
    assert (expect_error("gpu1:0", "--yes").reference, list_acts(node_api)) == ("remediation-refused", [])


def test_the_command_to_repeat_has_all_options(node_api: NodeApi) -> None:
    options = "--end-pod team-a/notebook --wait-for-jobs 2h"
    words = f"{options} --prometheus http://127.0.0.1:9090 --tenant gpus".split()
    assert expect_error("gpu1:0", *words).hint == f"gpustack remediate gpu1:0 {' '.join(words)} --yes -i hosts.yml"
    reboot = CliRunner().invoke(app, ["node", "reboot", "gpu1", *options.split(), "-q"]).exception
    assert isinstance(reboot, GpustackError)
    assert reboot.hint == f"gpustack node reboot gpu1 {options} --yes -i hosts.yml"


def test_a_reset_that_gets_a_signal_starts_the_units_again(tmp_path: Path) -> None:
    """Such a signal comes when the connection to the host ends."""
    log = tmp_path / "log"
    for name, text in {
        "nvidia-smi": 'case "$*" in *--gpu-reset*) kill -TERM $PPID ;; esac',
        "find": "",
        "systemctl": f'echo "$*" >>{log}',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    script = build_reset_script(["GPU-1"], whole_baseboard=False, rounds=1)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert subprocess.run(["sh", "-s"], input=script, text=True, env=environment, check=False).returncode == 1
    assert "start nvidia-persistenced" in log.read_text()


def test_a_person_who_cordons_the_node_anew_at_the_last_moment_ends_the_act(
    node_api: NodeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record of gpustack's cordon stays on the node; only the manager of the field is another one."""
    drain_node(node_api)
    gather, rounds = node_api.gather, list[int]()

    def interrupt(*words: Any, **options: Any) -> Any:
        rounds.append(1)
        if len(rounds) == 3:
            record = node_api.read_node()["metadata"]["annotations"]["gpustack.io/cordon"]
            node_api.set_cordon("kubectl-cordon", record)
        return gather(*words, **options)

    monkeypatch.setattr(drain_plan, "gather", interrupt)
    error = expect_error("gpu1:0", "--yes")
    assert (error.reference, list_acts(node_api)) == ("remediation-changed-since", [])


def test_a_reboot_whose_lock_somebody_else_has_is_no_act(
    node_api: NodeApi, gpus: UnwellGpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody takes the lock after the first run of the command."""
    gpus.values = {"XID_ERRORS": 79, "GET_GPU_RECOVERY_ACTION": 2}
    drain_node(node_api)
    runs = count(1)

    @contextmanager
    def lose_lock(*words: Any) -> Any:
        if next(runs) == 2:
            raise LockedError("lock-held", "bob holds the lock")
        with open_node_run(*words) as pair:
            yield pair

    monkeypatch.setattr("gpustack.cli.commands.remediate.open_node_run", lose_lock)
    run("gpu1:0", "--yes", "-o", "json", "--wait-for-jobs", "1s", "--timeout", "1s", "--boot-timeout", "2s")
    is_rebooted = node_api.read()["boots"]["h1"] == 1
    assert (list_acts(node_api) != []) == is_rebooted
