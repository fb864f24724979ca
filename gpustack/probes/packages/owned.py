"""Which Debian packages we installed, by apt's own history, and who else needs them.

apt notes each run with its command line; ours carry an option that says so (playbooks/files/apt-install.sh). Debian
keeps a year of it: what is older, and what another program installed, is not known to be ours.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.packages.software import OURS
from gpustack.probes.sections import named, sections

# Debian policy 5.6.7.
NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")


@dataclass(frozen=True)
class PackagesOfOurs:
    """`ours` are there and were last installed by us; `held` of them; `others` are the main ones that are there and not
    known to be ours; `needs` are (who, package): packages, units or namespaces of containerd that need one of ours."""

    ours: tuple[str, ...]
    held: tuple[str, ...]
    others: tuple[str, ...]
    needs: tuple[tuple[str, str], ...]

    def kept(self) -> Mapping[str, str]:
        """Those of ours that must stay, and who needs them. What one of these needs stays as well."""
        found: dict[str, str] = {}
        while True:
            gone = set(self.ours) - set(found)
            more = {what: who for who, what in reversed(self.needs) if what in gone and who not in gone}
            if not more:
                return found
            found |= more


def packages_of_ours(answer: Answer) -> PackagesOfOurs:
    """Raises ValueError or KeyError for an answer of another shape."""
    parts = named(sections(answer.out))
    history = {name for name in parts["history"] if name}
    if odd := [name for name in history if not NAME.fullmatch(name)]:
        raise ValueError(odd)
    states = [line.split(" ") for line in parts["states"]]
    there = {name: want for name, want, status in states if status == "installed"}
    ours = tuple(sorted(history & set(there)))
    needs = sorted({(who, what) for who, what in (line.split(" ") for line in parts["needs"]) if who != what})
    return PackagesOfOurs(
        ours,
        tuple(name for name in ours if there[name] == "hold"),
        tuple(name for name in OURS if name in there and name not in history),
        tuple(needs),
    )


PACKAGES_OF_OURS = Probe(
    "owned.packages",
    Lines(read_script(__file__, "owned.sh").replace("MAIN", " ".join(OURS))),
    packages_of_ours,
    limit=10,
)
