"""Failed units are reported with what their processes printed last."""

from gpustack.doctor.states.state import AbnormalState, observe
from gpustack.doctor.states.units import OBSERVERS
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.hosts import build_snapshot

(OBSERVER,) = OBSERVERS


def observe_case(case: str, *edits: tuple[str, str]) -> tuple[AbnormalState, ...]:
    answers = place_answers("h1", read_case("units.failed", case, *edits))
    states, judgement = observe(OBSERVER, build_snapshot(answers), "h1")
    assert judgement.outcome == ("failed" if states else "ok")
    return states


def test_a_unit_of_the_site_is_a_note_with_its_last_words() -> None:
    backup, loop = observe_case("two-units")
    assert (backup.severity, backup.subjects, backup.locations) == ("note", ("unit site-backup.service",), ("h1",))
    assert backup.message == "exit-code: exit status 3: backup: disk nas is not mounted"
    assert (backup.next_command, backup.count) == ("journalctl -u site-backup.service", 0)
    assert backup.onset is not None
    assert backup.onset.isoformat() == "2026-11-29T18:32:58+00:00"
    assert "no database at db1" in loop.message


def test_a_unit_of_the_platform_is_broken() -> None:
    states = observe_case("two-units", ("site-backup.service", "nvidia-fabricmanager.service"))
    assert [state.severity for state in states] == ["broken", "note"]


def test_a_process_that_was_killed_is_reported_with_the_signal() -> None:
    unit, _ = observe_case("two-units", ("ExecMainCode=1\nExecMainStatus=3", "ExecMainCode=2\nExecMainStatus=9"))
    assert "signal 9" in unit.message


def test_a_unit_that_ended_well_once_has_no_state() -> None:
    """Such as the scope of a container that systemd has forgotten since it was listed."""
    edits = (("Result=exit-code\nNRestarts=0\nExecMainCode=1\nExecMainStatus=3", "Result=success\nNRestarts=0"),)
    assert [state.subjects for state in observe_case("two-units", *edits)] == [("unit site-loop.service",)]


def test_a_unit_that_ends_well_again_and_again_is_reported_as_such() -> None:
    ending = "NRestarts=0\nExecMainCode=1\nExecMainStatus=2"
    edits = ((f"Result=exit-code\n{ending}", "Result=success\nNRestarts=7\nExecMainCode=1\nExecMainStatus=0"),)
    _, loop = observe_case("two-units", *edits)
    assert loop.message.startswith("it ends well, and systemd starts it again and again: exit status 0: ")
    assert loop.count == 7


def test_a_build_that_failed_is_reported_with_its_errors() -> None:
    answers = place_answers(
        "h1",
        read_case("units.failed", "two-units", ("site-backup.service", "dkms.service")),
        read_case("packages.build-errors", "pahole"),
    )
    states, _ = observe(OBSERVER, build_snapshot(answers), "h1")
    builder, loop = states
    script = "/var/lib/dkms/nvidia/595.71.05/build/pahole.sh"
    assert builder.last_lines[0] == f"nvidia/595.71.05: /bin/sh: 1: {script}: Permission denied"
    assert loop.last_lines == ()


def test_a_host_without_failed_units_has_no_state() -> None:
    assert observe_case("none") == ()
