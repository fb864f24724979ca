"""The MTUs of a host: of the link by which it reaches others, and of the links of its pods."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.parsing import parse_integer


@dataclass(frozen=True)
class Mtus:
    """Hold the `link` with the default route, its MTU (`outer`), and the MTUs of the links of pods by their name."""

    link: str
    outer: int
    pods: Mapping[str, int]


def parse_mtus(answer: Answer) -> Mtus:
    """Parse lines `LINK MTU`, that of the default route first. Raise ValueError where the answer has another shape."""
    (link, outer), *pod_links = (line.split(" ") for line in answer.stdout.splitlines())
    return Mtus(link, parse_integer(outer), {name: parse_integer(mtu) for name, mtu in pod_links})


MTUS = Probe(
    "network.mtus",
    Lines(read_script(__file__, "mtus.sh")),
    parse_mtus,
    manual_command="ip -o link show",
)
