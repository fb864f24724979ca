"""Probes with what reads their answers: checks of steps, checks of faults and states, observers, and the search for
changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpustack.ask.api import ADMIN
from gpustack.ask.probe import Api, Probe, Scope
from gpustack.ask.script import format_command
from gpustack.doctor.checks import CHECKS
from gpustack.doctor.diagnose import list_probes
from gpustack.doctor.graph import load_graph
from gpustack.doctor.recent_changes import PROBES as CHANGE_PROBES
from gpustack.doctor.states.observers import OBSERVERS, OPTIONAL_OBSERVERS
from gpustack.steps import STEPS


@dataclass(frozen=True)
class ProbeReaders:
    """Describe a probe. `command` shows the same to a person. `fields` are those that are kept of each object of the
    API, none where all are. `steps` have checks that read it, `pages` are the names of the faults and states that rest
    on it, and `observations` are the titles of what else is found by it."""

    id: str
    scope: Scope
    command: str
    fields: tuple[str, ...]
    steps: tuple[str, ...]
    pages: tuple[str, ...]
    observations: tuple[str, ...]


@cache
def list_probe_readers() -> Mapping[str, ProbeReaders]:
    """List the probes whose answers a snapshot has, by id."""
    return {probe.id: describe_probe(probe) for probe in sorted(list_probes(), key=lambda probe: probe.id)}


def describe_probe(probe: Probe[Any]) -> ProbeReaders:
    graph, ids = load_graph(), {word for check in CHECKS if probe in check.probes for word in check.id.split()}
    observers = (*OBSERVERS, *OPTIONAL_OBSERVERS)
    return ProbeReaders(
        probe.id,
        probe.scope,
        probe.manual_command or format_command(probe).replace(f" {ADMIN}", ""),
        probe.question.fields if isinstance(probe.question, Api) else (),
        tuple(step.id for step in STEPS if probe in step.probes),
        tuple(sorted(id for id in ids if id in graph.faults or id in graph.states)),
        (
            *(observer.title for observer in observers if probe in observer.probes),
            *(["Changes before a fault"] if probe in CHANGE_PROBES else []),
        ),
    )
