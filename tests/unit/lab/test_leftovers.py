"""Removing a lab takes more along when it was the last; only real hosts show that it works."""

from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.errors import LabError
from gpustack.events import Event
from gpustack_lab.lab import background, capabilities, hosts, leftovers, locks, network, pool, state, sysctls
from gpustack_lab.lab.lab import stop_lab
from gpustack_lab.lab.state import Record
from tests.unit.lab.records import record


@pytest.fixture
def actions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The actions on the machine, in order; nothing runs on it."""
    log: list[str] = []
    monkeypatch.setattr(locks, "MACHINE", tmp_path / "machine")
    (tmp_path / "machine").mkdir()
    monkeypatch.setattr(state, "read_boot_id", lambda: "boot")
    monkeypatch.setattr(hosts, "kill", lambda lab, _: log.append(f"kill {lab.name}"))
    monkeypatch.setattr(background, "end", lambda lab, part: log.append(f"end {part}"))
    monkeypatch.setattr(background, "is_running", lambda lab, part: False)
    monkeypatch.setattr(network, "list_lab_names", set)
    monkeypatch.setattr(network, "drop_network", lambda lab: log.append("network"))
    monkeypatch.setattr(network, "forget_tables", lambda: log.append("tables"))
    monkeypatch.setattr(sysctls, "restore", lambda: log.append("sysctls"))
    monkeypatch.setattr(pool, "close_pool", lambda mount: log.append("pool"))
    return log


@pytest.fixture
def two(actions: list[str], tmp_path: Path) -> Record:
    """A lab with files."""
    made_record = record(tmp_path / "labs" / "two")
    (made_record.state / "ssh").mkdir(parents=True)
    (made_record.state / "console").mkdir()
    (made_record.state / "ssh_config").write_text("")
    state.write(made_record)
    return made_record


def test_the_last_lab_takes_everything_along(actions: list[str], two: Record) -> None:
    leftovers.remove(two)
    assert actions == ["kill two", "end mirror", "end internet", "network", "pool", "sysctls", "tables"]
    assert not two.state.exists()
    assert list(locks.MACHINE.iterdir()) == []


def test_another_lab_keeps_pool_and_sysctls(actions: list[str], two: Record) -> None:
    state.write(replace(two, name="three", net="10.77.4"))
    leftovers.remove(two)
    assert actions == ["kill two", "end mirror", "end internet", "network"]
    assert [lab.name for lab in state.list_records()] == ["three"]


def test_a_lab_of_another_user_keeps_sysctls_but_not_our_pool(actions: list[str], two: Record, tmp_path: Path) -> None:
    state.write(replace(two, name="three", net="10.77.4", pool=tmp_path / "elsewhere"))
    leftovers.remove(two)
    assert actions == ["kill two", "end mirror", "end internet", "network", "pool"]


def test_an_interrupted_removal_keeps_the_record(
    actions: list[str], two: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(lab: Record) -> None:
        raise LabError("lab-command-failed", "no")

    with monkeypatch.context() as broken_context:
        broken_context.setattr(network, "drop_network", fail)
        with pytest.raises(LabError):
            leftovers.remove(two)
    assert state.read("two") == two
    leftovers.remove(two)
    assert state.read("two") is None


def test_only_dead_labs_are_swept(actions: list[str], two: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    state.write(replace(two, name="alive", net="10.77.4"))
    monkeypatch.setattr(background, "is_running", lambda lab, part: (lab.name, part) == ("alive", "mirror"))
    events: list[Event] = []
    leftovers.remove_dead_labs(events.append)
    assert [lab.name for lab in state.list_records()] == ["alive"]
    assert [event.subject for event in events] == ["two"]


def test_a_lab_that_somebody_works_on_is_left_alone(actions: list[str], two: Record) -> None:
    with locks.hold_lock("two"):
        leftovers.remove_dead_labs(lambda event: pytest.fail(event.message))
    assert actions == []


def test_after_a_boot_of_the_machine_every_lab_is_dead(
    actions: list[str], two: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "is_running", lambda lab, part: True)
    assert not leftovers.is_dead(two)
    monkeypatch.setattr(state, "read_boot_id", lambda: "another")
    assert leftovers.is_dead(two)


def test_a_stopped_lab_is_kept_over_a_boot_of_the_machine(
    actions: list[str], two: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.write(replace(two, stopped=True))
    monkeypatch.setattr(state, "read_boot_id", lambda: "another")
    leftovers.remove_dead_labs(lambda event: pytest.fail(event.message))
    assert state.read_existing("two").stopped


def test_a_lab_is_noted_as_stopped_before_its_hosts_are_powered_off(
    actions: list[str], two: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(lab: Record, _: object, __: object) -> None:
        actions.append(f"power off {lab.name}, {state.read_existing('two').stopped}")

    monkeypatch.setattr(capabilities, "require_root", lambda: None)
    monkeypatch.setattr(hosts, "stop", stop)
    stop_lab("two")
    endings = ["kill two", "end mirror", "end internet", "network", "pool", "sysctls", "tables"]
    assert actions == ["power off two, True", *endings]
    assert (two.state / "ssh_config").exists()


def test_a_stopped_lab_keeps_nothing_of_the_machine_for_itself(actions: list[str], two: Record) -> None:
    state.write(replace(two, name="three", net="10.77.4", stopped=True))
    leftovers.remove(two)
    assert actions[-3:] == ["pool", "sysctls", "tables"]


def test_a_dead_lab_with_a_broken_record_is_swept(actions: list[str], two: Record) -> None:
    (locks.MACHINE / "two.json").write_text("{")
    leftovers.remove_dead_labs(lambda event: None)
    assert actions[0] == "kill two"
    assert list(locks.MACHINE.iterdir()) == []


def test_a_dead_lab_without_a_record_is_swept_by_its_rules(
    actions: list[str], two: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "list_lab_names", lambda: {"two", "lost", "lives"})
    monkeypatch.setattr(background, "is_running", lambda lab, part: lab.name in {"two", "lives"})
    leftovers.remove_dead_labs(lambda event: None)
    assert [line for line in actions if line.startswith("kill")] == ["kill lost"]


def test_only_rules_tell_of_a_lab_without_a_record(
    actions: list[str], two: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "list_lab_names", lambda: {"two", "lost"})
    assert leftovers.find("two") == two
    assert leftovers.find("lost") == state.build_unknown("lost")
    assert leftovers.find("never") is None


def test_files_without_a_record_go(actions: list[str], two: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    removals: list[str] = []
    monkeypatch.setattr(pool, "delete_tree", lambda path: removals.append(path.name))
    for name in ("two", "old"):
        (two.pool / "labs" / name).mkdir(parents=True)
        (two.state.parent / name).mkdir(exist_ok=True)
    leftovers.remove_orphan_files(two)
    assert removals == ["old"]
    assert [path.name for path in two.state.parent.iterdir()] == ["two"]
