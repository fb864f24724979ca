"""Which patches of containerd's line the repository offers to a host that has none yet."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.host.egress import WAY
from gpustack.probes.packages.software import upstream

# Debian's version (deb-version(7)), and a status of HTTP, 000 without one.
LINE = re.compile(r"([0-9][A-Za-z0-9.+~:-]*) ([0-9]{3})")


@dataclass(frozen=True)
class Offer:
    """`version` is the upstream part. `there`: its file is not known to be missing."""

    version: str
    there: bool


def offers(answer: Answer) -> tuple[Offer, ...]:
    """The newest first, up to the first whose file is there; none where containerd.io is installed, or is not to be of
    a line. Raises ValueError for an answer of another shape."""
    found = [(line, LINE.fullmatch(line)) for line in answer.out.splitlines()]
    if odd := [line for line, match in found if not match]:
        raise ValueError(odd[0])
    return tuple(Offer(upstream(match[1]), match[2] != "404") for _, match in found if match)


# Docker's index has named files that were not there (docker/for-linux issue 1557: 2.2.1-1 of January 2026), so the file
# is asked for too. Through the proxy of the spec, as apt goes; a mirror with a login is left to apt.
OFFERED = Probe(
    "containerd.candidates",
    Lines(WAY + read_script(__file__, "candidates.sh")),
    offers,
    limit=12,
    like="apt-cache madison containerd.io",
)
