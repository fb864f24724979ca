"""The timer of the daily diagnostic on a host without Kubernetes."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gpustack.ask.view import View
from gpustack.config.resources import locate_playbooks
from gpustack.probes.standalone.care_timer import CARE_TIMER, FOLDER, SERVICE, TIMER
from gpustack.steps.standalone.care import BODY, FILES, RESULTS, STEP, build_part, build_units
from tests.unit.steps.test_care import FAILED_TEST, PASSED_TEST, SKIPPED_TEST
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.judge import find_unknown, judge_checks, list_failures
from tests.worlds.snapshots.standalone import (
    build_installed_answers,
    build_snapshot,
    format_care_timer,
    judge,
    read_answers,
)

ENABLED_SPEC = {"care": {"enabled": True}}
FRESH_HOST = place_answers("w1", read_case("standalone.care-timer", "nothing"))
ROLE = locate_playbooks() / "roles" / "standalone_care" / "files"
# It answers as a systemd that has read all files, and prints what else it is asked to do.
SYSTEMCTL = """#!/bin/sh
case "$*" in
*NeedDaemonReload*) echo no ;;
*UnitFileState*) echo enabled ;;
*is-active*) ;;
*) echo "$*" ;;
esac
"""


def read_units(hour: int = 3) -> dict[str, str]:
    spec = {"care": {"enabled": True, "hour": hour}}
    return dict(build_units(View(build_snapshot(build_installed_answers(spec), spec), "w1")))


def test_as_the_step_leaves_it_all_holds() -> None:
    assert list_failures(judge(STEP, spec=ENABLED_SPEC)) == {}
    assert list_failures(judge(STEP)) == {}


def test_off_by_default_and_then_nothing_is_wanted() -> None:
    assert list_failures(judge(STEP, FRESH_HOST)) == {}
    assert build_part(View(build_snapshot(build_installed_answers()), "w1")) == {"units": []}


def test_a_fresh_host_is_for_install() -> None:
    failures = list_failures(judge(STEP, FRESH_HOST, ENABLED_SPEC))
    assert failures["timer"][1] == "install"
    assert failures["timer"][0].startswith(f"no {FILES[1]}, no {FILES[0]}")
    assert failures["timer"][0].endswith(f"no {SERVICE}, no {TIMER}")
    assert set(failures) == {"timer"}


@pytest.mark.parametrize(
    ("pattern", "replacement", "actual"),
    [
        (r"service \w{64} no", f"service {'0' * 64} no", f"{SERVICE} with other content"),
        (r"(timer \w{64}) no", r"\1 yes", f"{TIMER} changed and not read by systemd"),
        ("timer active", "timer inactive", f"{TIMER} not active"),
        ("active enabled", "active disabled", f"{TIMER} not enabled at boot"),
        ("result gpu-care-since.prom\n", "", "no gpu-care-since.prom"),
    ],
)
def test_each_difference_is_for_install(pattern: str, replacement: str, actual: str) -> None:
    text = build_installed_answers(ENABLED_SPEC)["standalone.care-timer", "w1"].stdout
    edited_text, count = re.subn(pattern, replacement, text)
    assert count == 1
    changes = place_answers("w1", make_answer("standalone.care-timer", edited_text))
    assert list_failures(judge(STEP, changes, ENABLED_SPEC)) == {"timer": (actual, "install")}


def test_switched_off_or_without_gpus_all_of_it_is_for_removal() -> None:
    enabled_view = View(build_snapshot(build_installed_answers(ENABLED_SPEC), ENABLED_SPEC), "w1")
    changes = place_answers("w1", make_answer("standalone.care-timer", format_care_timer(enabled_view)))
    expected = {"leftovers": (", ".join(sorted((SERVICE, TIMER, *FILES))), "install")}
    assert list_failures(judge(STEP, changes)) == expected
    without_gpus = changes | place_answers("w1", make_answer("gpu.devices", ""))
    assert list_failures(judge(STEP, without_gpus, ENABLED_SPEC)) == expected


def test_what_is_not_answered_is_unknown() -> None:
    snapshot = build_snapshot(read_answers(), ENABLED_SPEC)
    assert find_unknown(judge_checks(STEP, snapshot, "w1")) == {"timer"}
    assert find_unknown(judge_checks(STEP, build_snapshot(read_answers()), "w1")) == {"leftovers"}


def test_it_starts_at_the_hour_of_the_spec_in_utc() -> None:
    assert "\nOnCalendar=*-*-* 07:00:00 UTC\n" in read_units(7)[TIMER]


def test_systemd_reads_the_script_as_it_is_written(tmp_path: Path) -> None:
    """systemd itself parses the unit; it replaces $$ when it starts the command (systemd.service(5))."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not on this machine")
    for name, text in read_units().items():
        (tmp_path / name).write_text(text)
    process = subprocess.run(
        [program, "verify", "--man=no", tmp_path / TIMER, tmp_path / SERVICE], capture_output=True, text=True,
        check=False, timeout=60, env={**os.environ, "SYSTEMD_LOG_LEVEL": "debug"},
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    (line,) = re.findall(r'Command Line: /bin/sh -c "(.*)"$', process.stdout, re.MULTILINE)
    words = re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match[1], match[1]), line).replace("$$", "$")
    assert [text.strip() for text in words.splitlines()] == [text.strip() for text in BODY.splitlines()]


