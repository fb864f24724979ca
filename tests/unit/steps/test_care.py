import copy
import json
import os
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.steps.care.diagnostic import DIAG_LIMIT, FAILED_STATUS, UNKNOWN_STATUS
from gpustack.steps.care.objects import (
    LONGEST_NAME,
    PRIORITY_CLASS,
    RUN_LIMIT,
    SCRIPT,
    WAIT_LIMIT,
    build_variables,
)
from gpustack.steps.care.step import STEP
from gpustack.steps.gpu.hosts import select_sharing
from gpustack.vocabulary.care_jobs import PREFIX
from tests.worlds.programs.engines import build_result, build_software_test, render_diagnostic
from tests.worlds.snapshots import gpus
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.care import DISABLED_SPEC, ENABLED_SPEC, build_snapshot, build_wanted_objects, place_objects
from tests.worlds.snapshots.cluster import K1, K2, judge_steps
from tests.worlds.snapshots.judge import judge_checks, list_failures

CRON_JOBS = "applied.cron-jobs"
PASSED_TEST = render_diagnostic(build_software_test(build_result(0, "Pass")))
FAILED_TEST = render_diagnostic(
    build_software_test(
        build_result(0, "Pass"), build_result(1, "Fail", ("A row remap is pending.", 87, 6)), status="Fail"
    )
)
SKIPPED_TEST = render_diagnostic(build_software_test(build_result(0, "Skip"), status="Skip"))


def find_failures(
    spec: dict[str, Any] = ENABLED_SPEC, changes: Answers | None = None, hosts: tuple[Host, ...] = (K1, K2)
) -> dict[str, Any]:
    return list_failures(judge_checks(STEP, build_snapshot(spec, changes or {}, hosts)))


def build_role_variables(
    spec: dict[str, Any] = ENABLED_SPEC, changes: Answers | None = None, hosts: tuple[Host, ...] = (K1, K2)
) -> dict[str, list[Any]]:
    variables: dict[str, list[Any]] = build_variables(View(build_snapshot(spec, changes or {}, hosts), CLUSTER))
    return variables


def list_cron_jobs() -> list[dict[str, Any]]:
    return [manifest for manifest in build_wanted_objects() if manifest["kind"] == "CronJob"]


def build_pod() -> dict[str, Any]:
    pod: dict[str, Any] = list_cron_jobs()[0]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return pod


def test_as_the_step_leaves_it_all_holds() -> None:
    assert find_failures() == {}


def test_off_by_default_and_then_nothing_is_wanted() -> None:
    snapshot = gpus.build_snapshot()
    assert list_failures(judge_checks(STEP, snapshot)) == {}
    assert build_variables(View(snapshot, CLUSTER)) == {"objects": [], "dropped": []}


def test_without_monitoring_there_is_no_such_step() -> None:
    assert judge_steps(STEP, spec={"monitoring": {"enabled": False}}) == []


def test_each_node_has_a_job_that_requests_all_of_its_gpus() -> None:
    jobs = {manifest["metadata"]["name"]: manifest["spec"] for manifest in list_cron_jobs()}
    assert sorted(jobs) == ["gpu-care-k1", "gpu-care-k2"]
    for name, spec in jobs.items():
        pod = spec["jobTemplate"]["spec"]["template"]["spec"]
        (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert term["matchFields"][0]["values"] == [name.removeprefix(PREFIX)]
        assert pod["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": "2"}}


def test_it_starts_at_the_hour_of_the_spec_in_utc() -> None:
    spec = {"care": {"enabled": True, "hour": 23}}
    for manifest in build_role_variables(spec)["objects"][1:]:
        assert (manifest["spec"]["schedule"], manifest["spec"]["timeZone"]) == ("0 23 * * *", "Etc/UTC")
    assert find_failures(spec) == {"objects-applied": ("gpu-care-k1, gpu-care-k2 with different content", "install")}


