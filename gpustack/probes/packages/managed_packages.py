"""Debian packages that gpustack installed, by apt's own history, and the programs that need them.

apt notes each run with its command line; those of gpustack carry an option that says so
(playbooks/files/apt-install.sh). Debian keeps a year of the history: an older package, and one that another program
installed, counts as not managed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.packages.software import MAIN_PACKAGES, PACKAGE
from gpustack.probes.sections import index_sections, split_sections


@dataclass(frozen=True)
class ManagedPackages:
    """Hold the packages of a host.

    `managed_packages` are installed, and nobody installed them again after gpustack; `held_packages` are the managed
    ones on hold; `foreign_packages` are containerd, kubelet and the like that somebody else installed. `needs` has
    pairs (user, package): a package, unit or namespace of containerd that needs a managed package.
    """

    managed_packages: tuple[str, ...]
    held_packages: tuple[str, ...]
    foreign_packages: tuple[str, ...]
    needs: tuple[tuple[str, str], ...]

    def find_needed_packages(self) -> Mapping[str, str]:
        """Find the managed packages that must stay, and who needs them. A package that one of these needs stays as
        well."""
        needed_packages: dict[str, str] = {}
        while True:
            removable_packages = set(self.managed_packages) - set(needed_packages)
            new_packages = {
                package: dependent
                for dependent, package in reversed(self.needs)
                if package in removable_packages and dependent not in removable_packages
            }
            if not new_packages:
                return needed_packages
            needed_packages |= new_packages


def parse_managed_packages(answer: Answer) -> ManagedPackages:
    """Parse the packages. Raise ValueError or KeyError where the answer has another shape."""
    parts = index_sections(split_sections(answer.stdout))
    history = {name for name in parts["history"] if name}
    if unknown_names := [name for name in history if not PACKAGE.fullmatch(name)]:
        raise ValueError(unknown_names)
    states = [line.split(" ") for line in parts["states"]]
    installed_states = {name: want for name, want, status in states if status == "installed"}
    managed_packages = tuple(sorted(history & set(installed_states)))
    needs = sorted(
        {
            (dependent, package)
            for dependent, package in (line.split(" ") for line in parts["needs"])
            if dependent != package
        }
    )
    return ManagedPackages(
        managed_packages,
        tuple(name for name in managed_packages if installed_states[name] == "hold"),
        tuple(name for name in MAIN_PACKAGES if name in installed_states and name not in history),
        tuple(needs),
    )


MANAGED_PACKAGES = Probe(
    "owned.packages",
    Lines(read_script(__file__, "owned.sh").replace("MAIN", " ".join(MAIN_PACKAGES))),
    parse_managed_packages,
    limit=10,
)