@pytest.mark.parametrize(
    ("output", "status", "result", "code"),
    [
        (PASSED_TEST, 0, "passed", 0),
        (FAILED_TEST, 226, "failed", 3),
        (SKIPPED_TEST, 0, "unknown", 4),
        ("", 124, "unknown", 4),
    ],
)
def test_the_file_of_the_result_is_touched(tmp_path: Path, output: str, status: int, result: str, code: int) -> None:
    """The outputs are constructed from the source of DCGM 4.6.0 (tests/worlds/programs/engines.py)."""
    assert run_body(tmp_path, output, status) == code
    assert list_touched(tmp_path) == [result]


@pytest.mark.parametrize(("name", "result"), [("python3", "skipped"), ("nv-hostengine", "passed")])
def test_a_gpu_in_use_is_skipped_and_the_monitoring_of_nvidia_is_no_use(tmp_path: Path, name: str, result: str) -> None:
    process_files = tmp_path / "proc" / "4711" / "fd"
    process_files.mkdir(parents=True)
    (process_files / "3").symlink_to("/dev/nvidia0")
    (process_files.parent / "comm").write_text(f"{name}\n")
    assert run_body(tmp_path, PASSED_TEST, 0) == 0
    assert list_touched(tmp_path) == [result]


def run_body(folder: Path, output: str, status: int) -> int:
    """Run the script of the unit with a dcgmi and a /proc of the test, after the role has made the files."""
    run_timer(folder, "yes")
    (folder / "proc" / "1" / "fd").mkdir(parents=True)
    (folder / "output").write_text(output)
    program = folder / "dcgmi"
    program.write_text(f'#!/bin/sh\ncat "{folder}/output"\nexit {status}\n')
    program.chmod(0o755)
    script = BODY.replace(FOLDER, str(folder / "results")).replace("/proc/", f"{folder}/proc/")
    env = {"PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(["sh", "-c", script], env=env, capture_output=True, timeout=30, check=False).returncode


def list_touched(folder: Path) -> list[str]:
    times = {name: (folder / "results" / f"gpu-care-{name}.prom").stat().st_mtime for name in RESULTS}
    return [name for name, time in times.items() if time > 0]


def run_timer(folder: Path, value: str) -> list[str]:
    """Run the script of the role with a systemctl of the test."""
    (folder / "results").mkdir(exist_ok=True)
    (folder / "systemctl").write_text(SYSTEMCTL)
    (folder / "systemctl").chmod(0o755)
    script = (ROLE / "timer.sh").read_text()
    script = script.replace(FOLDER, str(folder / "results")).replace("/etc/systemd/system", str(folder))
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "WANTED": value}
    process = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, timeout=30, check=True)
    return process.stdout.splitlines()


def test_the_role_adds_files_of_results_that_never_were_and_the_second_time_nothing(tmp_path: Path) -> None:
    assert len(run_timer(tmp_path, "yes")) == len(FILES)
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == sorted(FILES)
    assert list_touched(tmp_path) == []
    assert run_timer(tmp_path, "yes") == []


def test_the_role_removes_all_of_it_and_no_unit_of_others(tmp_path: Path) -> None:
    run_timer(tmp_path, "yes")
    (tmp_path / SERVICE).write_text("# Written by gpustack; a change here is undone by the next install.\n")
    (tmp_path / TIMER).write_text("[Timer]\n")
    lines = run_timer(tmp_path, "")
    assert f"changed: removed {tmp_path / SERVICE}" in lines
    assert (tmp_path / TIMER).exists()
    assert list((tmp_path / "results").iterdir()) == []
    assert run_timer(tmp_path, "") == []


def test_an_answer_of_another_shape_is_no_fact() -> None:
    for text in ("", "timer active enabled\nunit other.service 0 no\n", "else\n"):
        with pytest.raises(ValueError, match=r".*"):
            CARE_TIMER.parse(make_answer("standalone.care-timer", text))
