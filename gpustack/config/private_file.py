"""Files of ours on this machine that are for their owner alone."""

import os
import stat
from pathlib import Path
from typing import TextIO


def private_file(path: Path) -> TextIO:
    """An empty file to write to, mode 0600 also where it was there before. Raises OSError, also where the name is a
    link: who put it there would choose the file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):  # a device keeps its mode
        os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "w")
