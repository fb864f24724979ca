"""Read files that others may have written: regular files of a limited size.

A link is followed, because the operator's own files may be links. A device or a pipe behind it is refused before it is
opened: some never end, some wait, and opening some does something.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

LARGEST = 16 * 2**20
"""Bytes of a file that is read whole."""
LIMITS = (errno.EINVAL, errno.EFBIG)
"""The errors of a file that is not read because of what it is."""
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_file(path: Path, max_bytes: int = LARGEST) -> BinaryIO:
    """Open a regular file of at most `max_bytes`. Raise OSError."""
    try:
        status = os.stat(path)  # noqa: PTH116 - one call for all that is asked
    except ValueError as error:  # a NUL, or half of a surrogate pair
        raise OSError(errno.EINVAL, "it is no name that a file can have", repr(str(path))) from error
    refuse_file(path, status, max_bytes)
    descriptor = os.open(path, FLAGS)
    try:
        refuse_file(path, os.fstat(descriptor), max_bytes)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def refuse_file(path: Path, status: os.stat_result, max_bytes: int) -> None:
    """Raise OSError for what is not a regular file, or is larger than `max_bytes`."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a regular file", str(path))
    if status.st_size > max_bytes:
        raise build_size_error(path, max_bytes)


def build_size_error(path: Path, max_bytes: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {max_bytes} bytes", str(path))


def read_file(path: Path, max_bytes: int = LARGEST) -> bytes:
    """Return the content of a regular file of at most `max_bytes`. Raise OSError.

    A file that grows meanwhile, and one of /proc, which has no size, are no larger either.
    """
    with open_file(path, max_bytes) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise build_size_error(path, max_bytes)
    return content


def read_text(path: Path, max_bytes: int = LARGEST) -> str:
    """Return the text of a regular file. Raise OSError, and UnicodeDecodeError for what is not UTF-8."""
    return read_file(path, max_bytes).decode().replace("\r\n", "\n")
