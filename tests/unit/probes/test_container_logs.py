"""The script that asks for logs, with a kubectl that prints files of a test."""

import os
import subprocess
from pathlib import Path

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.script import format_command
from gpustack.probes.kubernetes.container_logs import LAST_LINES, MAX_LINES

PANIC = (
    'level=error component=activeQueryTracker msg="Error opening query log file"\n'
    "panic: Unable to create mmap-ed active query log\n\ngoroutine 1 [running]:\n"
    "main.main()\n\t/app/cmd/prometheus/main.go:364 +0x5245\n"
)
"""Quoted from prometheus-operator/prometheus-operator#3239, shortened."""
KUBECTL = """#!/bin/sh
for url; do :; done
name=${url#*/pods/}
name=${name%%/*}
case $url in *previous=true*) [ ! -e "$FILES/$name.previous" ] || name=$name.previous ;; esac
cat "$FILES/$name" && echo "$url" >>"$FILES/asked"
"""


def run_script(folder: Path, logs: str, **files: str) -> Answer:
    """Run the script. `files` are logs by the name of their pod; a pod without one is unknown."""
    for name, text in {**files, "kubectl": KUBECTL}.items():
        (folder / name).write_text(text)
    (folder / "kubectl").chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "FILES": str(folder), "LOGS": logs, "LC_ALL": "C"}
    process = subprocess.run(
        ["sh", "-uc", format_command(LAST_LINES).replace("/etc/kubernetes/admin.conf", str(folder / "kubectl"))],
        env=environment,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return Answer(LAST_LINES.id, "h1", process.returncode, process.stdout, process.stderr)


def test_a_log_that_nobody_has_leaves_the_others(tmp_path: Path) -> None:
    answer = run_script(tmp_path, "a/gone/main a/pod/main/previous", pod="chown: Permission denied\n")
    assert LAST_LINES.extract_fact(answer) == {"a/pod/main/previous": ("chown: Permission denied",)}
    (path,) = (tmp_path / "asked").read_text().splitlines()
    assert path.startswith("/api/v1/namespaces/a/pods/pod/log?container=main&previous=true&")


def test_a_container_that_has_ended_again_is_asked_for_its_last_run(tmp_path: Path) -> None:
    """The kubelet keeps one ended run of a container: seen on a lab host while an init container of Grafana crashed."""
    notice = "unable to retrieve container logs for containerd://90fc068855bf21b3def0f58e3ede7d4b1a7a62f73c2e4b7740b1524995cf7039"
    files = {"pod": "chown: /var/lib/grafana/png: Permission denied\n", "pod.previous": notice}
    answer = run_script(tmp_path, "a/pod/main/previous", **files)
    assert LAST_LINES.extract_fact(answer) == {"a/pod/main/previous": (files["pod"].strip(),)}


def test_nothing_is_asked_without_logs(tmp_path: Path) -> None:
    assert LAST_LINES.extract_fact(run_script(tmp_path, "")) == {}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (PANIC, tuple(PANIC.splitlines()[:2])),
        ("\033[31mError\033[0m: no such host\r\n", ("Error: no such host",)),
        ("== host\n", ("== host",)),
        ("E1129 20:46:50.123456       1 main.go:147] no route to host\n", ("no route to host",)),
        ("", ()),
        ("".join(f"line {number}\n" for number in range(60)), tuple(f"line {number}" for number in range(50, 60))),
    ],
    ids=["panic", "colours", "heading", "klog", "empty", "long"],
)
def test_the_last_lines_are_those_that_say_something(text: str, lines: tuple[str, ...], tmp_path: Path) -> None:
    assert LAST_LINES.extract_fact(run_script(tmp_path, "a/pod/main", pod=text)) == {"a/pod/main": lines}
    assert len(lines) <= MAX_LINES


def test_a_very_long_log_keeps_its_end_in_whole_lines(tmp_path: Path) -> None:
    """Half a secret is not recognized."""
    text = "".join(f"{number} {'x' * 5000} end {number}\n" for number in range(9))
    answer = run_script(tmp_path, "a/pod/main", pod=text)
    assert answer.stdout.splitlines()[1:] == [f"| {line}" for line in text.splitlines()[-3:]]
    assert LAST_LINES.extract_fact(answer)["a/pod/main"][-1].endswith("end 8")
