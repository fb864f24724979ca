"""Limits: one table, which is right, and no program on a host that ends without a word."""

import importlib
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from gpustack.ask.transport.refusal import HOST_MOST
from gpustack.config.resources import locate_playbooks
from gpustack.steps import STEPS
from gpustack.steps.gpu import operator

TABLE = (Path(__file__).parents[2] / "docs" / "limits.md").read_text()
ROWS = [re.split(r" *\| *", line.strip("| ")) for line in TABLE.splitlines() if line.startswith("| `")]
LIMITS = locate_playbooks() / "files" / "limits.sh"
SCRIPTS = [
    path
    for path in locate_playbooks().rglob("*")
    if path.suffix in (".sh", ".yml", ".j2") and path.is_file() and path != LIMITS
]


@pytest.mark.parametrize("row", [row for row in ROWS if ":" in row[0]], ids=lambda row: row[0])
def test_limits_of_the_code_are_those_of_the_table(row: list[str]) -> None:
    module, _, name = row[0].strip("`").partition(":")
    assert getattr(importlib.import_module(module), name) == float(row[1])


def test_every_step_is_in_the_table_with_its_time_to_settle() -> None:
    listed_limits = {
        id: int(row[1])
        for row in ROWS
        for id in re.findall(r"`([a-z-]+)`", row[0])
        if id in {step.id for step in STEPS}
    }
    assert listed_limits == {step.id: step.settle_seconds for step in STEPS}
    (row,) = [row for row in ROWS if row[0] == "`gpu-operator`"]
    assert str(operator.SETTLE_WITH_DRIVERS) in row[2]


def test_every_program_with_a_limit_is_in_the_table() -> None:
    used_limits: dict[str, set[str]] = {}
    for path in [*SCRIPTS, LIMITS]:
        text = re.sub(r"^\s*#.*$", "", path.read_text(), flags=re.MULTILINE)
        for seconds, program in re.findall(r"\brun_limited ([0-9]+) (\w+)", text):
            used_limits.setdefault(program, set()).add(seconds)
        for seconds in re.findall(r"\bhold_lock \S+ ([0-9]+)", text):
            used_limits.setdefault("hold_lock", set()).add(seconds)
    programs = TABLE.partition("## Programs on hosts")[2]
    listed_limits = {
        name: set(seconds.split(", "))
        for name, seconds in re.findall(r"^\| `(\w+)` \| ([0-9, ]+) \|", programs, re.MULTILINE)
    }
    assert listed_limits.pop("curl") == list_curl_limits()
    assert listed_limits == used_limits


def test_what_is_tried_again_is_in_the_table() -> None:
    """Waits for apt's lock are a key of the spec."""
    tasks = [path.read_text() for path in SCRIPTS if path.suffix == ".yml"]
    retries = {int(times) for text in tasks for times in re.findall(r"retries: ([0-9]+)", text)}
    assert retries == {int(times) for times in re.findall(r"([0-9]+) times", TABLE)}


def list_curl_limits() -> set[str]:
    """List the limits of fetch.sh: its own, and those that tasks give it."""
    seconds = {seconds for path in SCRIPTS for seconds in re.findall(r'LIMIT: "([0-9]+)"', path.read_text())}
    return seconds | set(re.findall(r"LIMIT:-([0-9]+)", (LIMITS.with_name("fetch.sh")).read_text()))


def test_every_answer_starts_the_limit_anew_up_to_what_the_table_says() -> None:
    assert HOST_MOST == 7
    assert "up to seven times as long in all" in TABLE


LOOKUP = r"lookup\('ansible\.builtin\.file', '([\w./-]+)'\)"
SILENT = re.compile(r"(?<!-)\btimeout (?:-\S+ )*(?:KILL )?[0-9\"$]|flock (?:--timeout|-w)|--(?:request-)?timeout=[0-9]")
LIMITED_CALL = re.compile(r"(?:^|[ (|!])(?:kube|limited|hold_lock) ", re.MULTILINE)
TASKS = [path for path in locate_playbooks().rglob("*.yml") if "lookup('ansible.builtin.file'" in path.read_text()]


@pytest.mark.parametrize("path", TASKS, ids=lambda path: str(path.relative_to(locate_playbooks())))
def test_every_file_that_a_task_reads_is_found_and_follows_its_limits(path: Path) -> None:
    """Ansible looks in the role, then beside the playbook: of remedies that is another folder."""
    base = locate_playbooks() / "remedy" if "remedy" in path.parts else locate_playbooks()
    for task in re.split(r"\n\s*- name:", path.read_text()):
        before: list[str] = []
        for name in re.findall(LOOKUP, task):
            places = (path.parents[1] / "files" / name, base / "files" / name, base / name)
            script = next((place for place in places if place.is_file()), None)
            assert script, name
            uses = LIMITED_CALL.search(re.sub(r"#.*", "", script.read_text()))
            assert not uses or script.name == LIMITS.name or LIMITS.name in before, name
            before.append(script.name)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(locate_playbooks())))
