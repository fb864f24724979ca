"""The most important thing to do now: what is broken comes before what only differs or may break."""

from dataclasses import replace

from gpustack.command import Command
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.states.state import AbnormalState
from gpustack.report.doctor.first_action import find_first_action
from gpustack.report.doctor.junit import render_junit
from gpustack.report.doctor.text import render_human
from tests.unit.report.screen import print_screen
from tests.worlds.results.diagnoses import make_diagnosis, make_healthy_diagnosis, make_unexplained_diagnosis

SHOW_JOURNAL = Command("journalctl", "-u", "kubelet.service")
SWAP = {"host-swap-on@gpu1": "!/swapfile"}


def find_command(diagnosis: Diagnosis) -> str:
    action = find_first_action(diagnosis)
    return action.command if action else ""


def test_the_first_action_is_that_of_the_worst_finding() -> None:
    drift = make_unexplained_diagnosis().drift
    diagnosis = make_diagnosis({**SWAP, "host-ip-forward-off@gpu2": "!0"}, drift)
    assert find_command(diagnosis) == "gpustack doctor --fix host-ip-forward-off -i site/hosts.yml"
    assert find_command(make_diagnosis(SWAP, drift)) == "gpustack plan -i site/hosts.yml"
    assert find_command(make_diagnosis({"host-ip-forward-off@gpu1": "?it hung"})) == (
        "gpustack doctor -v -i site/hosts.yml"
    )
    assert find_first_action(make_healthy_diagnosis()) is None


def test_a_broken_state_stands_above_a_symptom_without_a_cause() -> None:
    symptom = make_diagnosis({"st-kubelet-down@gpu1": "!silent"})
    state = AbnormalState("unit-failed", "broken", ("gpu1",), ("unit kubelet.service",), "exit status 1", SHOW_JOURNAL)
    diagnosis = replace(symptom, abnormal_states=(state,))
    assert find_command(diagnosis) == SHOW_JOURNAL
    text = print_screen(lambda console: render_human(console, diagnosis))
    assert text.index("BROKEN  unit kubelet.service") < text.index("UNEXPLAINED  st-kubelet-down")


def test_the_next_check_of_a_symptom_names_its_host() -> None:
    diagnosis = make_diagnosis({"st-host-unmanaged@gpu1": "!sudo"})
    assert find_command(diagnosis) == "ssh 10.0.0.2 sudo -n true"


def test_a_command_of_a_host_names_it() -> None:
    state = AbnormalState("unit-failed", "note", ("gpu1",), ("unit kubelet.service",), "exit status 1", SHOW_JOURNAL)
    diagnosis = replace(make_diagnosis({"st-kubelet-down@gpu1": "!silent"}), abnormal_states=(state,))
    text = print_screen(lambda console: render_human(console, diagnosis))
    assert "next check  on gpu1\n" in text
    assert "next        on gpu1\n              journalctl -u kubelet.service" in text
    assert text.splitlines()[-1].startswith("next on gpu1: ")
    plain = replace(state, next_command=Command("kubectl", "get", "nodes"))
    text = print_screen(lambda console: render_human(console, replace(diagnosis, abnormal_states=(plain,))))
    assert "next\n              kubectl get nodes" in text


def test_a_risk_stands_below_what_is_broken_and_says_so() -> None:
    diagnosis = make_diagnosis({**SWAP, "st-gpu-unhealthy@gpu1": "!7 of 8"})
    text = print_screen(lambda console: render_human(console, diagnosis))
    assert text.splitlines()[1].startswith("do first      a GPU is unhealthy (gpu1)")
    assert text.index("UNEXPLAINED  st-gpu-unhealthy") < text.index("RISK  host-swap-on")
    assert "1 unexplained, 1 risk" in text


def test_a_risk_fails_no_build_unless_the_diagnosis_is_strict() -> None:
    diagnosis = make_diagnosis(SWAP)
    assert '<skipped message="risk: it: expected as it should be, actual /swapfile"' in render_junit(diagnosis)
    assert "<failure" not in render_junit(diagnosis)
    assert "<failure" in render_junit(replace(diagnosis, strict=True))


def test_a_difference_of_the_same_host_stands_under_what_is_broken() -> None:
    text = print_screen(lambda console: render_human(console, make_unexplained_diagnosis()))
    _, _, symptom = text.partition("UNEXPLAINED  st-node-notready")
    finding, _, _ = symptom.partition("DRIFT")
    assert "differs     containerd/version: containerd.io: expected 2.3.7, actual 2.3.6" in finding
    diagnosis = make_diagnosis({"st-node-notready@cp1": "!it"}, make_unexplained_diagnosis().drift)
    finding, _, _ = print_screen(lambda console: render_human(console, diagnosis)).partition("DRIFT")
    assert "differs " not in finding
