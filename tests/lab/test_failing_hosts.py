"""A host of three fails in the middle of a roll-out: the others become a verified cluster, and the commands that are
printed lead to the end once the host has recovered. A failing control plane stops everything behind it."""

import json
import os
import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpustack_lab import lab
from tests.lab import witness
from tests.lab.conftest import GPUSTACK, Run

LEAKS = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.filterwarnings(LEAKS)]

BROKEN_FILE = "/etc/apt/apt.conf.d/00-broken"
SCRIPT = f"""echo 'Acquire::http::Proxy "http://127.0.0.1:9";' >{BROKEN_FILE}"""
STEPS = ["prereqs", "firewall", "containerd", "kubernetes", "control-plane", "flannel", "workers"]


@pytest.fixture(scope="module")
def clean(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    lab = make_lab("failing", ["debian-12", "debian-13", "debian-12"])
    lab.save("clean")
    return lab


@pytest.fixture
def three(clean: lab.Lab) -> lab.Lab:
    clean.restore("clean")
    return clean


def run_as_root(running_lab: lab.Lab, host: str, script: str) -> str:
    process = running_lab.exec(host, ["sudo", "sh", "-c", script], limit=120)
    assert process.returncode == 0, process.stderr
    return process.stdout


def install(running_lab: lab.Lab, gpustack: Run, code: int) -> dict[str, Any]:
    output = gpustack("install", "-i", running_lab.inventory, "--yes", "-o", "json", limit=1500, code=code).stdout
    loads: dict[str, Any] = json.loads(output)
    assert loads["exit"]["code"] == code
    return loads


def follow(report: dict[str, Any], gpustack: Run) -> dict[str, Any]:
    """Run what was printed as next, as far as it leads, and return the last result."""
    for _ in range(3):
        program, *words = shlex.split(report["next"])
        assert program == "gpustack"
        if words[0] == "kubeconfig":
            break
        yes = ["--yes"] if words[0] == "install" else []
        report = json.loads(gpustack(*words, *yes, "-o", "json", limit=1500, code=None).stdout)
    return report


def assert_only(report: dict[str, Any], host: str) -> None:
    """Assert that this host alone failed or left, and that all that differs is at it."""
    assert {bad["host"] for run in report["playbook_runs"] for bad in run["failures"]} == {host}
    assert {stopped_host["host"] for stopped_host in report["stopped_hosts"]} == {host}
    states = report["verification"]["states"]
    open_ones = {state["location"] for state in states if state["outcome"] != "ok"}
    assert open_ones <= {host, "@cluster"}, open_ones
    assert host in open_ones


def list_ready(running_lab: lab.Lab, gpustack: Run, folder: Path) -> list[str]:
    (folder / "config").unlink(missing_ok=True)
    gpustack("kubeconfig", "-i", running_lab.inventory, "--out", folder / "config")
    core = witness.connect_api(folder / "config")
    return sorted(witness.list_ready(core))


def test_a_host_whose_apt_is_broken_is_left_and_later_joins(three: lab.Lab, gpustack: Run, tmp_path: Path) -> None:
    run_as_root(three, "host3", SCRIPT)
    outcome = install(three, gpustack, 5)
    assert_only(outcome, "host3")
    assert list_ready(three, gpustack, tmp_path) == ["host1", "host2"]
    with witness.run_pods(witness.connect_api(tmp_path / "config"), ["host1", "host2"]):
        pass
    run_as_root(three, "host3", f"rm {BROKEN_FILE}")
    process = follow(outcome, gpustack)
    assert process["converged"] is True
    assert list_ready(three, gpustack, tmp_path) == ["host1", "host2", "host3"]


def test_a_host_whose_network_breaks_off_is_left_and_later_joins(three: lab.Lab, gpustack: Run, tmp_path: Path) -> None:
    """The link goes down as the step kubernetes begins, so the host's apt is at work and its SSH connections fall
    silent."""
    (host,) = [host for host in three.hosts if host.name == "host3"]
    link = three.record.format_link_name(host)
    words = [*GPUSTACK, "install", "-i", str(three.inventory), "--yes", "-o", "json"]
    texts: list[str] = []
    path = tmp_path / "report.json"
    env = os.environ | {"NO_COLOR": "1"}
    with (
        path.open("w") as stdout,
        subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True, env=env
        ) as process,
    ):
        assert process.stderr
        for line in process.stderr:
            texts.append(line)
            if line.startswith("kubernetes:"):
                subprocess.run(["ip", "link", "set", link, "down"], check=True, timeout=30)
                break
        began = time.monotonic()
        rest = process.stderr.read()
    assert process.wait(timeout=60) == 5, "".join(texts) + rest
    print("".join(texts) + rest)
    assert time.monotonic() - began < 900
    loads = json.loads(path.read_text())
    assert_only(loads, "host3")
    assert any(bad["unreachable"] for run in loads["playbook_runs"] for bad in run["failures"])
    assert list_ready(three, gpustack, tmp_path) == ["host1", "host2"]
    subprocess.run(["ip", "link", "set", link, "up"], check=True, timeout=30)
    followed_process = follow(loads, gpustack)
    assert followed_process["converged"] is True
    assert list_ready(three, gpustack, tmp_path) == ["host1", "host2", "host3"]


def test_a_failing_control_plane_stops_what_comes_after_it(three: lab.Lab, gpustack: Run) -> None:
    run_as_root(three, "host1", SCRIPT)
    outcome = install(three, gpustack, 5)
    played_steps = [run["step"] for run in outcome["playbook_runs"]]
    assert "host1" in outcome["stop_reason"]
    failed_step = next(run["step"] for run in outcome["playbook_runs"] if run["failures"])
    assert played_steps == STEPS[: STEPS.index(failed_step) + 1], (
        "something was played after the control plane had failed"
    )
    for host in ("host2", "host3"):
        assert run_as_root(three, host, "dpkg-query -Wf '${Package}\\n' kubelet containerd.io 2>/dev/null || :") == ""
    run_as_root(three, "host1", f"rm {BROKEN_FILE}")
    process = follow(outcome, gpustack)
    assert process["converged"] is True
