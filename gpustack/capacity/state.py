"""The result of `capacity report`: the past, and the current state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gpustack.capacity.usage import Row, Usage
from gpustack.exit_status import ExitStatus, select_status
from gpustack.vocabulary.basis import Basis


@dataclass(frozen=True)
class WaitingPod:
    """Describe a pod without a node. `waiting_since` is in seconds since 1970, None where it is not known;
    `unschedulable` tells whether the scheduler looked for a node and found none. `gpus_per_unit` is None where nodes
    differ in it, or where it is not known."""

    namespace: str
    pod: str
    resource: str
    units: float
    waiting_since: float | None
    unschedulable: bool
    gpus_per_unit: float | None
    basis: ClassVar[Mapping[str, Basis]] = {"units": "allocated"}


@dataclass(frozen=True)
class FreeUnits:
    """Describe units of a node that no pod has, with sentences about the reasons. `usable` is False where no waiting
    pod could take them, or none could at all. `gpus_per_unit` is None where it is not known."""

    node: str
    resource: str
    units: float
    gpus_per_unit: float | None
    usable: bool
    reasons: tuple[str, ...]
    basis: ClassVar[Mapping[str, Basis]] = {"units": "derived"}


@dataclass(frozen=True)
class IdlePod:
    """Describe a pod that has GPUs and does nothing with them. `owner` is its controller, as Job/train; `idle_since` is
    in seconds since 1970. With `at_least` it is idle for longer, because the search began there."""

    namespace: str
    pod: str
    team: str
    owner: str
    nodes: tuple[str, ...]
    gpus: int
    idle_since: float
    at_least: bool
    basis: ClassVar[Mapping[str, Basis]] = {"gpus": "measured"}


@dataclass(frozen=True)
class CurrentState:
    """Hold the state at `time`, in seconds since 1970. Pods are sorted by how long they wait or are idle, the longest
    first."""

    time: float
    waiting: tuple[WaitingPod, ...]
    free: tuple[FreeUnits, ...]
    idle: tuple[IdlePod, ...]


@dataclass(frozen=True)
class Capacity:
    """Hold the usage with its `rows` by `dimensions`, and the current state."""

    usage: Usage
    dimensions: tuple[str, ...]
    rows: tuple[Row, ...]
    current_state: CurrentState

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(unknown=not self.usage.complete)
