"""The first task of each play, on a real lock: a host is changed by the run that holds its lock, and by nobody else."""

import fcntl
import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.rollout import lock

TASKS = locate_playbooks() / "tasks" / "same-machine.yml"
MACHINE = Path("/etc/machine-id")
OWN_RUN, OTHER_RUN = "a" * 16, "b" * 16


def render(folder: Path, run: str, *, check: bool = False) -> str:
    """Render the task as Ansible gives it to the shell, with its lock in this folder, and one second of patience in
    place of fifteen."""
    (task,) = yaml.safe_load(TASKS.read_text())
    engine = jinja2.Environment(autoescape=False)
    engine.filters["quote"] = lambda value: shlex.quote(str(value))
    variables: dict[str, Any] = {"inventory_hostname": "h1", "ansible_check_mode": check} | (
        {"gpustack_run": run} if run else {}
    )
    variables["hostvars"] = {"h1": {"gpustack_machine_id": MACHINE.read_text().strip() if MACHINE.exists() else ""}}
    for name, text in task["vars"].items():
        variables[name] = engine.from_string(text).render(variables)
    text = engine.from_string(task["ansible.builtin.raw"]).render(variables)
    assert text.count(lock.FOLDER) == 1
    assert "attempts=15;" in text
    return text.replace(lock.FOLDER, str(folder)).replace("attempts=15;", "attempts=1;")


def play(folder: Path, run: str = "", *, check: bool = False) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", "-c", render(folder, run, check=check)], capture_output=True, text=True, timeout=30, check=False
    )


@contextmanager
def hold_lock(folder: Path, note: str | None) -> Iterator[None]:
    """Hold the lock in this process, with a note that says so."""
    folder.mkdir(exist_ok=True)
    if note is not None:
        (folder / "holder").write_text(note)
    with ExitStack() as stack:
        file = stack.enter_context((folder / "lock").open("w"))
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_the_run_that_holds_the_lock_goes_on(tmp_path: Path) -> None:
    with hold_lock(tmp_path, f"ann@desk (pid 7)\n{OWN_RUN}\n"):
        process = play(tmp_path, OWN_RUN)
    assert (process.returncode, process.stdout) == (0, "")


@pytest.mark.parametrize("run", [OWN_RUN, ""], ids=["another run", "by hand"])
def test_a_host_that_another_run_holds_is_refused_with_its_name(tmp_path: Path, run: str) -> None:
    with hold_lock(tmp_path, f"ann@desk (pid 7)\n{OTHER_RUN}\n"):
        process = play(tmp_path, run)
    assert process.returncode == 1
    assert "The lock of h1 is not held by this run, and nothing was changed on it" in process.stdout
    assert process.stdout.endswith("It is held by ann@desk (pid 7)\n")


@pytest.mark.parametrize(
    "note", [None, "", OWN_RUN, f"{OWN_RUN}\n", f"ann@desk (pid 7)\n{OWN_RUN[:7]}", "ann@desk (pid 7)\n"]
)
@pytest.mark.parametrize("run", [OWN_RUN, ""], ids=["a run", "by hand"])
def test_a_torn_note_is_of_nobody(tmp_path: Path, note: str | None, run: str) -> None:
    """The lock is held, and who holds it is unknown: that is no permission."""
    with hold_lock(tmp_path, note):
        assert play(tmp_path, run).returncode == 1


def test_a_lock_that_this_run_does_not_hold_any_more_is_refused(tmp_path: Path) -> None:
    """A note may outlive its lock: that of a process that was killed on the host, or of an earlier boot."""
    with hold_lock(tmp_path, f"ann@desk (pid 7)\n{OWN_RUN}\n"):
        pass
    process = play(tmp_path, OWN_RUN)
    assert process.returncode == 1
    assert process.stdout.endswith("It is held by nobody\n")


