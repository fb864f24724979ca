"""How far containerd has come with images: it says nothing of a pull until that is over, but its files grow.

ingest/ has what arrives, blobs/ what is whole, and each unpacked layer and each container begun has a snapshot
(https://github.com/containerd/containerd/blob/main/docs/content-flow.md).
"""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import number


@dataclass(frozen=True)
class Pulled:
    """`bytes` of images, whole or still arriving; `snapshots` of layers and containers."""

    bytes: int
    snapshots: int


def pulled(answer: Answer) -> Pulled:
    size, snapshots = answer.out.split()
    return Pulled(number(size), number(snapshots))


PULLED = Probe(
    "containerd.pulled",
    Lines(r"""cd /var/lib/containerd || exit
find io.containerd.content.v1.content -maxdepth 3 -type f -printf '%s\n' |
  awk '{ all += $1 } END { printf "%.0f\n", all }'
set -- io.containerd.snapshotter.v1.*/snapshots/*
[ -e "$1" ] || shift
echo $#"""),
    pulled,
    like="du -sb /var/lib/containerd/io.containerd.content.v1.content",
)
