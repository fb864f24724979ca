"""Writes a recording of a large cluster: `python -m scripts.fleet FILE [HOSTS]`."""

import argparse
from pathlib import Path

from gpustack.ask import recording
from scripts.fleet.made import HOSTS, fleet

if __name__ == "__main__":
    asked = argparse.ArgumentParser(prog="python -m scripts.fleet", description=__doc__)
    asked.add_argument("file", type=Path, metavar="FILE")
    asked.add_argument("hosts", type=int, nargs="?", default=HOSTS, metavar="HOSTS")
    told = asked.parse_args()
    recording.write(fleet(told.hosts), told.file, redacted=False)
