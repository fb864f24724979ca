"""Adapters of a host with GPUs that can do RDMA: InfiniBand, or Ethernet with RoCE."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.gpu.packages import NO_GPU, ONLY_WITH_GPU

LINE = re.compile(r"(\S{1,63}) (InfiniBand|Ethernet)")
"""An adapter, whose name the kernel takes from udev (IB_DEVICE_NAME_MAX of include/rdma/ib_verbs.h), and its layer."""


@dataclass(frozen=True)
class RdmaAdapters:
    """Name the adapters: `infiniband` and `roce` by the link layer of their first port."""

    infiniband: tuple[str, ...] = ()
    roce: tuple[str, ...] = ()


def parse_rdma_adapters(answer: Answer) -> RdmaAdapters:
    """Parse lines of an adapter and its link layer. Raise ValueError for another line."""
    if answer.stdout == f"{NO_GPU}\n":
        return RdmaAdapters()
    matches = [(line, LINE.fullmatch(line)) for line in answer.stdout.splitlines()]
    if unknown_lines := [line for line, match in matches if match is None]:
        raise ValueError(unknown_lines[0][:80])
    layers = {match[1]: match[2] for _, match in matches if match}
    infiniband = tuple(name for name, layer in layers.items() if layer == "InfiniBand")
    return RdmaAdapters(infiniband, tuple(name for name in layers if name not in infiniband))


# Without a driver the bus still shows InfiniBand, class 0207; Ethernet with RoCE is then not told from any other.
RDMA_ADAPTERS = Probe(
    "network.rdma-adapters",
    Lines(
        ONLY_WITH_GPU
        + """has_output=
for file in /sys/class/infiniband/*/ports/1/link_layer; do
  read -r layer 2>/dev/null <"$file" || continue
  name=${file#/sys/class/infiniband/}
  echo "${name%%/*} $layer"
  has_output=some
done
[ -z "$has_output" ] || exit 0
for file in /sys/bus/pci/devices/*/class; do
  read -r class 2>/dev/null <"$file" || continue
  name=${file%/class}
  case $class in 0x0207*) echo "${name##*/} InfiniBand" ;; esac
done
exit 0
"""
    ),
    parse_rdma_adapters,
    manual_command="rdma link; lspci -d ::0207",
)
