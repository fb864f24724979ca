"""States of hosts that answers of one host show: disks, daemons, packages, kernels, and the tool of the GPUs."""

import pytest

from gpustack.doctor.states import control_planes, daemons, disks, gpus, kernels, packages
from gpustack.doctor.states.state import AbnormalState, observe_all
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.hosts import build_snapshot

MODULES = (disks, daemons, control_planes, packages, kernels, gpus)
OBSERVERS = (
    *(observer for module in MODULES for observer in module.OBSERVERS if observer.scope == "host"),
    *disks.PROGRAM_OBSERVERS,
)
Edit = tuple[str, str]


def observe_answer(probe: str, case: str, *edits: Edit) -> list[AbnormalState]:
    """Observe a host with one changed answer, and list the states that it has and the same host as recorded has not."""
    answers = place_answers(
        "h1", read_case("kubeadm.static-pods", "control-plane"), read_case("gpu.devices", "simulated-debian-12")
    )
    before, _ = observe_all(OBSERVERS, build_snapshot(answers))
    new_answers = place_answers("h1", read_case(probe, case, *edits))
    after, _ = observe_all(OBSERVERS, build_snapshot(answers | new_answers))
    return [state for state in after if state not in before and state.locations == ("h1",)]


@pytest.mark.parametrize(
    ("probe", "case", "kind", "severity", "words"),
    [
        ("storage.disk", "failing", "disk-unusable", "broken", "2 % of the space and 100 % of the inodes are free"),
        ("storage.disk", "failing", "disk-unusable", "broken", "it is mounted read-only"),
        ("host.noexec", "opt", "disk-unusable", "broken", "it is mounted noexec: the programs in it are there"),
        ("kubelet.start", "unknown-flag", "unit-stopped", "broken", "unknown flag: --container-runtime"),
        ("units.services", "fails-again-and-again", "unit-stopped", "broken", "not active, enabled: ended by itself"),
        ("kubeadm.last-log", "unknown-flag", "static-pod-stopped", "broken", "Error: unknown flag: --no-such-flag"),
        ("etcd.health", "nospace", "etcd-unhealthy", "broken", "ALARM NOSPACE"),
        ("packages.sources", "empty-keyring", "source-untrusted", "risk", "it has no key, so that apt refuses https"),
        ("containerd.mirrors", "broken", "file-invalid", "risk", "containerd pulls no image of docker.io"),
        ("packages.dpkg", "half-configured", "package-unfinished", "risk", "linux-image-6.12.96+deb13-amd64"),
        ("packages.dpkg", "held-and-unfinished", "packages-locked", "note", "held by unattended-upgr (process 812)"),
        ("reach.source", "no-route", "source-unreachable", "risk", "No route to host"),
        ("kernel.boot", "upgraded", "kernel-modules-missing", "risk", "there are those of 6.1.0-41-amd64"),
        ("gpu.smi", "fallen-off", "gpu-tool-failed", "broken", "exit status 15: Unable to determine the device handle"),
        ("gpu.smi", "hangs", "gpu-tool-failed", "broken", "it hangs"),
    ],
)
def test_a_state_of_a_host_has_the_words_of_the_program(
    probe: str, case: str, kind: str, severity: str, words: str
) -> None:
    states = [state for state in observe_answer(probe, case) if words in state.message]
    assert [(state.kind, state.severity) for state in states] == [(kind, severity)]
    assert all(state.yields for state in states)


@pytest.mark.parametrize(("count", "is_slow"), [("10", True), ("9", False)])
def test_an_etcd_with_many_slow_writes_is_a_risk(count: str, *, is_slow: bool) -> None:
    states = observe_answer("etcd.slow-requests", "control-plane", ("0 0 80", f"{count} 0 80"))
    assert [(state.kind, state.severity) for state in states] == [("etcd-slow", "risk")] * is_slow
    assert all(f"{count} writes to its disk took too long" in state.message for state in states)


@pytest.mark.parametrize(
    ("probe", "case", "edits"),
    [
        ("storage.disk", "control-plane", ()),
        ("kubelet.start", "control-plane", ()),
        ("kubelet.start", "unknown-flag", (("Result=exit-code", "Result=success"),)),
        ("packages.dpkg", "control-plane", ()),
        ("reach.source", "no-route", (("No route to host", "Connection refused"),)),
        ("kernel.boot", "upgraded", (("6.1.0-41-amd64\n", ""),)),
        ("gpu.smi", "no-gpu", ()),
        ("units.services", "starting", ()),
    ],
    ids=["disk", "kubelet", "first-start", "no-lock", "stopped-mirror", "kernel-of-a-container", "no-gpu", "starting"],
)
def test_what_is_usual_is_no_state(probe: str, case: str, edits: tuple[Edit, ...]) -> None:
    assert observe_answer(probe, case, *edits) == []


def test_a_host_without_gpus_needs_no_tool() -> None:
    answers = place_answers("h1", read_case("gpu.devices", "none"), read_case("gpu.smi", "no-devices"))
    states, _ = observe_all(gpus.OBSERVERS, build_snapshot(answers))
    assert [state.kind for state in states if state.locations == ("h1",)] == []


def test_a_unit_that_systemd_lists_as_failed_is_reported_once() -> None:
    answers = place_answers(
        "h1",
        read_case("kubelet.start", "unknown-flag"),
        read_case("units.failed", "two-units", ("site-backup.service", "kubelet.service")),
    )
    states, _ = observe_all(OBSERVERS, build_snapshot(answers))
    assert [state.subjects for state in states if state.kind == "unit-stopped"] == []


@pytest.mark.parametrize(
    ("case", "words"), [("unknown-plugin", 'plugin \\"PodSecurityPolicy\\" is unknown'), ("usual", "")]
)
def test_a_component_that_says_nothing_of_its_settings_has_the_last_lines_of_its_log(case: str, words: str) -> None:
    answers = place_answers(
        "h1",
        read_case("kubeadm.static-pods", "control-plane"),
        read_case("kubeadm.last-log", "control-plane", ("kube-apiserver runs", "kube-apiserver silent")),
        read_case("kubeadm.last-lines", case),
    )
    states, _ = observe_all(control_planes.OBSERVERS, build_snapshot(answers))
    (state,) = [state for state in states if state.kind == "static-pod-stopped"]
    assert state.message == "its newest container ended"
    assert [words in line for line in state.last_lines[-1:]] == [True] * bool(words)
