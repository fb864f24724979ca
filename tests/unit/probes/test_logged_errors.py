"""The script that reads errors of the platform, with a folder of logs and a journalctl of a test."""

import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.script import format_command
from gpustack.probes.host.logged_errors import LOGGED_ERRORS, LoggedError

RECENT, EARLIER = timedelta(minutes=1), timedelta(minutes=30)
KLOG = 'E1130 17:26:14.3%d       1 system.go:111] "failed to get DMI entry" err="open sys_vendor: no such file"'
# The first four are of a lab host; the others have the form of their logger: zap as JSON and as text, and CoreDNS.
MARKED_LINES = (
    KLOG % 1,
    'time="2026-11-30T17:26:15.948365698Z" level=error msg="collecting metrics" error="ttrpc: closed"',
    'time=2026-11-30T17:26:06.596Z level=ERROR source=http.go:231 msg="error encoding and sending metric family"',
    'level=error ts=2026-11-30T17:26:20.72905383Z caller=runutil.go:117 msg="function failed. Retrying in next tick"',
    '{"level":"error","ts":"2026-11-30T17:26:20Z","logger":"controllers.ClusterPolicy","msg":"Failed to get resource"}',
    "[ERROR] plugin/errors: 2 example.org. A: read udp 10.244.0.3:50262->10.77.0.1:53: i/o timeout",
    "2026-11-30T17:26:20Z\tERROR\tsetup\tproblem running manager",
)
OTHER_LINES = (
    "I1130 17:26:14.322445       1 system.go:111] nothing is wrong",
    'time="2026-11-30T17:26:15Z" level=info msg="no error"',
    '{"level":"info","msg":"ERRORS of before are gone"}',
    "[INFO] plugin/reload: Running configuration",
)


def format_line(line: str, ago: timedelta) -> str:
    return f"{datetime.now(UTC) - ago:%Y-%m-%dT%H:%M:%S.%fZ} stderr F {line}\n"


def run_script(folder: Path, journal: str = "", **logs: str) -> Answer:
    """Run the script. `logs` are those of a container by the namespace, with `_` for `-`."""
    for namespace, text in logs.items():
        path = folder / f"pods/{namespace.replace('_', '-')}_pod-x_6aea210f/main/0.log"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (folder / "journal").write_text(journal)
    program = folder / "journalctl"
    program.write_text(f"#!/bin/sh\ncase $* in *kubelet*) cat {folder}/journal ;; esac\n")
    program.chmod(0o755)
    names = {"GPU_NAMESPACE": "gpu-operator", "MONITORING": "monitoring", "KEDA": "keda", "TZ": "UTC", "LC_ALL": "C"}
    process = subprocess.run(
        ["sh", "-uc", format_command(LOGGED_ERRORS).replace("/var/log/pods", str(folder / "pods"))],
        env={"PATH": f"{folder}:{os.environ['PATH']}", **names},
        capture_output=True, text=True, timeout=20, check=True,
    )  # fmt: skip
    return Answer(LOGGED_ERRORS.id, "h1", process.returncode, process.stdout, process.stderr)


def read_errors(folder: Path, journal: str = "", **logs: str) -> tuple[LoggedError, ...]:
    return LOGGED_ERRORS.extract_fact(run_script(folder, journal, **logs))


@pytest.mark.parametrize("line", MARKED_LINES)
def test_an_error_is_read_by_the_mark_of_its_program(line: str, tmp_path: Path) -> None:
    (error,) = read_errors(tmp_path, gpu_operator=format_line(line, RECENT))
    assert (error.log, error.count) == (("gpu-operator", "pod-x", "main"), 1)
    assert error.message.split()[-1] in line


@pytest.mark.parametrize("line", OTHER_LINES)
def test_a_word_alone_marks_no_error(line: str, tmp_path: Path) -> None:
    assert read_errors(tmp_path, kube_system=format_line(line, RECENT)) == ()


def test_errors_that_differ_in_numbers_are_one_with_its_first_time(tmp_path: Path) -> None:
    lines = (format_line(KLOG % number, ago) for number, ago in enumerate((EARLIER, RECENT, RECENT)))
    (error,) = read_errors(tmp_path, monitoring="".join(lines))
    assert error.count == 2
    assert error.last_logged_at - error.first_logged_at > timedelta(minutes=28)
    assert error.log_begins_at == error.first_logged_at


def test_the_first_line_of_a_log_tells_when_it_begins(tmp_path: Path) -> None:
    lines = format_line(OTHER_LINES[0], EARLIER) + format_line(KLOG % 1, RECENT)
    (error,) = read_errors(tmp_path, monitoring=lines)
    assert error.first_logged_at - error.log_begins_at > timedelta(minutes=28)


def test_what_ended_before_five_minutes_is_left_out(tmp_path: Path) -> None:
    assert read_errors(tmp_path, monitoring=format_line(KLOG % 1, EARLIER)) == ()


def test_logs_of_users_are_not_read(tmp_path: Path) -> None:
    assert read_errors(tmp_path, team_a=format_line(KLOG % 1, RECENT)) == ()


def test_of_a_log_the_newest_four_are_read(tmp_path: Path) -> None:
    lines = [format_line(f"[ERROR] plugin {word}", RECENT) for word in ("a", "b", "c", "d", "e")]
    errors = read_errors(tmp_path, kube_flannel="".join(lines))
    assert [error.message[-1] for error in errors] == ["e", "d", "c", "b"]


def test_the_end_of_a_long_message_is_kept(tmp_path: Path) -> None:
    (error,) = read_errors(tmp_path, kube_system=format_line(f"[ERROR] {'x ' * 4000}the cause", RECENT))
    assert error.message.endswith("the cause")


def test_a_kubelet_marks_its_errors_itself(tmp_path: Path) -> None:
    time = f"{datetime.now(UTC) - RECENT:%Y-%m-%dT%H:%M:%S+0000}"
    lines = (f"{time} host1 kubelet[3035]: {line}\n" for line in (KLOG % 1, OTHER_LINES[0]))
    (error,) = read_errors(tmp_path, "".join(lines))
    assert (error.log, error.message) == (("kubelet",), (KLOG % 1).partition("] ")[2])


def test_a_secret_in_an_error_is_redacted(tmp_path: Path) -> None:
    (error,) = read_errors(tmp_path, monitoring=format_line("[ERROR] POST https://user:hunter2hunter2@x.org", RECENT))
    assert "hunter2" not in error.message
