"""Files of ours on this machine that are for their owner alone."""

import errno
import os
from pathlib import Path
from typing import TextIO


def private_file(path: Path) -> TextIO:
    """An empty file to write to, mode 0600 also where it was there before. Raises OSError, also where the name is a
    link: who put it there would choose the file; and where it is no plain file: a pipe would be waited for."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "no plain file", str(path))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "w")
