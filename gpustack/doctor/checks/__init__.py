"""Checks of the doctor, by layer: CHECKS has all but the checks of steps. PAIRS lists the hosts that an edge between
different hosts joins (graph_pairs of the catalogue)."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pkgutil import walk_packages

from gpustack.ask.view import View
from gpustack.doctor.check import Blocks, Check
from gpustack.doctor.checks.pairs import pair_all_hosts, pair_planes_with_hosts


def load_checks() -> Iterator[Check]:
    """Load the checks of all modules of this package, each module's in the order of their definition."""
    for entry in walk_packages(__path__, f"{__name__}."):
        for value in vars(import_module(entry.name)).values():
            if isinstance(value, Check) and value.function.__module__ == entry.name:
                yield value


CHECKS: tuple[Check, ...] = tuple(load_checks())
BY_ID: Mapping[str, Check] = {check.id: check for check in CHECKS}
PAIRS: Mapping[str, Callable[[View], Blocks]] = {"plane-to-hosts": pair_planes_with_hosts, "every-host": pair_all_hosts}
