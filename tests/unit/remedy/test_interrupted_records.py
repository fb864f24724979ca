"""Records are whole or not there: with a kill at each write of the script, and with a full disk, nothing is lost."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from gpustack.errors import RolloutError
from gpustack.remedy.copies import Copies
from gpustack.remedy.undo import find_last_fix, roll_back
from tests.unit.remedy.scratch_fix import (
    CONTAINERD,
    CRI,
    FORWARD,
    IP,
    SITE,
    forward,
    make_fix,
    take_back,
    try_to_take_back,
)
from tests.unit.remedy.scratch_host import ScratchHost, connect_copies

# Each stands before a program of the host, counts the calls, and kills the script at the one that is named.
KILLER = """#!/bin/sh
count=$(cat "$ROOT/../count" 2>/dev/null || echo 0)
count=$((count + 1))
echo $count >"$ROOT/../count"
[ $count != "$(cat "$ROOT/../kill-at" 2>/dev/null)" ] || kill -9 "-$(cat "$ROOT/../group")"
exec /usr/bin/{name} "$@"
"""
WRITES = ("mkdir", "cp", "sync", "mv", "rm", "rmdir", "chmod", "chown", "find", "tail")


class MortalHost(ScratchHost):
    """A host on which the script dies at its write number `kill_at`, with all that it started."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name in WRITES:
            self.give_tool(name, KILLER.format(name=name))

    def kill_at(self, number: int) -> None:
        (self.folder / "count").write_text("0\n")
        (self.folder / "kill-at").write_text(f"{number}\n")

    @property
    def is_dead(self) -> bool:
        return int((self.folder / "count").read_text()) >= int((self.folder / "kill-at").read_text())

    def run(self, script: str) -> list[str]:
        self.script = script
        process = subprocess.Popen(
            ["sh", "-s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment, start_new_session=True,
        )  # fmt: skip
        (self.folder / "group").write_text(f"{process.pid}\n")
        stdout, err = process.communicate(script)
        if process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL):
            return ["killed"]
        return [*stdout.splitlines(), *err.splitlines()]


def run_fix_until_killed(copies: Copies, host: MortalHost, phase: str, number: int) -> bool:
    """Make a fix that edits a file of the host and creates two, with the script killed in one phase. Returns whether
    it died there."""

    def change_files() -> None:
        host.write(SITE, "x = 2\n")
        host.write("etc/containerd/conf.d/gpustack.toml", "ours\n")

    host.kill_at(number if phase == "begin" else 0)
    try:
        copies.begin("1", CRI, {"h1": CONTAINERD})
        began = True
    except RolloutError:
        began = False
    if phase == "begin" and host.is_dead:
        host.kill_at(0)
        if not began:
            return True
    change_files()
    host.write("etc/cron.d/nightly", "theirs\n")
    host.kill_at(number if phase == "finish" else 0)
    with suppress(RolloutError):
        copies.finish("1", ["h1"])
    has_died = phase == "finish" and host.is_dead
    if phase == "restore":
        last_fix = find_last_fix(copies, ["h1"])
        host.kill_at(number)
        with suppress(RolloutError):
            roll_back(copies, last_fix, lambda _: None)
        has_died = host.is_dead
    host.kill_at(0)
    return has_died


@pytest.mark.long
@pytest.mark.parametrize("phase", ["begin", "finish", "restore"])
def test_killed_at_each_write_nothing_of_others_is_lost(tmp_path: Path, phase: str) -> None:
    number, has_died = 0, True
    while has_died:
        number += 1
        host = MortalHost(tmp_path / str(number))
        copies = connect_copies({"h1": host})
        host.write(SITE, "x = 1\n", 0o640)
        before = host.list_files()
        has_died = run_fix_until_killed(copies, host, phase, number)
        try_to_take_back(copies, "undo-nothing")
        current_files = host.list_files()
        foreign_file = current_files.pop("/etc/cron.d/nightly", None)
        current_files.pop("/etc/cron.d", None)
        assert foreign_file is None or foreign_file[3] == b"theirs\n"
        site = current_files[f"/{SITE}"]
        assert site in (before[f"/{SITE}"], (site[0], *site[1:3], b"x = 2\n")), number
        if phase == "restore" or (phase == "finish" and not has_died):
            assert current_files == before, number
        fresh = [path for path in current_files if "/.gpustack-" in path]
        assert fresh == [], number
    assert number > 3, "the script was killed at several writes"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_with_a_full_disk_nothing_is_changed_and_no_record_is_left(tmp_path: Path) -> None:
    host = ScratchHost(tmp_path)
    copies = connect_copies({"h1": host})
    host.write(SITE, "x" * 200_000)
    (tmp_path / "fixes").mkdir()
    process = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path / "fixes"], capture_output=True, check=False
    )
    if process.returncode:
        pytest.skip("no right to mount here")
    try:
        before = host.list_files()
        with pytest.raises(RolloutError) as excinfo:
            copies.begin("1", CRI, {"h1": CONTAINERD})
        assert excinfo.value.reference == "fix-copies"
        assert host.list_files() == before
        assert list((tmp_path / "fixes").iterdir()) == []
    finally:
        subprocess.run(["umount", tmp_path / "fixes"], check=True)


def test_a_program_that_finds_no_space_stops_the_fix(host: ScratchHost, copies: Copies) -> None:
    """Imitate a full disk, where none can be mounted: cp and sync fail, one after the other."""
    host.write(SITE, "x = 1\n")
    for name in ("cp", "sync"):
        host.give_tool(name, "#!/bin/sh\necho 'No space left on device' >&2\nexit 1\n")
        before = host.list_files()
        with pytest.raises(RolloutError) as excinfo:
            copies.begin("1", CRI, {"h1": CONTAINERD})
        assert (excinfo.value.reference, excinfo.value.hint) == ("fix-copies", "df -h /var/lib")
        assert host.list_files() == before
        assert not (host.folder / "fixes").exists()
        (host.folder / "tools" / name).unlink()


def test_a_fix_that_was_killed_does_not_stand_in_the_way_of_the_next(host: ScratchHost, copies: Copies) -> None:
    copies.begin("1", IP, {"h1": FORWARD})
    make_fix(copies, lambda: forward(host), "2")
    assert find_last_fix(copies, ["h1"]).id == "2"
    take_back(copies)
    assert find_last_fix(copies, ["h1"]).id == "1"
