"""The acts of `gpustack remediate`: one for each command, recorded on the node, verified, and none without a yes."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gpustack.cli.commands import remediate
from gpustack.nodes import drain_plan, reboot_plan
from gpustack.remediation import acts, remediation
from tests.unit.cli.remediations import (
    GPU,
    check,
    drain_node,
    expect_error,
    list_states,
    record_act,
    replace_sources,
    run,
)
from tests.unit.cli.unwell_gpus import UnwellGpus
from tests.worlds.programs.node_api import NodeApi

# The words of nvidia-smi after a reset, and where a client has the GPU open, are those that NVSentinel issue 1690
# quotes; only the bus address is another.
SMI = """#!/bin/sh
echo "nvidia-smi $*" >>{log}
case "$*" in
  *--gpu-reset*) {reset} ;;
  *persistence_mode*) echo "{uuid}, {persistence}" ;;
  *--query-gpu=uuid*) echo "{uuid}" ;;
esac
"""
SYSTEMCTL = """#!/bin/sh
echo "systemctl $*" >>{log}
case "$*" in "is-active --quiet nvidia-persistenced") exit 0 ;; is-active*) exit 3 ;; esac
"""
WELL = "echo 'GPU 00000000:65:00.0 was successfully reset.'"
IN_USE = (
    r"printf 'The following GPUs could not be reset:\n  GPU 00000000:65:00.0: In use by another client\n'; exit 255"
)
QUICK = ("--wait-for-jobs", "1s", "--timeout", "1s", "--boot-timeout", "2s")


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> UnwellGpus:
    monkeypatch.setattr(acts, "PAUSE", 0.01)
    monkeypatch.setattr(acts, "ROUNDS", 0)
    return replace_sources(monkeypatch)


def take(target: str = "gpu1:0", *words: str) -> dict[str, Any]:
    """Take a rung, and return the document."""
    result = run(target, "--yes", "-o", "json", *QUICK, *words)
    assert result.stdout, result.exception
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def install_programs(node_api: NodeApi, reset: str = WELL, holders: str = "", persistence: str = "Disabled") -> Path:
    """Install programs of the host, and return their log."""
    log = node_api.folder / "log"
    programs = {
        "nvidia-smi": SMI.format(log=log, reset=reset, uuid=GPU, persistence=persistence),
        "systemctl": SYSTEMCTL.format(log=log),
        "find": f"#!/bin/sh\nprintf '{holders}'\n",
    }
    for name, text in programs.items():
        (node_api.folder / name).write_text(text)
        (node_api.folder / name).chmod(0o755)
    return log


def list_acts(node_api: NodeApi) -> list[tuple[str, str]]:
    annotations = node_api.read_node()["metadata"].get("annotations", {})
    entries = json.loads(annotations.get("gpustack.io/remediation", '{"acts": []}'))["acts"]
    return [(act["rung"], act["end"]) for act in entries]


def test_without_a_yes_nothing_is_done(node_api: NodeApi) -> None:
    error = expect_error("gpu1:0")
    assert (error.reference, error.code, node_api.read()["calls"]) == ("node-declined", 5, [])
    assert error.hint == "gpustack remediate gpu1:0 --yes -i hosts.yml"


def test_a_cordon_is_recorded_with_its_act(node_api: NodeApi) -> None:
    document = take()
    assert (document["outcome"], document["exit"]["code"]) == ("done", 0)
    assert document["next"] == "gpustack remediate gpu1:0 -i hosts.yml"
    assert node_api.read_node()["spec"] == {"unschedulable": True}
    assert json.loads(node_api.read_node()["metadata"]["annotations"]["gpustack.io/cordon"])["who"] == "ann"
    assert (list_acts(node_api), list_states()["drain"]) == ([("cordon", "done")], "next")


def test_acts_of_more_than_a_week_ago_are_forgotten(node_api: NodeApi) -> None:
    record_act(node_api, "reset", timedelta(days=8))
    record_act(node_api, "reset", timedelta(days=6))
    take()
    assert list_acts(node_api) == [("reset", "done"), ("cordon", "done")]


def test_one_command_takes_one_rung(node_api: NodeApi) -> None:
    node_api.keep_pods("train", "exporter")
    take()
    assert "team-a/train-9cqn5" in node_api.list_pod_names()


def test_a_drain_waits_for_jobs_and_evicts_none_that_still_runs(node_api: NodeApi) -> None:
    node_api.keep_pods("train", "exporter")
    take()
    document = take()
    assert (document["outcome"], document["exit"]["code"]) == ("failed", 5)
    assert "GPU jobs run there: team-a/train-9cqn5 (Job train), after 1 s" in document["reason"]
    assert "team-a/train-9cqn5" in node_api.list_pod_names()
    assert list_acts(node_api)[-1] == ("drain", "failed")


def test_a_drain_ends_where_the_verdict_changed_while_jobs_ended(
    node_api: NodeApi, gpus: UnwellGpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    node_api.keep_pods("train", "web", "exporter")
    node_api.set_allowance(2)
    take()
    gather, rounds = node_api.gather, list[int]()

    def end_job(*words: Any, **options: Any) -> Any:
        rounds.append(1)
        if len(rounds) == 4:
            node_api.keep_pods("web", "exporter")
            gpus.values = {}
        return gather(*words, **options)

    monkeypatch.setattr(drain_plan, "gather", end_job)
    assert take()["reason"] == "the verdict is ok now, and was reset"
    assert len([name for name in node_api.list_pod_names() if "web" in name]) == 2


def test_a_check_names_pods_that_have_to_be_named(node_api: NodeApi) -> None:
    node_api.keep_pods("notebook")
    take()
    assert (check()["exit"]["code"], check()["refusals"]) == (1, [])


def test_a_drain_evicts_jobs_that_a_person_gives_up(node_api: NodeApi) -> None:
    node_api.keep_pods("train", "exporter")
    take()
    assert take("gpu1:0", "--end-pod", "team-a/train*", "--timeout", "20s")["outcome"] == "done"
    assert (node_api.list_pod_names(), list_states()["reset"]) == (["default/exporter-n6dcv"], "next")


def test_a_drain_refuses_pods_that_nobody_makes_anew(node_api: NodeApi) -> None:
    node_api.keep_pods("notebook")
    take()
    error = expect_error("gpu1:0", "--yes")
    assert error.reference == "node-pods-refused"
    assert error.hint.startswith("gpustack remediate gpu1:0 -i hosts.yml --end-pod team-a/notebook")


def test_a_reset_stops_what_has_the_gpus_open_and_starts_it_again(
    node_api: NodeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    silences = list[Any]()
    monkeypatch.setattr(remediation, "leave_silence", lambda run, *words: silences.append(words))
    drain_node(node_api)
    log = install_programs(node_api)
    document = take()
    assert (document["outcome"], document["reason"], silences) == ("done", None, [(["gpu1"], 240, "reset")])
    steps = [line for line in log.read_text().splitlines() if "is-active" not in line]
    assert steps == [
        "nvidia-smi --query-gpu=uuid --format=csv,noheader",
        "systemctl stop nvidia-persistenced",
        f"nvidia-smi --query-gpu=uuid,persistence_mode --format=csv,noheader -i {GPU}",
        f"nvidia-smi --gpu-reset -i {GPU}",
        "nvidia-smi --query-gpu=uuid --format=csv,noheader",
        "systemctl start nvidia-persistenced",
    ]
    taints = [call[-2:] for call in node_api.read()["calls"] if "taint" in call]
    assert taints == [["gpustack.io/reset=:NoExecute", "--overwrite"], ["gpu1", "gpustack.io/reset-"]]
    assert (list_acts(node_api), node_api.read_node()["taints"]) == ([("reset", "done")], [])


def test_persistence_mode_without_its_daemon_is_off_while_gpus_are_reset(node_api: NodeApi) -> None:
    drain_node(node_api)
    log = install_programs(node_api, persistence="Enabled")
    assert take()["reason"] is None
    steps = [line.split()[1:3] for line in log.read_text().splitlines() if "-pm" in line or "--gpu-reset" in line]
    assert steps == [["-pm", "0"], ["--gpu-reset", "-i"], ["-pm", "1"]]


def test_a_reset_with_nvswitches_is_of_all_gpus(node_api: NodeApi) -> None:
    drain_node(node_api)
    node_api.switches = 4
    log = install_programs(node_api)
    assert take()["outcome"] == "done"
    assert "nvidia-smi --gpu-reset\n" in log.read_text()
    assert "is-active --quiet nvidia-fabricmanager" in log.read_text()


def test_a_reset_is_refused_while_a_process_has_the_gpus_open(node_api: NodeApi) -> None:
    drain_node(node_api)
    log = install_programs(node_api, holders="/proc/812/fd/3\\n")
    document = take()
    assert (document["outcome"], document["exit"]["code"]) == ("failed", 5)
    assert "processes have /dev/nvidia* open: 812" in document["reason"]
    assert "--gpu-reset" not in log.read_text()
    assert "systemctl start nvidia-persistenced" in log.read_text()
    assert (list_acts(node_api), node_api.read_node()["taints"]) == ([("reset", "failed")], [])


def test_a_reset_that_the_driver_refuses_has_failed(node_api: NodeApi) -> None:
    drain_node(node_api)
    install_programs(node_api, IN_USE)
    assert "In use by another client" in take()["reason"]
    assert (list_acts(node_api), list_states()["reboot"]) == ([("reset", "failed")], "next")


def test_a_device_plugin_is_restarted_until_all_gpus_are_offered(node_api: NodeApi, gpus: UnwellGpus) -> None:
    gpus.values, gpus.withheld_count = {}, 1
    node_api.drop_device()
    objects = node_api.read()
    (pod,) = (pod for pod in objects["pods"] if pod["metadata"]["name"].startswith("exporter"))
    pod["metadata"]["ownerReferences"][0]["name"] = "nvidia-device-plugin-daemonset"
    node_api.write(objects)
    assert take("gpu1")["outcome"] == "done"
    assert "default/exporter-n6dcv" not in node_api.list_pod_names()
    assert list_acts(node_api) == [("device-plugin", "done")]


def test_a_reboot_leaves_the_node_cordoned(node_api: NodeApi, gpus: UnwellGpus) -> None:
    drain_node(node_api)
    gpus.values = {"XID_ERRORS": 79, "GET_GPU_RECOVERY_ACTION": 2}
    document = take()
    assert (document["outcome"], document["reason"]) == ("done", None)
    assert node_api.read()["boots"]["h1"] == 1
    assert node_api.read_node()["spec"] == {"unschedulable": True}
    assert list_acts(node_api) == [("reboot", "done")]
    gpus.values = {}
    assert check("gpu1")["next"] == "gpustack gpu diag --cordoned --node gpu1 -i hosts.yml"


@pytest.mark.parametrize("values", [{}, {"XID_ERRORS": 79, "GET_GPU_RECOVERY_ACTION": 2}])
def test_a_verdict_that_changed_before_the_act_is_reported(
    node_api: NodeApi, gpus: UnwellGpus, monkeypatch: pytest.MonkeyPatch, values: dict[str, float]
) -> None:
    change_while_asked(monkeypatch, lambda: setattr(gpus, "values", values))
    error = expect_error("gpu1:0", "--yes")
    assert (error.reference, error.code, node_api.read()["calls"]) == ("remediation-changed-since", 5, [])
    assert "and was reset" in error.reason


def change_while_asked(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Change something between what is shown and the act."""

    def agree(*words: Any) -> None:
        change()

    monkeypatch.setattr(remediate, "require_agreement", agree)


