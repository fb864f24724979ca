"""The result of `capacity report`: the past, and what is so now."""

from dataclasses import dataclass

from gpustack.capacity.usage import Row, Usage


@dataclass(frozen=True)
class Waiting:
    """A pod without a node: since when, in seconds since 1970, None where that is not known; and whether the scheduler
    looked for a node and found none."""

    namespace: str
    pod: str
    resource: str
    units: float
    since: float | None
    unschedulable: bool


@dataclass(frozen=True)
class Free:
    """Units of a node that no pod has, and sentences about why none takes them. `usable` is False where no pod that
    waits could, or none could at all."""

    node: str
    resource: str
    units: float
    usable: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class IdlePod:
    """A pod that has GPUs and does nothing with them: whose it is (`owner` is its controller, as Job/train), and since
    when, in seconds since 1970. `at_least`: longer, as that is where the search began."""

    namespace: str
    pod: str
    team: str
    owner: str
    nodes: tuple[str, ...]
    gpus: int
    since: float
    at_least: bool


@dataclass(frozen=True)
class Now:
    """At `at`, in seconds since 1970. Pods by how long they wait or are idle, the longest first."""

    at: float
    waiting: tuple[Waiting, ...]
    free: tuple[Free, ...]
    idle: tuple[IdlePod, ...]


@dataclass(frozen=True)
class Capacity:
    """`rows` are `usage` by the dimensions `by`."""

    usage: Usage
    by: tuple[str, ...]
    rows: tuple[Row, ...]
    now: Now