def test_a_pod_of_a_user_never_waits_for_the_diagnostic() -> None:
    (priority_class,) = [manifest for manifest in build_wanted_objects() if manifest["kind"] == "PriorityClass"]
    assert priority_class["metadata"]["name"] == build_pod()["priorityClassName"] == PRIORITY_CLASS
    assert priority_class["value"] < 0
    assert priority_class["preemptionPolicy"] == "Never"
    assert build_pod()["terminationGracePeriodSeconds"] == 1


def test_each_limit_leaves_time_for_the_next_smaller_one() -> None:
    """A pod that started may end by itself before its Job does, and GpuPodsPending waits 900 s for a pod."""
    assert DIAG_LIMIT < RUN_LIMIT < WAIT_LIMIT < 900
    job = list_cron_jobs()[0]["spec"]["jobTemplate"]["spec"]
    assert (job["activeDeadlineSeconds"], build_pod()["activeDeadlineSeconds"]) == (WAIT_LIMIT, RUN_LIMIT)


def test_a_failed_test_alone_fails_the_job_by_its_policy() -> None:
    job = list_cron_jobs()[0]["spec"]["jobTemplate"]["spec"]
    preemption_rule, exit_rule = job["podFailurePolicy"]["rules"]
    assert (preemption_rule["action"], preemption_rule["onPodConditions"][0]["type"]) == ("Ignore", "DisruptionTarget")
    assert (exit_rule["action"], exit_rule["onExitCodes"]["values"]) == ("FailJob", [FAILED_STATUS])
    assert exit_rule["onExitCodes"]["containerName"] == build_pod()["containers"][0]["name"]
    assert job["backoffLimit"] == 0


@pytest.mark.parametrize(
    ("output", "status", "code"),
    [
        (PASSED_TEST, 0, 0),
        (FAILED_TEST, 226, FAILED_STATUS),
        (FAILED_TEST, 205, FAILED_STATUS),
        (FAILED_TEST, 0, FAILED_STATUS),
        (SKIPPED_TEST, 0, UNKNOWN_STATUS),
        (PASSED_TEST, 226, UNKNOWN_STATUS),
        (json.dumps({"DCGM Diagnostic": {"runtime_error": 'it did "Fail" to run'}}), 226, UNKNOWN_STATUS),
        ("", 0, UNKNOWN_STATUS),
        ("sh: dcgmi: not found", 127, UNKNOWN_STATUS),
    ],
)
def test_the_script_tells_failed_from_unknown(tmp_path: Path, output: str, status: int, code: int) -> None:
    """The outputs are constructed from the source of DCGM 4.6.0 (tests/worlds/programs/engines.py)."""
    program = tmp_path / "dcgmi"
    (tmp_path / "output").write_text(output)
    program.write_text(f'#!/bin/sh\necho "$@" >"{tmp_path}/words"\ncat "{tmp_path}/output"\nexit {status}\n')
    program.chmod(0o755)
    process = subprocess.run(
        ["sh", "-c", SCRIPT], env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True,
        timeout=30, check=False,
    )  # fmt: skip
    assert process.returncode == code
    assert process.stdout.rstrip("\n") == output.rstrip("\n")
    assert (tmp_path / "words").read_text() == f"diag --run 1 --json --timeout {DIAG_LIMIT}\n"


def test_a_missing_job_is_for_install() -> None:
    remaining = [manifest for manifest in build_wanted_objects() if manifest["metadata"]["name"] != "gpu-care-k2"]
    assert find_failures(changes=place_objects(*remaining)) == {"objects-applied": ("gpu-care-k2 missing", "install")}