def test_of_two_people_at_once_the_second_is_refused(node_api: NodeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one acts between the last look of the second one and the patch."""
    gather, rounds = node_api.gather, list[int]()

    def interrupt(*words: Any, **options: Any) -> Any:
        rounds.append(1)
        if len(rounds) == 3:
            objects = node_api.read()
            (node,) = (node for node in objects["nodes"] if node["metadata"]["name"] == "gpu1")
            node["metadata"]["annotations"] = {"gpustack.io/remediation": '{"acts": [1]}'}
            node["metadata"]["resourceVersion"] = "9999"
            node_api.write(objects)
        return gather(*words, **options)

    monkeypatch.setattr(drain_plan, "gather", interrupt)
    error = expect_error("gpu1:0", "--yes")
    assert (error.reference, node_api.read_node().get("spec", {})) == ("remediation-changed-since", {})
    assert "Somebody else acts on gpu1" in error.message


def test_a_reboot_that_a_job_prevents_counts_for_no_limit(
    node_api: NodeApi, gpus: UnwellGpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus.values = {"XID_ERRORS": 79, "GET_GPU_RECOVERY_ACTION": 2}
    jobs = [pod for pod in node_api.read()["pods"] if pod["metadata"]["name"] == "notebook"]
    drain_node(node_api)

    def start_job(*words: Any) -> Any:
        node_api.write(node_api.read() | {"pods": [*node_api.read()["pods"], *jobs]})
        return reboot_plan.gather_nodes(*words)

    monkeypatch.setattr(remediation, "gather_nodes", start_job)
    error = expect_error("gpu1:0", "--yes", *QUICK)
    assert (error.reference, "the next rung" in error.reason) == ("remediation-changed-since", True)
    assert (node_api.read()["boots"]["h1"], list_acts(node_api)) == (0, [])
