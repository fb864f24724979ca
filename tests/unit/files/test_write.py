"""Check that a written file is whole, its owner's alone, and in no other place than the one that was named."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpustack.files.write import Readers, append_line, open_log, write_file
from tests.unit.files.irregular import UNWRITABLE


def read_mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_file_that_others_could_read_is_closed_and_emptied(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a longer text")
    path.chmod(0o644)
    write_file(path, "text")
    assert (path.read_text(), read_mode(path)) == ("text", 0o600)


@pytest.mark.parametrize(
    ("readers", "umask", "expected"),
    [
        ("owner", 0o000, 0o600),
        ("owner", 0o022, 0o600),
        ("umask", 0o022, 0o644),
        ("umask", 0o077, 0o600),
        ("all", 0o077, 0o644),
        ("all", 0o000, 0o644),
    ],
)
def test_readers_decide_the_mode(tmp_path: Path, readers: Readers, umask: int, expected: int) -> None:
    before = os.umask(umask)
    try:
        write_file(tmp_path / "file", "text", readers=readers)
    finally:
        os.umask(before)
    assert read_mode(tmp_path / "file") == expected


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "\ud800/file", "a\0b/file"])
@pytest.mark.parametrize(
    "act", [lambda path: write_file(path, "ours"), lambda path: append_line(path, "ours\n"), open_log]
)
def test_names_that_no_file_can_have_are_refused(tmp_path: Path, name: str, act: Callable[[Path], None]) -> None:
    """YAML and JSON can write such a name."""
    with pytest.raises(OSError, match="no name that a file can have"):
        act(tmp_path / name)
    assert list_names(tmp_path) == []


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.timeout(20)
@pytest.mark.parametrize("make", UNWRITABLE)
@pytest.mark.parametrize("act", [lambda path: write_file(path, "ours"), open_log])
def test_what_is_not_a_regular_file_is_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], None], act: Callable[[Path], None]
) -> None:
    (tmp_path / "precious").write_text("as it was")
    make(tmp_path / "file")
    before = (tmp_path / "file").lstat()
    with pytest.raises(OSError, match="regular file"):
        act(tmp_path / "file")
    assert (tmp_path / "file").lstat() == before
    assert (tmp_path / "precious").read_text() == "as it was"
    assert list_names(tmp_path) == ["file", "precious"]


@pytest.mark.parametrize("path", ["/dev/null", "/dev/stdout", ".", "/", ".."])
def test_devices_and_folders_are_refused(path: str) -> None:
    with pytest.raises(OSError, match=r"regular file|directory"):
        write_file(Path(path), "ours")


def test_no_name_that_lies_beside_it_is_followed_or_overwritten(tmp_path: Path) -> None:
    """Links of every name that an earlier release or a fixed rule would write to."""
    (tmp_path / "precious").write_text("as it was")
    for name in (".a.json.part", "a.json.part", "a.json.tmp", ".a.json.tmp", "a.json~"):
        (tmp_path / name).symlink_to("precious")
    before = list_names(tmp_path)
    write_file(tmp_path / "a.json", "ours")
    assert (tmp_path / "precious").read_text() == "as it was"
    assert list_names(tmp_path) == sorted([*before, "a.json"])
    assert not (tmp_path / "a.json").is_symlink()


def test_a_hard_link_to_the_old_file_keeps_its_content(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("as it was")
    (tmp_path / "file").hardlink_to(tmp_path / "precious")
    write_file(tmp_path / "file", "ours")
    assert (tmp_path / "precious").read_text() == "as it was"


@pytest.mark.parametrize("act", [lambda path: append_line(path, "ours\n"), open_log])
def test_nothing_is_added_to_a_file_that_has_another_name(tmp_path: Path, act: Callable[[Path], None]) -> None:
    (tmp_path / "precious").write_text("as it was\n")
    (tmp_path / "precious").chmod(0o640)
    (tmp_path / "file").hardlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="hard link"):
        act(tmp_path / "file")
    assert (tmp_path / "precious").read_text() == "as it was\n"
    assert (tmp_path / "precious").stat().st_mode & 0o777 == 0o640


def test_a_folder_that_is_swapped_meanwhile_gets_nothing(tmp_path: Path) -> None:
    (tmp_path / "chosen").mkdir()
    (tmp_path / "victim").mkdir()

    def generate_chunks() -> Iterator[str]:
        (tmp_path / "chosen").rename(tmp_path / "moved")
        (tmp_path / "chosen").symlink_to("victim")
        yield "ours"

    write_file(tmp_path / "chosen" / "file", generate_chunks())
    assert list_names(tmp_path / "victim") == []
    assert (tmp_path / "moved" / "file").read_text() == "ours"


def test_a_new_file_is_never_one_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def generate_chunks() -> Iterator[str]:
        path.write_text("of another, meanwhile")
        yield "ours"

    with pytest.raises(FileExistsError):
        write_file(path, generate_chunks(), new=True)
    assert path.read_text() == "of another, meanwhile"
    assert list_names(tmp_path) == ["file"]


def test_an_error_while_it_is_made_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("as it was")

    def generate_chunks() -> Iterator[str]:
        yield "begin"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_file(path, generate_chunks())
    assert path.read_text() == "as it was"
    assert list_names(tmp_path) == ["file"]


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="no /dev/full here")
def test_a_full_disk_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("as it was")
    real = os.fdopen

    def open_full_device(descriptor: int, mode: str) -> object:
        os.close(descriptor)
        return real(os.open("/dev/full", os.O_WRONLY), mode)

    monkeypatch.setattr(os, "fdopen", open_full_device)
    with pytest.raises(OSError, match="No space") as excinfo:
        write_file(path, "text")
    assert excinfo.value.errno == errno.ENOSPC
    assert path.read_text() == "as it was"
    assert list_names(tmp_path) == ["file"]


KILLED_PROGRAM = """
import os, signal, sys
from pathlib import Path
from gpustack.files.write import write_file
def chunks():
    yield "half" * 100_000
    os.kill(os.getpid(), signal.SIGKILL)
write_file(Path(sys.argv[1]), chunks())
"""


def test_a_kill_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("as it was")
    process = subprocess.run([sys.executable, "-c", KILLED_PROGRAM, str(path)], check=False)
    assert process.returncode == -signal.SIGKILL
    assert path.read_text() == "as it was"


def test_it_is_on_the_disk_before_it_has_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def record_calls(name: str) -> Callable[..., object]:
        real = getattr(os, name)

        def call(*arguments: object, **options: object) -> object:
            calls.append(name)
            return real(*arguments, **options)

        return call

    for name in ("fsync", "rename"):
        monkeypatch.setattr(os, name, record_calls(name))
    write_file(tmp_path / "file", "text")
    assert calls == ["fsync", "rename", "fsync"]


def test_a_text_that_is_no_unicode_is_written(tmp_path: Path) -> None:
    write_file(tmp_path / "file", "a \ud800 b")
    assert (tmp_path / "file").read_text() == "a \\ud800 b"


def test_names_of_255_bytes_are_written(tmp_path: Path) -> None:
    write_file(tmp_path / ("n" * 255), "text")
    with pytest.raises(OSError, match="too long"):
        write_file(tmp_path / ("n" * 256), "text")


def test_a_log_grows_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("before\n")
    path.chmod(0o644)
    log = open_log(path)
    os.write(log, b"after\n")
    os.close(log)
    assert path.read_text() == "before\nafter\n"
    assert read_mode(path) == 0o600