@pytest.mark.parametrize("note", ["nothing", "a lock file", "the note of a dead run"])
def test_by_hand_a_free_host_may_be_changed(tmp_path: Path, note: str) -> None:
    """Take the lock of a free host as the printed command does."""
    if note != "nothing":
        (tmp_path / "lock").touch()
    if note == "the note of a dead run":
        (tmp_path / "holder").write_text(f"ann@desk (pid 7)\n{OTHER_RUN}\n")
    assert play(tmp_path).returncode == 0


def test_a_look_at_a_host_needs_no_lock(tmp_path: Path) -> None:
    with hold_lock(tmp_path, f"ann@desk (pid 7)\n{OTHER_RUN}\n"):
        assert play(tmp_path, check=True).returncode == 0


@pytest.mark.parametrize("name", ["$(touch sprung)", "'; touch sprung; '", "a`touch sprung`", "-n", "\\c"])
def test_the_name_of_a_holder_is_text(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with hold_lock(tmp_path, f"{name}\n{OTHER_RUN}\n"):
        assert play(tmp_path, OWN_RUN).returncode == 1
    assert not (tmp_path / "sprung").exists()


def test_a_lock_that_is_taken_again_is_waited_for(tmp_path: Path) -> None:
    """Wait for the lock of a host that has just booted."""
    (tmp_path / "lock").touch()
    script = render(tmp_path, OWN_RUN).replace("attempts=1;", "attempts=9;")
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        with hold_lock(tmp_path, f"ann@desk (pid 7)\n{OWN_RUN}\n"):
            assert process.wait(10) == 0


def format_script(folder: Path, run: str = OWN_RUN) -> str:
    """Format the script that gpustack sends to hold a host's lock, in this folder."""
    words = {"held": lock.HELD_ANSWER, "taken": lock.TAKEN_ANSWER, "beat": lock.BEAT, "limit": lock.HOLD_LIMIT}
    return lock.HOLD.format(folder=folder, who=shlex.quote("bob@desk (pid 8)"), run=run, **words)


@contextmanager
def run_holder(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        ["sh", "-c", format_script(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            if process.stdin:
                process.stdin.close()


def test_what_gpustack_holds_is_what_the_task_looks_for(tmp_path: Path) -> None:
    with run_holder(tmp_path) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        assert play(tmp_path, OWN_RUN).returncode == 0
        playbook_run = play(tmp_path, OTHER_RUN)
        assert (playbook_run.returncode, playbook_run.stdout.endswith("It is held by bob@desk (pid 8)\n")) == (1, True)
    assert play(tmp_path).returncode == 0


@pytest.mark.parametrize("note", ["ann@desk (pid 7)\n" + OTHER_RUN, "ann", ""], ids=["dead run", "torn", "empty"])
def test_the_note_of_a_dead_run_keeps_nobody_out(tmp_path: Path, note: str) -> None:
    """The kernel ends the lock with its holder, and with the boot: no file does."""
    (tmp_path / "holder").write_text(note)
    with run_holder(tmp_path) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        assert (tmp_path / "holder").read_text() == f"bob@desk (pid 8)\n{OWN_RUN}\n"


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a file system")
@pytest.mark.parametrize("full", ["bytes", "files"])
def test_where_the_note_cannot_be_written_nothing_is_held(tmp_path: Path, full: str) -> None:
    options = "size=4k" if full == "bytes" else "size=64k,nr_inodes=3"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", tmp_path], check=True, timeout=30)
    try:
        (tmp_path / "lock").touch()
        if full == "bytes":
            (tmp_path / "filling").write_bytes(b"0" * 4096)
        else:
            (tmp_path / "one").touch()
        with run_holder(tmp_path) as process:
            assert process.stdout
            text = process.stdout.read()
        assert text.startswith(f"{tmp_path}/holder could not be written: tmpfs ")
        assert lock.HELD_ANSWER not in text.splitlines()
        assert not (tmp_path / "holder").exists()
        assert play(tmp_path, OWN_RUN).returncode == 1
    finally:
        subprocess.run(["umount", tmp_path], check=True, timeout=30)
