"""Write the files of this program: whole or not at all, and never through a link.

The content goes into a new file beside the target, reaches the disk, and is renamed. A reader, a crash and a full disk
see the old file or the new one. All names are looked up in the folder that was opened first, so that a folder or link
that is swapped meanwhile changes nothing.
"""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TextIO

Readers = Literal["owner", "umask", "all"]
"""The users who may read a file: its owner, those that the umask leaves, or all users also under a narrow umask."""
MODES: dict[Readers, int] = {"owner": 0o600, "umask": 0o666, "all": 0o644}
Content = str | bytes | Iterable[str] | Iterable[bytes]
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK the opening of a pipe waits for its reader.
APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
PART = re.compile(r"\.gpustack-[0-9a-f]{16}")
"""The name of a file that is being written; one stays behind after a power cut or kill -9."""
LINES = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)
"""The errors of file systems that cannot sync a folder."""


def write_file(path: Path, content: Content, *, readers: Readers = "owner", new: bool = False) -> None:
    """Replace a regular file, or create it. With `new`, raise FileExistsError where the name is taken.

    Raise OSError where the name is a link, a folder, a device or a pipe, and where the file cannot be written; the
    old file is then as it was."""
    with open_parent(path) as folder:
        refuse_irregular(path, folder)
        part = f".gpustack-{os.urandom(8).hex()}"
        try:
            write_part(part, folder, content, readers)
            if new:
                os.close(os.open(path.name, CREATE, MODES["owner"], dir_fd=folder))
            os.rename(part, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=folder)
            raise
        sync_folder(folder)


def find_refusal(path: Path) -> str:
    """Find why a file cannot be written, before the work whose result it is to have. Return an empty text where it
    can."""
    try:
        with open_parent(path) as folder:
            refuse_irregular(path, folder)
    except OSError as error:
        return error.strerror or str(error)
    return "" if os.access(path.parent, os.W_OK) else f"{path.parent} cannot be written to."


@contextlib.contextmanager
def open_parent(path: Path) -> Iterator[int]:
    """Open the folder of a file that is to be written. Raise OSError, also for a name that no file can have."""
    try:
        is_unusable = b"\0" in os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair
        is_unusable = True
    if is_unusable:
        raise OSError(errno.EINVAL, "it is no name that a file can have", repr(str(path)))
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def refuse_irregular(path: Path, folder: int) -> None:
    """Raise OSError where the name in the opened folder is there and is not a regular file."""
    try:
        mode = os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "a directory" if stat.S_ISDIR(mode) else "a device or a pipe"
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


def write_part(name: str, folder: int, content: Content, readers: Readers) -> None:
    """Write a new file and wait until it is on the disk."""
    chunks = (content,) if isinstance(content, (str, bytes)) else content
    with os.fdopen(os.open(name, CREATE, MODES[readers], dir_fd=folder), "wb") as file:
        if readers == "all":
            os.fchmod(file.fileno(), MODES[readers])
        for chunk in chunks:
            file.write(chunk.encode("utf-8", "backslashreplace") if isinstance(chunk, str) else chunk)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: int) -> None:
    """Wait until a rename is on the disk, where the file system can say so."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise


def refuse_shared(path: Path, descriptor: int) -> os.stat_result:
    """Return the status of an opened file. Raise OSError where it is not a regular file, or has another name: what is
    added to it would be added to a file of somebody else."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    if status.st_nlink > 1:
        raise OSError(errno.EMLINK, "it has another name, by a hard link", str(path))
    return status


def append_line(path: Path, line: str) -> None:
    """Add a line behind what a regular file has, or create the file for its owner alone.

    Raise OSError where the name is a link, a hard link or anything else that is not a regular file, and for what is not
    one line."""
    if not line.endswith("\n") or len(line.splitlines()) != 1:
        raise OSError(errno.EINVAL, "it is not one line", str(path))
    with open_parent(path) as folder:
        refuse_irregular(path, folder)
        descriptor = os.open(path.name, LINES, MODES["owner"], dir_fd=folder)
    try:
        status = refuse_shared(path, descriptor)
        ends_with_newline = not status.st_size or os.pread(descriptor, 1, status.st_size - 1) == b"\n"
        os.write(descriptor, ("" if ends_with_newline else "\n").encode() + line.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_log(path: Path) -> int:
    """Return the descriptor of a private file that grows, for `os.write`.

    Raise OSError where the name is a link, a hard link or anything else that is not a regular file."""
    with open_parent(path) as folder:
        refuse_irregular(path, folder)
        descriptor = os.open(path.name, APPEND, MODES["owner"], dir_fd=folder)
    try:
        refuse_shared(path, descriptor)
        os.fchmod(descriptor, MODES["owner"])
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_null() -> TextIO:
    """Open a text stream that drops what is written to it."""
    return Path(os.devnull).open("w")
