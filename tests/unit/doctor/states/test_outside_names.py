"""A name that the host resolves and pods do not is a risk, and nothing where nobody asked for it."""

from dataclasses import replace

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.variables import find_outside_name
from gpustack.config.spec import Spec
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.second_round import build_questions
from gpustack.probes.kubernetes.container_logs import LAST_LINES
from gpustack.probes.network.outside_name import OUTSIDE_NAME
from gpustack.probes.network.pod_network import POD_PATHS
from tests.unit.doctor.states.objects import (
    GRAFANA,
    build_healthy,
    build_snapshot,
    list_states,
    make_crash_loop,
    make_pod,
)
from tests.worlds.snapshots.answers import place_answers, read_case


def list_name_states(*answers: Answer) -> list[tuple[str, tuple[str, ...], str]]:
    """List the states of names on k2, with these answers of it."""
    snapshot = build_healthy()
    snapshot = replace(snapshot, answers={**snapshot.answers, **place_answers("k2", *answers)})
    states = list_states(diagnose(snapshot), "name-not-resolved")
    return [(state.severity, state.locations, state.message) for state in states]


def test_a_name_that_the_host_alone_resolves_is_a_risk() -> None:
    answer = read_case(OUTSIDE_NAME.id, "pod-without-answer")
    message = "DNS at 10.96.0.10 gives pods no address for it (timeout). The host itself resolves it."
    assert list_name_states(answer) == [("risk", ("k2",), message)]


@pytest.mark.parametrize("case", ["unknown-name", "cluster-name", "etc-hosts", "no-question"])
def test_another_answer_says_nothing_of_pods(case: str) -> None:
    assert list_name_states(read_case(OUTSIDE_NAME.id, case)) == []


def test_a_cluster_whose_dns_answers_nothing_has_no_state_of_a_name() -> None:
    """The symptom st-dns-broken says it."""
    paths = build_healthy().answers[POD_PATHS.id, "k2"]
    silent = replace(paths, stdout=paths.stdout.replace("dns 10.96.0.10 ok", "dns 10.96.0.10 timeout"))
    assert silent != paths
    assert list_name_states(read_case(OUTSIDE_NAME.id, "pod-without-answer"), silent) == []


def test_a_host_that_was_not_asked_is_not_unknown() -> None:
    assert diagnose(build_healthy()).unknown_observations == ()


@pytest.mark.parametrize(
    ("mirror", "name"),
    [
        ("", "registry.k8s.io"),
        ("http://10.77.1.1:8480", ""),
        ("http://[fd00::1]:80", ""),
        ("http://mirror.example.org:8480", "mirror.example.org"),
    ],
    ids=["registry", "address", "address-of-ipv6", "name"],
)
def test_a_mirror_with_an_address_has_no_name_to_ask(mirror: str, name: str) -> None:
    source = {"mirror": mirror, "fingerprint": "9D9C8DF9F47359472536AD106FEC0E8E577869C6"}
    assert find_outside_name(Spec.model_validate({"source": source if mirror else "official"})) == name


def test_no_such_name_is_an_answer() -> None:
    answer = read_case(OUTSIDE_NAME.id, "pod-without-answer", ("timeout", "no-name"))
    assert list_name_states(answer) == []


def test_a_container_that_crashes_is_asked_for_its_log_alone() -> None:
    pod = make_pod("monitoring", "monitoring-grafana-x", GRAFANA)
    pod["status"]["containerStatuses"] = [make_crash_loop("grafana", 1)]
    questions = build_questions(diagnose(build_snapshot(monitoring__pods=[pod])))
    assert questions is not None
    assert (questions.probes, questions.hosts) == ((LAST_LINES,), ("k1",))


def test_nothing_is_asked_of_a_healthy_cluster() -> None:
    assert build_questions(diagnose(build_healthy())) is None