def test_an_edited_job_is_for_install() -> None:
    priority_class, first, second = copy.deepcopy(build_wanted_objects())
    del first["spec"]["suspend"]
    assert find_failures(changes=place_objects(priority_class, first, second)) == {
        "objects-applied": ("gpu-care-k1 changed by an unknown client", "install")
    }


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"gpustack_mig": "all-1g.10gb"}, "MIG instances"), ({"gpustack_sharing": "time-slicing:4"}, "shared GPUs")],
)
def test_a_node_without_whole_gpus_is_left_out_and_named(settings: dict[str, Any], reason: str) -> None:
    hosts = (K1, gpus.set_gpus(K2, **settings))
    judgement = judge_checks(STEP, build_snapshot(hosts=hosts))["left-out"]
    assert judgement.outcome == "ok"
    assert judgement.result
    assert judgement.result.actual == f"k2: {reason}"
    assert [manifest["metadata"]["name"] for manifest in build_role_variables(hosts=hosts)["objects"]] == [
        "gpu-care",
        "gpu-care-k1",
    ]
    # The Job that it had would wait for GPUs that nobody can give.
    leftovers = judge_checks(STEP, build_snapshot(hosts=hosts))["leftovers"].result
    assert leftovers
    assert (leftovers.actual, leftovers.cure) == ("CronJob gpu-operator/gpu-care-k2", "install")
    assert build_role_variables(hosts=hosts)["dropped"] == ["CronJob gpu-operator gpu-care-k2"]


def test_a_name_that_no_job_can_have_is_left_out_and_named() -> None:
    name = "n" * (LONGEST_NAME - len(PREFIX) + 1)
    changes = gpus.edit_answer("gpu.nodes", lambda nodes: nodes[1]["metadata"].update(name=name))
    snapshot = gpus.build_snapshot(changes, ENABLED_SPEC)
    judgement = judge_checks(STEP, snapshot)["left-out"].result
    assert judgement
    assert judgement.actual == f"{name}: a name of more than 43 characters"
    assert len(build_variables(View(snapshot, CLUSTER))["objects"]) == 2


def test_the_job_of_a_removed_node_is_removed() -> None:
    changes = gpus.edit_answer("gpu.nodes", lambda nodes: nodes.pop())
    assert find_failures(changes=changes) == {"leftovers": ("CronJob gpu-operator/gpu-care-k2", "install")}


def test_the_job_of_a_silent_host_stays() -> None:
    changes = place_answers("k2", Answer("gpu.devices", "k2", 124, ""))
    assert find_failures(changes=changes) == {}
    assert build_role_variables(changes=changes)["dropped"] == []


def test_switched_off_all_of_it_is_removed() -> None:
    assert find_failures(DISABLED_SPEC) == {
        "leftovers": (
            "CronJob gpu-operator/gpu-care-k1, CronJob gpu-operator/gpu-care-k2, PriorityClass gpu-care",
            "install",
        )
    }
    assert build_role_variables(DISABLED_SPEC) == {
        "objects": [],
        "dropped": [
            "CronJob gpu-operator gpu-care-k1",
            "CronJob gpu-operator gpu-care-k2",
            "PriorityClass gpu-operator gpu-care",
        ],
    }


def test_what_cannot_be_read_is_unknown_and_not_deleted() -> None:
    changes = place_answers(CLUSTER, read_case(CRON_JOBS, "forbidden"))
    assert judge_checks(STEP, build_snapshot(changed_answers=changes))["objects-applied"].outcome == "unknown"
    assert judge_checks(STEP, build_snapshot(DISABLED_SPEC, changes))["leftovers"].outcome == "unknown"
    assert build_role_variables(DISABLED_SPEC, changes)["dropped"] == []


def test_the_hosts_are_walked_once_for_all_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks and the builders ask for the nodes that are left out; in a cluster of 1,000 hosts each walk counts."""
    snapshot, calls = build_snapshot(), list[str]()

    def count_call(view: View, host: Host) -> tuple[str, int]:
        calls.append(host.name)
        return select_sharing(view, host)

    monkeypatch.setattr(import_module("gpustack.steps.care.objects"), "select_sharing", count_call)
    assert list_failures(judge_checks(STEP, snapshot)) == {}
    assert sorted(calls) == ["k1", "k2"]
