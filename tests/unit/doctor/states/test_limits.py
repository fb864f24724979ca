"""File systems in memory, and the tasks and open files of units, as the answers of one host show them."""

import re

import pytest

from gpustack.ask.script_file import read_script
from gpustack.doctor.states import limits
from gpustack.doctor.states.state import AbnormalState, observe_all
from gpustack.probes.host import limits as host_limits
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.hosts import build_snapshot

PROBE = "host.limits"


def list_states(case: str, *edits: tuple[str, str]) -> list[AbnormalState]:
    states, unknown_judgements = observe_all(
        limits.OBSERVERS, build_snapshot(place_answers("h1", read_case(PROBE, case, *edits)))
    )
    assert unknown_judgements == ()
    return list(states)


def test_limits_that_nothing_reaches_are_no_state() -> None:
    assert list_states("usual") == []


def test_a_full_file_system_in_memory_is_broken() -> None:
    (state,) = list_states("run-is-full")
    assert (state.kind, state.severity, state.subjects) == ("disk-unusable", "broken", ("file system of /run",))
    assert "0 % of the space" in state.message


def test_a_unit_at_its_limit_is_broken_and_names_the_limit() -> None:
    (state,) = list_states("tasks-at-limit")
    assert (state.kind, state.severity, state.subjects) == ("unit-limit", "broken", ("unit containerd.service",))
    assert state.message.startswith("it uses 259 of 261 tasks (TasksMax)")


def test_a_file_system_in_memory_that_is_nearly_full_is_a_risk() -> None:
    (state,) = list_states("run-nearly-full")
    assert (state.kind, state.severity) == ("disk-unusable", "risk")


@pytest.mark.parametrize(("maximum", "severities"), [("270", ["broken"]), ("280", ["risk"]), ("400", [])])
def test_a_unit_near_its_limit_is_a_risk(maximum: str, severities: list[str]) -> None:
    states = list_states("tasks-at-limit", ("TasksMax 259 261", f"TasksMax 259 {maximum}"))
    assert [state.severity for state in states] == severities


def test_a_limit_of_the_kernel_is_broken_with_the_words_that_it_makes() -> None:
    (state,) = list_states("connections-at-limit")
    limit = "net.netfilter.nf_conntrack_max"
    assert (state.kind, state.severity, state.subjects) == ("kernel-limit", "broken", (f"kernel limit {limit}",))
    assert state.message.startswith("the host has 262144 of 262144 tracked connections; at the limit packets of new")
    assert '"nf_conntrack: table full, dropping packet"' in state.message
    assert state.next_command == f"sysctl {limit}"


def test_a_range_of_local_ports_that_is_used_up_is_broken() -> None:
    (state,) = list_states("local-ports-at-limit")
    assert (state.kind, state.severity) == ("kernel-limit", "broken")
    assert state.message.startswith("the host has 4 of 4 local ports; at the limit no further connection is made")


@pytest.mark.parametrize(("usage", "severities"), [("262133", ["broken"]), ("236000", ["risk"]), ("235000", [])])
def test_a_limit_of_the_kernel_that_is_near_is_a_risk(usage: str, severities: list[str]) -> None:
    states = list_states("connections-at-limit", ("nf_conntrack_max 262144", f"nf_conntrack_max {usage}"))
    assert [state.severity for state in states] == severities


def test_every_limit_that_the_script_prints_is_described() -> None:
    script = read_script(host_limits.__file__, "limits.sh")
    names = set(re.findall(r"\b(?:kernel|fs|net)\.[a-z0-9_.-]+[a-z0-9]\b|memory-cgroups", script))
    assert names == set(limits.KERNEL_LIMITS)
