"""Kubelets that refuse the client certificate of the API server, by their HTTP statuses."""

import pytest

from gpustack.ask.variables import list_kubelets
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.states import kubelet_access
from gpustack.doctor.states.state import AbnormalState, observe_all
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.hosts import build_snapshot


def list_states(*edits: tuple[str, str]) -> list[AbnormalState]:
    answer = read_case("kubelet.access", "control-plane", ("host1", "h1"), ("host2", "h2"), *edits)
    answers = place_answers("h1", answer) | place_answers("h2", read_case("kubelet.access", "worker"))
    states, unknown_judgements = observe_all(kubelet_access.OBSERVERS, build_snapshot(answers))
    assert unknown_judgements == ()
    return list(states)


def test_kubelets_that_answer_and_one_that_is_silent_are_no_state() -> None:
    assert list_states() == []


@pytest.mark.parametrize(("status", "words"), [("401", "401 Unauthorized"), ("403", "403 Forbidden")])
def test_a_kubelet_that_refuses_the_api_server_is_broken(status: str, words: str) -> None:
    (state,) = list_states(("h2 200", f"h2 {status}"))
    assert (state.kind, state.severity, state.locations) == ("access-refused", "broken", ("h2",))
    assert state.message.startswith(f"it answers {words}")


def test_a_kubelet_without_debugging_handlers_is_broken() -> None:
    # bottlerocket-os/bottlerocket-core-kit#747
    answer = read_case("kubelet.access", "no-debugging", ("host1", "h1"), ("host2", "h2"))
    states, _ = observe_all(kubelet_access.OBSERVERS, build_snapshot(place_answers("h1", answer)))
    (state,) = states
    assert (state.severity, state.locations) == ("broken", ("h2",))
    assert state.message == (
        "it answers 405 Method Not Allowed with enableDebuggingHandlers false: kubectl logs and exec fail"
    )


def test_a_kubelet_that_refuses_does_so_while_its_host_starts_too() -> None:
    answer = read_case("kubelet.access", "control-plane", ("host1", "h1"), ("host2 200", "h2 401"))
    starting = place_answers("h2", read_case("units.services", "starting"))
    diagnosis = diagnose(build_snapshot(place_answers("h1", answer) | starting))
    assert [start.location for start in diagnosis.starts] == ["h2"]
    states = [state for state in diagnosis.abnormal_states if state.kind == "access-refused"]
    assert [state.severity for state in states] == ["broken"]


def test_another_error_of_a_kubelet_is_no_refusal() -> None:
    assert list_states(("h2 200", "h2 500")) == []


def test_kubelets_are_listed_by_the_addresses_of_their_nodes() -> None:
    groups = frozenset({"kube_node"})
    hosts = (Host("h1", "10.0.0.1", groups=groups), Host("h2", "gpu2.example.org", groups=groups))
    assert list_kubelets(Inventory(None, hosts, Spec())) == "h1=10.0.0.1"
