"""Settings that contradict what a host or another program has, each beside the setting that fits."""

from dataclasses import replace

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.doctor.states import contradictions
from gpustack.doctor.states.state import AbnormalState, observe_all
from tests.unit.doctor.states.objects import build_healthy
from tests.worlds.snapshots.answers import read_case

Edit = tuple[str, str]


def change_answer(probe: str, location: str, edit: Edit) -> list[AbnormalState]:
    """Change words of an answer of the healthy cluster, and list the states."""
    answer, (old, new) = build_healthy().answers[probe, location], edit
    assert old in answer.stdout
    text = answer.stdout.replace(old, new).replace('"name":"host', '"name":"k')
    return observe_answer(replace(answer, stdout=text))


def observe_answer(answer: Answer) -> list[AbnormalState]:
    healthy = build_healthy()
    snapshot = replace(healthy, answers={**healthy.answers, (answer.probe, answer.location): answer})
    return list(observe_all(contradictions.OBSERVERS, snapshot)[0])


MANIFESTS = "kubeadm.manifest-addresses"
ETCD = "--listen-client-urls=https://127.0.0.1:2379,https://10.78.0.11:2379"


@pytest.mark.parametrize(
    ("probe", "location", "edit", "host", "words"),
    [
        (MANIFESTS, "k1", ("10.78.0.11:23", "192.0.2.11:23"), "k1", "etcd is to listen on 192.0.2.11, which no link"),
        (
            MANIFESTS, "k1", (ETCD, f"--etcd-servers=https://127.0.0.1:2390\n{ETCD}"), "k1",
            "the API server asks etcd at 127.0.0.1:2390; etcd listens at 10.78.0.11:2379, 127.0.0.1:2379",
        ),
        (
            "flannel.annotations", CLUSTER, ("10.78.0.12", "10.78.0.11"), "k1",
            "it announces 10.78.0.11, as those of k1, k2",
        ),
        (
            "flannel.annotations", CLUSTER, ("de:95:aa:8d:15:4d", "02:00:00:00:00:99"), "k2",
            "it announces the MAC address 02:00:00:00:00:99; flannel.1 has de:95:aa:8d:15:4d",
        ),
        (
            "flannel.net-conf", CLUSTER, ("10.128.0.0/11", "10.128.0.0/24"), "k2",
            '"Network": "10.128.0.0/24", and the podCIDR ',
        ),
        (
            "gpu.policy-settings", CLUSTER, ("gpustack-dcgm-counters", "site-counters"), CLUSTER,
            "the GPU exporter is configured to read it, and it does not exist",
        ),
    ],
    ids=["address", "etcd", "same-address", "mac", "range", "config-map"],
)  # fmt: skip
def test_settings_that_contradict_are_reported_as_broken(
    probe: str, location: str, edit: Edit, host: str, words: str
) -> None:
    states = [state for state in change_answer(probe, location, edit) if host in state.locations]
    assert [(state.kind, state.severity) for state in states] == [("settings-contradict", "broken")]
    assert words in states[0].message


@pytest.mark.parametrize(
    ("probe", "location", "edit"),
    [
        (MANIFESTS, "k1", ("--advertise-address=10.78.0.11", "--advertise-address=192.0.2.11")),
        (MANIFESTS, "k1", (ETCD, f"--etcd-servers=https://localhost:2379\n{ETCD}")),
        (MANIFESTS, "k1", (ETCD, f"--etcd-servers=https://192.0.2.20:2379\n{ETCD}")),
        ("flannel.net-conf", CLUSTER, ("10.128.0.0/11", "10.0.0.0/8")),
        ("flannel.annotations", CLUSTER, ("host1", "host1")),
    ],
    ids=["api-of-a-router", "localhost", "etcd-elsewhere", "wider-range", "announcements"],
)
def test_a_setting_that_fits_is_no_state(probe: str, location: str, edit: Edit) -> None:
    assert change_answer(probe, location, edit) == []


def test_an_announced_address_that_the_host_does_not_have_is_a_risk() -> None:
    # kubernetes/kubernetes#60835: the address of the interface that Vagrant makes for NAT
    (state,) = change_answer("flannel.annotations", CLUSTER, ("10.78.0.12", "10.0.2.15"))
    assert (state.kind, state.severity, state.locations) == ("settings-contradict", "risk", ("k2",))
    assert "it announces 10.0.2.15, which no link of the host has" in state.message


def test_a_range_of_a_node_without_flannel_is_no_state() -> None:
    states = observe_answer(read_case("flannel.net-conf", "fresh", location=CLUSTER))
    assert [state for state in states if "Network" in state.message] == []


@pytest.mark.parametrize(
    ("prefix", "count"), [('"/prometheus"', 1), ('"/"', 0), ('""', 0)], ids=["other-path", "same-path", "no-path"]
)
def test_a_prometheus_that_serves_below_another_path_than_grafana_asks_is_broken(prefix: str, count: int) -> None:
    # prometheus-operator/prometheus-operator#903
    edit = ('"name":"monitoring-prometheus"},', f'"name":"monitoring-prometheus"}},"spec":{{"routePrefix":{prefix}}},')
    states = change_answer("monitoring.prometheuses", CLUSTER, edit)
    assert [state.message for state in states] == [
        "it serves below /prometheus (routePrefix), and Grafana asks it at /: who asks there gets 404"
    ] * count
    assert {state.severity for state in states} <= {"broken"}
