"""Checksums of vxlan packets: who computes them on this host, and who sent packets with wrong ones."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import parse_integer, parse_ipv4
from gpustack.probes.sections import index_sections, split_sections

COUNT_LINE = re.compile(r" *([0-9]+) ([0-9.]+)")


@dataclass(frozen=True)
class Checksums:
    """Hold the state of checksums.

    `offload`: Flannel's link leaves the outer checksum to kernel and card, as they do by default; None where that is
    unknown. `wrong` counts packets in the kernel's log, by the address that sent them.
    """

    offload: bool | None
    wrong: Mapping[str, int]


def parse_checksums(answer: Answer) -> Checksums:
    parts = index_sections(split_sections(answer.stdout))
    words = " ".join(parts["offload"])
    offload = {"": None, "on": True, "off": False}[words]
    count_matches = [COUNT_LINE.fullmatch(line) for line in parts["log"]]
    if not all(count_matches):
        raise ValueError(parts["log"])
    return Checksums(offload, {parse_ipv4(match[2]): parse_integer(match[1]) for match in count_matches if match})


# net/ipv4/udp.c: "UDP: bad checksum. From ADDRESS:PORT to ADDRESS:PORT ulen N"; of Flannel's port, 8472.
CHECKSUMS = Probe(
    "checksums.vxlan",
    Lines(r"""echo '== offload'
[ ! -e /sys/class/net/flannel.1 ] || ethtool -k flannel.1 2>/dev/null |
  sed -n 's/^[[:space:]]*tx-checksum-ip-generic: \([a-z]*\).*/\1/p'
echo '== log'
log=$(dmesg) || exit
case $log in *'UDP: bad checksum'*) ;; *) exit 0 ;; esac
echo "$log" | sed -n 's/.*UDP: bad checksum\. From \([0-9.]*\):[0-9]* to [0-9.]*:8472 .*/\1/p' |
  sort | uniq -c | sort -rn | head -n 20"""),
    parse_checksums,
    manual_command="ethtool -k flannel.1; dmesg | grep 'bad checksum'",
)
