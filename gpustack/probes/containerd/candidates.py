"""Patches of containerd's line that the repository offers to a host that has none yet."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.host.egress import PROXY_FUNCTION
from gpustack.probes.packages.software import parse_upstream_version

# Debian's version (deb-version(7)), and a status of HTTP, 000 without one.
LINE = re.compile(r"([0-9][A-Za-z0-9.+~:-]*) ([0-9]{3})")


@dataclass(frozen=True)
class Offer:
    """Hold a version that the repository offers. `version` is the upstream part. `available`: its file is not known to
    be missing."""

    version: str
    available: bool


def parse_offers(answer: Answer) -> tuple[Offer, ...]:
    """Parse the offers, the newest first, up to the first one whose file is available.

    There are none where containerd.io is installed, or is not to be of a line. Raise ValueError where the answer has
    another shape.
    """
    line_matches = [(line, LINE.fullmatch(line)) for line in answer.stdout.splitlines()]
    if unknown_lines := [line for line, match in line_matches if not match]:
        raise ValueError(unknown_lines[0])
    return tuple(Offer(parse_upstream_version(match[1]), match[2] != "404") for _, match in line_matches if match)


# Docker's index has named files that were not there (docker/for-linux issue 1557: 2.2.1-1 of January 2026), so the file
# is asked for too. Through the proxy of the spec, as apt goes; a mirror with a login is left to apt.
CONTAINERD_OFFERS = Probe(
    "containerd.candidates",
    Lines(PROXY_FUNCTION + read_script(__file__, "candidates.sh")),
    parse_offers,
    limit=12,
    manual_command="apt-cache madison containerd.io",
)
