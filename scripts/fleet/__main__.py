"""Writes a recording of a large cluster: `python -m scripts.fleet FILE [HOSTS]`."""

import sys
from pathlib import Path

from gpustack.ask import recording
from scripts.fleet.made import HOSTS, fleet

if __name__ == "__main__":
    path, *more = sys.argv[1:]
    recording.write(fleet(int(more[0]) if more else HOSTS), Path(path), redacted=False)
