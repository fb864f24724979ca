"""Packets that the kernel drops since the way back to their sender is by another link (ip-sysctl, rp_filter)."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.parsing import parse_integer


@dataclass(frozen=True)
class ReversePaths:
    """Hold how many packets were dropped since the boot, None where the kernel does not count them, and the links that
    drop them."""

    drops: int | None
    strict_links: tuple[str, ...]


def parse_reverse_paths(answer: Answer) -> ReversePaths:
    """Parse lines `drops NUMBER` and `strict LINK`. Raise ValueError where the answer has another shape."""
    drops: int | None = None
    links: list[str] = []
    for line in answer.stdout.splitlines():
        word, value = line.split(" ")
        if word == "drops":
            drops = parse_integer(value)
        elif word == "strict":
            links.append(value)
        else:
            raise ValueError(line[:80])
    return ReversePaths(drops, tuple(links))


REVERSE_PATHS = Probe(
    "network.reverse-paths",
    Lines(read_script(__file__, "reverse_paths.sh")),
    parse_reverse_paths,
    manual_command="nstat -az TcpExtIPReversePathFilter; sysctl -ar 'net.ipv4.conf.*.rp_filter'",
)
