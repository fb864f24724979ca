"""Messages of the kernel within the last day: errors, killed programs and denials, with the time of the first."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gpustack.doctor.states import kernel_messages
from gpustack.doctor.states.state import AbnormalState, observe_all
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.hosts import build_snapshot

PROBE = "kernel.messages"
NEWEST = datetime.fromtimestamp(1_796_010_060, UTC)


def list_states(case: str, *edits: tuple[str, str], later: timedelta = timedelta(minutes=1)) -> list[AbnormalState]:
    """List the states of a host that is asked some time after the newest message of `of-all-kinds`."""
    snapshot = build_snapshot(place_answers("h1", read_case(PROBE, case, *edits)))
    states, _ = observe_all(kernel_messages.OBSERVERS, replace(snapshot, started_at=NEWEST + later))
    return list(states)


def test_each_message_has_its_state_with_the_whole_sentence() -> None:
    states = {(state.kind, state.severity, state.subjects[0]): state for state in list_states("of-all-kinds")}
    assert list(states) == [
        ("kernel-error", "risk", "kernel of h1"),
        ("program-killed", "risk", "program python3 of h1"),
        ("access-denied", "risk", "program runc of h1"),
        ("kernel-error", "note", "kernel of h1"),
        ("access-denied", "note", "program rsyslogd of h1"),
    ]
    messages = [state.message for state in states.values()]
    assert messages[0].startswith("EXT4-fs error (device sdb1)")
    assert messages[1].startswith("Out of memory: Killed process 4711 (python3)")
    assert 'apparmor="DENIED" operation="signal"' in messages[2]
    assert messages[4].endswith("tclass=file permissive=0")


def test_alike_errors_are_one_state_that_began_with_the_first() -> None:
    (error,) = (state for state in list_states("of-all-kinds") if "mlx5_core" in state.message)
    assert (error.count, error.onset) == (2, datetime.fromtimestamp(1_796_010_000, UTC))
    assert "Fatal error 3" in error.message


def test_after_an_hour_no_message_is_a_risk() -> None:
    states = list_states("of-all-kinds", later=timedelta(hours=2))
    assert {state.severity for state in states} == {"note"}


def test_a_program_at_the_limit_of_its_cgroup_is_for_its_user() -> None:
    (state,) = list_states("limit-of-cgroup", later=timedelta(hours=0.3))
    assert (state.kind, state.severity) == ("program-killed", "note")
    assert state.message.startswith("Memory cgroup out of memory: Killed process 2018 (python3)")


def test_a_program_of_the_platform_at_its_limit_is_a_risk() -> None:
    (state,) = list_states("limit-of-cgroup", ("task=python3", "task=etcd"), later=timedelta(hours=0.3))
    assert (state.severity, state.subjects) == ("risk", ("program etcd of h1",))


@pytest.mark.parametrize("words", ["ACPI BIOS Error", "NVRM: Xid"])
def test_errors_of_the_boot_and_of_other_states_are_not_repeated(words: str) -> None:
    assert words in read_case(PROBE, "of-all-kinds").stdout
    assert not [state for state in list_states("of-all-kinds") if words in state.message]


def test_a_host_without_messages_or_without_a_journal_has_no_state() -> None:
    assert list_states("none") == []
    states, unknown_judgements = observe_all(kernel_messages.OBSERVERS, build_snapshot())
    assert states == ()
    assert {judgement.outcome for judgement in unknown_judgements} <= {"unknown"}
