"""Catalogues without one fault, and recordings of which host2 has a harmless fact more."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor import catalogue, diagnose
from gpustack.doctor.check import Check
from gpustack.doctor.checks import CHECKS
from gpustack.doctor.entry import ARROW, GUARD
from gpustack.doctor.graph import Graph, join_layers


def add_docker(answer: Answer) -> Answer:
    err = answer.stderr.replace("dpkg-query: no packages found matching docker.io\n", "")
    return replace(answer, stdout=f"{answer.stdout}docker.io install installed 26.1.5+dfsg1-9\n", stderr=err)


def add_swap(answer: Answer) -> Answer:
    return replace(
        answer, stdout=answer.stdout.replace("Priority\n", "Priority\n/dev/sda3\tpartition\t4194300\t0\t-2\n", 1)
    )


def add_io_error(answer: Answer) -> Answer:
    line = "| I/O error, dev sda, sector 81920 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2"
    return replace(answer, stdout=f"{answer.stdout.rstrip()}\n{line}\n")


HARMLESS_FACTS = {
    "host-docker-preinstalled": ("packages.installed", add_docker),
    "host-swap-on": ("kernel.swap", add_swap),
    "host-root-readonly-or-io-errors": ("storage.disk", add_io_error),
}


"""Each harmless fact has the id of the fault that the doctor calls it, its probe, and the change of the answer."""


def remove_fault(fault: str) -> tuple[Graph, list[Check]]:
    """Return the graph and the checks without a fault, its guard and its edges."""

    def is_left(id: str) -> bool:
        return fault not in id.removesuffix(GUARD).split(ARROW)

    files = []
    for layer in catalogue.load_layers():
        groups = [replace(group, faults=tuple(id for id in group.faults if id != fault)) for group in layer.groups]
        files.append(
            replace(
                layer,
                faults=tuple(fault_of_layer for fault_of_layer in layer.faults if fault_of_layer.id != fault),
                edges=tuple(edge for edge in layer.edges if fault not in (edge.cause, edge.effect)),
                groups=tuple(group for group in groups if len(group.faults) > 1),
            )
        )
    return join_layers(files), [check for check in CHECKS if is_left(check.id)]


@contextmanager
def forget_fault(fault: str) -> Iterator[None]:
    """Let the doctor judge by a catalogue without a fault."""
    graph, checks = remove_fault(fault)
    with patch.object(diagnose, "load_graph", lambda: graph), patch.object(diagnose, "CHECKS", checks):
        yield


def add_harmless_fact(snapshot: Snapshot, fault: str) -> Snapshot:
    """Return a recording in which a harmless fact is true of host2."""
    probe, change = HARMLESS_FACTS[fault]
    key = probe, "host2"
    if key not in snapshot.answers:
        return snapshot
    return replace(snapshot, answers={**snapshot.answers, key: change(snapshot.answers[key])})
