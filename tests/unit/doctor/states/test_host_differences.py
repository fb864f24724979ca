"""Settings in which hosts differ, and which of them are told apart from the others."""

from dataclasses import replace

import pytest

from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.states.host_differences import OBSERVERS, SETTINGS
from gpustack.doctor.states.state import observe_all
from tests.unit.doctor.states.objects import build_healthy
from tests.worlds.snapshots.answers import read_case

CLUSTER_HASH = build_healthy().answers["kubeadm.authorities", "k2"].stdout.split()[1]
USUAL, STUB = "10.255.255.53", "127.0.0.53"


def build_hosts(*name_servers: str) -> Snapshot:
    """Build hosts with these name servers, and no other answers; an empty one is unknown."""
    healthy = build_healthy()
    hosts = tuple(replace(healthy.inventory.hosts[0], name=f"h{number}") for number in range(len(name_servers)))
    answers = {
        ("resolver.pods", host.name): read_case("resolver.pods", "control-plane", (USUAL, server), location=host.name)
        for host, server in zip(hosts, name_servers, strict=True)
        if server
    }
    return replace(healthy, inventory=replace(healthy.inventory, hosts=hosts), answers=answers)


@pytest.mark.parametrize(
    ("name_servers", "severity", "locations"),
    [
        ((USUAL, USUAL, STUB), "risk", ("h2",)),
        ((USUAL, STUB), "note", ("h0", "h1")),
        ((USUAL, USUAL, STUB, STUB), "note", ("h0", "h1", "h2", "h3")),
        ((USUAL, USUAL, USUAL), "", ()),
        ((USUAL, USUAL, ""), "", ()),
    ],
    ids=["one-of-three", "one-of-two", "halves", "alike", "unknown"],
)
def test_hosts_that_differ_from_most_are_a_risk(
    name_servers: tuple[str, ...], severity: str, locations: tuple[str, ...]
) -> None:
    states, _ = observe_all(OBSERVERS, build_hosts(*name_servers))
    assert [(state.severity, set(state.locations)) for state in states] == [(severity, set(locations))] * bool(severity)
    assert all("127.0.0.53 on h" in state.message for state in states)


def test_many_hosts_are_counted() -> None:
    (state,) = observe_all(OBSERVERS, build_hosts(*[USUAL] * 5, STUB))[0]
    assert state.message == "127.0.0.53 on h5; 10.255.255.53 on 5 hosts"


def test_no_setting_of_a_healthy_cluster_differs() -> None:
    states, unknown_judgements = observe_all(OBSERVERS, build_healthy())
    assert (states, unknown_judgements) == ((), ())
    assert len({observer.id for observer in OBSERVERS}) == len(SETTINGS)


def test_a_state_yields_to_a_confirmed_fault_of_the_same_answer() -> None:
    healthy = build_healthy()
    answer = read_case("containerd.neighbours", "both", location="k2")
    diagnosis = diagnose(replace(healthy, answers={**healthy.answers, (answer.probe, "k2"): answer}))
    assert [root.id for root in diagnosis.roots] == ["multiple-cri-sockets"]
    assert [state.kind for state in diagnosis.abnormal_states if state.kind == "hosts-differ"] == []


@pytest.mark.parametrize(
    ("probe", "case", "edits", "words"),
    [
        ("kube-proxy.host", "flushed", (("7\n", "0\n"), ("0 1 3", "0 0 0")), "rules of Services (KUBE-SERVICES)"),
        ("gpu.kernels", "no-headers", (), "headers of the running kernel"),
        ("gpu.plugin-files", "no-socket", (("k8s.device-plugin.nvidia.com/gpu\n", ""),), "devices that CDI knows"),
        ("network.mtus", "vxlan", (("eth0 1500", "eth0 9000"),), "MTU of the link with the default route"),
        ("network.mtus", "vxlan", (("cni0 1450", "cni0 8950"),), "MTUs of the links of pods"),
        ("kubeadm.authorities", "other-order", (("a" * 64, CLUSTER_HASH),), "certificate authority (CA)"),
    ],
)
def test_a_host_without_what_the_other_has_is_noted(
    probe: str, case: str, edits: tuple[tuple[str, str], ...], words: str
) -> None:
    healthy = build_healthy()
    known_answers = {("network.mtus", "k1"): read_case("network.mtus", "vxlan"), **healthy.answers}
    answer = read_case(probe, case, *edits, location="k2")
    states, _ = observe_all(OBSERVERS, replace(healthy, answers={**known_answers, (probe, "k2"): answer}))
    assert [(state.kind, state.severity) for state in states] == [("hosts-differ", "note")]
    assert words in states[0].subjects[0]


def test_a_kernel_with_a_built_module_needs_no_headers() -> None:
    healthy = build_healthy()
    answer = read_case("gpu.kernels", "simulated-debian-12", location="k2")
    states, _ = observe_all(OBSERVERS, replace(healthy, answers={**healthy.answers, (answer.probe, "k2"): answer}))
    assert states == ()
