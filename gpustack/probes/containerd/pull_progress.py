"""Progress of containerd's pulls: it reports no pull until that is over, but its files grow.

ingest/ has blobs that arrive, blobs/ complete ones, and each unpacked layer and each container begun has a snapshot
(https://github.com/containerd/containerd/blob/main/docs/content-flow.md).
"""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import parse_integer


@dataclass(frozen=True)
class PullProgress:
    """Hold the `bytes` of images, complete or still arriving, and the `snapshots` of layers and containers."""

    bytes: int
    snapshots: int


def parse_pull_progress(answer: Answer) -> PullProgress:
    size, snapshots = answer.stdout.split()
    return PullProgress(parse_integer(size), parse_integer(snapshots))


PULL_PROGRESS = Probe(
    "containerd.pulled",
    Lines(r"""cd /var/lib/containerd || exit
find io.containerd.content.v1.content -maxdepth 3 -type f -printf '%s\n' |
  awk '{ all += $1 } END { printf "%.0f\n", all }'
set -- io.containerd.snapshotter.v1.*/snapshots/*
[ -e "$1" ] || shift
echo $#"""),
    parse_pull_progress,
    manual_command="du -sb /var/lib/containerd/io.containerd.content.v1.content",
)
