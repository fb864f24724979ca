"""Files of others are regular files of a limited size, or an error: nothing waits and nothing grows."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack.files.read import open_file, read_file, read_text
from tests.unit.files.irregular import UNREADABLE

pytestmark = pytest.mark.timeout(20)


@pytest.mark.parametrize("make", UNREADABLE)
@pytest.mark.parametrize("read", [read_file, read_text, open_file])
def test_only_regular_files_are_read(
    tmp_path: Path, make: Callable[[Path], None], read: Callable[[Path], object]
) -> None:
    make(tmp_path / "file")
    with pytest.raises(OSError, match=r"file|directory|link"):
        read(tmp_path / "file")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/tty", "/dev/stdin", "/proc/self/fd"])
def test_devices_and_folders_are_refused(path: str) -> None:
    with pytest.raises(OSError, match=r"file|directory|device"):
        read_file(Path(path))


def test_a_link_to_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("größer\r\n")
    (tmp_path / "link").symlink_to("file")
    assert read_text(tmp_path / "link") == "größer\n"


def test_the_size_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 10)
    assert read_file(tmp_path / "file", 10) == b"x" * 10
    with pytest.raises(OSError, match="larger than 9 bytes"):
        read_file(tmp_path / "file", 9)


def test_a_file_without_a_size_is_bounded_too() -> None:
    """Files of /proc have no size before they are read."""
    assert Path("/proc/self/environ").stat().st_size == 0
    with pytest.raises(OSError, match="larger than 3 bytes"):
        read_file(Path("/proc/self/environ"), 3)


def test_nothing_is_opened_that_is_not_read(tmp_path: Path) -> None:
    """A writer that waits for a reader of its pipe would go on."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_file(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        os.open(tmp_path / "pipe", os.O_WRONLY | os.O_NONBLOCK)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
@pytest.mark.parametrize("read", [read_file, read_text, open_file])
def test_names_that_no_file_can_have_are_refused(tmp_path: Path, name: str, read: Callable[[Path], object]) -> None:
    """YAML and JSON can write such a name."""
    with pytest.raises(OSError, match="no name that a file can have"):
        read(tmp_path / name)
