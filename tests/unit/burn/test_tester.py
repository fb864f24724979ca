"""Pods put a load on GPUs, are watched, and are gone afterwards whatever happens."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpustack.burn.tester import CONTAINER, OVERHEAD, PAUSE, SCRIPT, LoadTester
from gpustack.errors import RolloutError
from gpustack.proof.pod_run import PLACE_LIMIT, START_LIMIT, PodRun
from tests.worlds.programs.pod_api import GPUS, NO_ROOM, PodApi, build_status, make_run


def make_tester(*uuids: str) -> LoadTester:
    return LoadTester("dcgm:1", ("-t", "1004", "-d", "60"), 60, uuids)


def report_nothing() -> str:
    return ""


def list_stages(run: PodRun) -> list[str]:
    return [pod.stage for pod in run.pods.values()]


def test_each_pod_loads_its_gpu_to_the_end() -> None:
    api = PodApi()
    run = make_run(api)
    assert make_tester().load_gpus(run, {"gpu1": 2, "gpu2": 1}, report_nothing) == ""
    assert [(pod.stage, pod.code, pod.node, pod.gpus[0].uuid) for pod in run.pods.values()] == [
        ("ended", 0, "gpu1", GPUS[0]), ("ended", 0, "gpu1", GPUS[1]), ("ended", 0, "gpu2", GPUS[2]),
    ]  # fmt: skip
    assert "PASSED" in next(iter(run.pods.values())).output
    assert (api.removals, run.remaining) == (1, "")


def test_a_pod_asks_for_a_gpu_and_ends_by_itself() -> None:
    manifest = make_tester(*GPUS[:2]).build_manifest("burn-1", "gpu1", "r1")
    (container,) = manifest["spec"]["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "1"}}
    assert container["image"] == "dcgm:1"
    assert container["command"][-4:] == ["-t", "1004", "-d", "60"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False}
    assert {variable["name"]: variable["value"] for variable in container["env"]} == {
        "WANTED": " ".join(GPUS[:2]),
        "LIFE": "360",
    }
    assert manifest["spec"]["activeDeadlineSeconds"] == START_LIMIT + 60 + OVERHEAD + 60
    assert "initContainers" not in manifest["spec"]


def test_heat_stops_all_at_once() -> None:
    api = PodApi()
    run = make_run(api)
    looks = list[tuple[str, ...]]()

    def report_heat() -> str:
        looks.append(tuple(pod.gpus[0].uuid for pod in run.pods.values()))
        return "too hot" if len(looks) == 3 else ""

    assert make_tester().load_gpus(run, {"gpu1": 2}, report_heat) == "too hot"
    assert looks == [GPUS[:2]] * 3
    assert list_stages(run) == ["running", "running"]
    assert (api.time, api.removals) == (2 * PAUSE, 1)


def test_an_interruption_stops_it() -> None:
    api = PodApi()
    run = make_run(api, find_stop_reason=lambda: "interrupted" if api.time else "")
    assert make_tester().load_gpus(run, {"gpu1": 1}, report_nothing) == "interrupted"
    assert api.removals == 1


def test_pods_are_removed_when_it_breaks_off() -> None:
    api = PodApi()

    def press_ctrl_c() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_tester().load_gpus(make_run(api), {"gpu1": 1}, press_ctrl_c)
    assert api.removals == 1


def test_it_ends_although_the_pods_do_not() -> None:
    api = PodApi(seconds=10_000)
    run = make_run(api)
    assert (
        make_tester().load_gpus(run, {"gpu1": 1}, report_nothing) == f"it did not end within {make_tester().life:.0f} s"
    )
    assert api.time <= make_tester().life + 2 * PAUSE


@pytest.mark.parametrize(
    ("status_fields", "stage", "reason", "seconds"),
    [
        (NO_ROOM, "stuck", "Unschedulable: 0/2 nodes", PLACE_LIMIT),
        (build_status(waiting={"reason": "ImagePullBackOff", "message": "no such"}), "stuck", "ImagePullBackOff", 0),
        ({"phase": "Pending"}, "stuck", "did not start within", START_LIMIT),
        ({"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no GPU"}, "ended", "no GPU", 0),
        (build_status(terminated={"exitCode": 137, "reason": "OOMKilled"}), "ended", "signal 9: OOMKilled", 0),
        (build_status(terminated={"exitCode": 91, "reason": "Error"}), "ended", "sees several", 0),
        ({**build_status(terminated={"exitCode": 137}), "reason": "DeadlineExceeded"}, "ended", "DeadlineExceeded", 0),
    ],
)
def test_a_pod_that_does_not_load_says_why(
    status_fields: dict[str, Any], stage: str, reason: str, seconds: float
) -> None:
    api = PodApi(seconds=0, statuses={0: status_fields})
    run = make_run(api)
    assert make_tester().load_gpus(run, {"gpu1": 1}, report_nothing) == ""
    (pod,) = run.pods.values()
    assert (pod.stage, pod.code) == (stage, None)
    assert reason in pod.reason
    assert seconds <= api.time <= seconds + 2 * PAUSE


def test_a_return_code_of_dcgm_is_kept() -> None:
    run = make_run(PodApi(seconds=0, code=244))
    make_tester().load_gpus(run, {"gpu1": 1}, report_nothing)
    assert next(iter(run.pods.values())).code == 244


def test_a_gpu_that_is_not_wanted_is_kept_until_the_others_are_through() -> None:
    api = PodApi(statuses={0: build_status(running={})})
    run = make_run(api)
    assert make_tester(GPUS[1]).load_gpus(run, {"gpu1": 2}, report_nothing) == ""
    assert list_stages(run) == ["held", "ended"]


def test_a_removed_pod_is_reported_as_stuck() -> None:
    api = PodApi(seconds=10)
    run = make_run(api)

    def remove_pod() -> str:
        api.pods.pop("burn-r1-1", None)
        return ""

    assert make_tester().load_gpus(run, {"gpu1": 2}, remove_pod) == ""
    assert [(pod.stage, pod.reason) for pod in run.pods.values()] == [
        ("ended", ""),
        ("stuck", "somebody removed it"),
    ]


def test_an_api_that_fails_for_a_while_is_asked_again() -> None:
    api = PodApi()
    api.refuses = lambda verb: "etcd" if verb == "list" and 10 <= api.time < 30 else ""
    run = make_run(api)
    assert make_tester().load_gpus(run, {"gpu1": 1}, report_nothing) == ""
    assert list_stages(run) == ["ended"]
    assert api.connections > 4


def test_what_the_api_refuses_loads_nothing() -> None:
    api = PodApi(refuses=lambda verb: "quota exceeded" if verb == "create" else "")
    with pytest.raises(RolloutError) as excinfo:
        make_tester().load_gpus(make_run(api), {"gpu1": 1}, report_nothing)
    assert excinfo.value.reference == "gpu-not-held"
    assert api.removals == 1


def test_what_cannot_be_removed_is_named() -> None:
    run = make_run(PodApi(seconds=0, refuses=lambda verb: "it is down" if verb == "remove" else ""))
    make_tester().load_gpus(run, {"gpu1": 1}, report_nothing)
    assert run.remaining == "it is down"


def run_script(folder: Path, gpus: str, codes: Mapping[str, int], gpus_to_load: str = "") -> tuple[int, str]:
    """Run the script with an nvidia-smi and testers that are not real; a tester without a code is not there."""
    programs = {"nvidia-smi": f"printf '%s\\n' '{gpus}'", "sleep": 'echo "sleep $*"'}
    programs |= {f"dcgmproftester{cuda[1:]}": f'echo "{cuda} $*"; exit {code}' for cuda, code in codes.items()}
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    env = {"PATH": str(folder), "WANTED": gpus_to_load, "LIFE": "360"}
    argv = [os.path.realpath("/bin/sh"), "-c", SCRIPT, CONTAINER, "-t", "1004"]
    process = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=20)
    return process.returncode, process.stdout


FIRST_PROCESS = f"{GPUS[0]}, 00000000:65:00.0, NVIDIA L4"


@pytest.mark.parametrize(
    ("codes", "code", "ran"),
    [
        ({"c13": 0, "c12": 0}, 0, ["c13"]),
        ({"c13": 244, "c12": 0}, 0, ["c13", "c12"]),
        ({"c12": 255}, 255, ["c12"]),
        ({"c13": 244, "c12": 244}, 244, ["c13", "c12"]),
        ({"c13": 255, "c12": 0}, 255, ["c13"]),
    ],
)
def test_the_tester_for_the_drivers_cuda_is_found(
    tmp_path: Path, codes: dict[str, int], code: int, ran: list[str]
) -> None:
    assert run_script(tmp_path, FIRST_PROCESS, codes) == (
        code,
        "".join(f"{line}\n" for line in [FIRST_PROCESS, *(f"{c} -t 1004" for c in ran)]),
    )


def test_a_pod_that_sees_several_gpus_loads_none(tmp_path: Path) -> None:
    two = f"{FIRST_PROCESS}\n{GPUS[1]}, 00000000:66:00.0, NVIDIA L4"
    assert run_script(tmp_path, two, {"c13": 0}) == (91, f"{two}\n")


def test_a_gpu_that_is_not_wanted_is_not_loaded(tmp_path: Path) -> None:
    assert run_script(tmp_path, FIRST_PROCESS, {"c13": 0}, GPUS[1])[1] == f"{FIRST_PROCESS}\nsleep 360\n"
    assert (
        run_script(tmp_path, FIRST_PROCESS, {"c13": 0}, f"{GPUS[1]} {GPUS[0]}")[1] == f"{FIRST_PROCESS}\nc13 -t 1004\n"
    )