def test_no_program_ends_without_a_word(path: Path) -> None:
    """`timeout` and `flock --timeout` end with a number alone, so a wrapper has to name them."""
    assert SILENT.findall(path.read_text()) == []


def run(script: str, factor: str = "1") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", "-c", f"set -eu\n{LIMITS.read_text()}\n{script}"],
        capture_output=True, text=True, timeout=30, check=False,
        env={"PATH": "/usr/bin:/bin", "TIMEOUT_FACTOR": factor},
    )  # fmt: skip


def test_a_program_that_is_ended_is_named_with_its_seconds() -> None:
    process = run("run_limited 1 sleep 20")
    assert process.returncode == 124
    assert re.fullmatch(
        r"ended after its limit of 1 s on \S+: sleep 20 \(gpustack explain limit-reached\)\n", process.stderr
    )


def test_a_program_that_somebody_killed_was_not_ended_by_its_limit() -> None:
    process = run("run_limited 20 sh -c 'kill -9 $$'")
    assert process.returncode == 137
    assert "killed by another program or the kernel on " in process.stderr
    assert "limit" not in process.stderr


def test_a_status_alone_is_no_limit() -> None:
    """xargs ends with 124 where its command ends with 255."""
    process = run("echo a | run_limited 20 xargs sh -c 'exit 255'")
    assert process.returncode == 124
    assert "limit" not in process.stderr


def test_the_factor_stretches_a_limit() -> None:
    assert (run("run_limited 1 sleep 2", factor="10").returncode, run("run_limited 1 false").returncode) == (0, 1)


def test_input_output_and_status_are_the_programs_own() -> None:
    process = run("echo in | run_limited 5 cat; run_limited 5 sh -c 'exit 7'")
    assert (process.stdout, process.stderr, process.returncode) == ("in\n", "", 7)


def test_a_lock_that_is_held_is_named(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    process = run(f"( flock 9; sleep 5 ) 9>{lock} & sleep 0.3; hold_lock {lock} 1 kubeadm; echo through")
    assert (process.returncode, process.stdout) == (1, "")
    assert "kubeadm of an earlier run is still at work" in process.stderr


@pytest.mark.parametrize(("role", "template"), [("control_plane", "kubeadm.yaml.j2"), ("workers", "join.yaml.j2")])
def test_the_factor_stretches_what_kubeadm_waits_for(role: str, template: str) -> None:
    """Seconds as in kubernetes v1.36.4, cmd/kubeadm/app/constants/constants.go."""
    kubeadms = {
        "controlPlaneComponentHealthCheck": 240,
        "kubeletHealthCheck": 240,
        "kubernetesAPICall": 60,
        "tlsBootstrap": 300,
        "discovery": 300,
    }
    text = (locate_playbooks() / "roles" / role / "templates" / template).read_text()
    matches = re.findall(r"^  (\w+): \{\{ (\d+) \* (\w+) \}\}s$", text, re.MULTILINE)
    assert {"kubeletHealthCheck", "kubernetesAPICall"} <= {name for name, _, _ in matches}
    for name, seconds, variable in matches:
        assert (int(seconds), variable) == (kubeadms[name], f"{role}_timeout_factor")


@pytest.mark.parametrize(
    ("factor", "leases", "etcd"), [(1, [], []), (10, ["150s", "100s", "20s"], ["20s", "20s"])], ids=["fast", "slow"]
)
def test_the_factor_stretches_what_the_control_plane_waits_for(factor: int, leases: list[str], etcd: list[str]) -> None:
    """Seconds as in kubernetes v1.36.4, k8s.io/component-base/config/v1alpha1/defaults.go: 15, 10 and 2 for the leases;
    `kube-apiserver -h`: 2 and 2 for the checks of etcd."""
    from jinja2 import ChainableUndefined, Environment

    jinja = Environment(trim_blocks=True, undefined=ChainableUndefined, autoescape=False)
    jinja.filters["to_json"] = str
    text = (locate_playbooks() / "roles" / "control_plane" / "templates" / "kubeadm.yaml.j2").read_text()
    rendered_text = jinja.from_string(text).render(control_plane_timeout_factor=factor)
    cluster = list(yaml.safe_load_all(rendered_text))[1]

    def list_values(part: str, names: str) -> list[str]:
        return [
            argument["value"]
            for argument in cluster[part].get("extraArgs", [])
            if re.fullmatch(names, argument["name"])
        ]

    assert list_values("controllerManager", "leader-elect-.*") == list_values("scheduler", "leader-elect-.*") == leases
    assert list_values("apiServer", "etcd-(health|ready)check-timeout") == etcd
