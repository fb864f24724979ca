"""What the catalogue is made of: faults that can be wrong, states that several of them share, and the edges between.

The texts are for people and stand in gpustack/doctor/catalogue/; ids are never spelled otherwise anywhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Scope = Literal["host", "cluster"]
Role = Literal["fault", "conditional", "pointer", "info"]
Auto = Literal["safe", "ask", "no"]
Fidelity = Literal["real", "sim", "fixture"]
ARROW = " -> "


@dataclass(frozen=True)
class Question:
    """A command that somebody can type, and what its answer proves."""

    run: str
    proves: str


@dataclass(frozen=True)
class Fix:
    """A sentence, and lines of the shell. Words in capitals are to be filled in."""

    do: str
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unit:
    """A systemd unit."""

    name: str
    state: Literal["started", "restarted"]
    enabled: bool = False


@dataclass(frozen=True)
class Rollout:
    """A workload whose pods are made anew."""

    namespace: str
    kind: Literal["daemonset", "deployment", "statefulset"]
    name: str


@dataclass(frozen=True)
class DropIn:
    """A file of ours. Then the unit `reload` is reloaded, or the DaemonSet `restart` (namespace/name) restarts. What it
    is about may be another unit's matter on some hosts: `otherwise` is the file for that one."""

    path: str
    lines: tuple[str, ...]
    reload: str = ""
    restart: str = ""
    otherwise: "DropIn | None" = None


@dataclass(frozen=True)
class Apt:
    """`finish`: what dpkg was broken off in is ended first."""

    install: tuple[str, ...] = ()
    reinstall: tuple[str, ...] = ()
    finish: bool = False


@dataclass(frozen=True)
class Remedy:
    """What a machine can do about it: a step, or one of five playbooks with its parameters. Exactly one is set."""

    step: str = ""
    unit: Unit | None = None
    rollout: Rollout | None = None
    sysctl: Mapping[str, str] = field(default_factory=dict)
    drop_in: DropIn | None = None
    apt: Apt | None = None

    @property
    def kind(self) -> str:
        """Raises ValueError unless exactly one is set."""
        (name,) = (name for name, value in vars(self).items() if value)
        return str(name)


@dataclass(frozen=True)
class Fault:
    """Something that can be wrong. `fault` may be a root; `conditional` only while its guard holds, else it is a
    symptom; `pointer` is what people see and never a root; `info` is true and harmless.

    `checked_by` is the check of a step (step/check) that finds it, so that it needs no second one. `why` says why
    `auto` is what it is. `alias_of` is the state that a pointer is only another name of."""

    id: str
    layer: str
    scope: Scope
    role: Role
    title: str
    cause: str
    symptoms: tuple[str, ...]
    evidence: tuple[Question, ...]
    fix: Fix
    auto: Auto
    why: str
    lab: str
    fidelity: Fidelity
    sources: tuple[str, ...]
    guard: str = ""
    alias_of: str = ""
    remedy: Remedy | None = None
    checked_by: str = ""


@dataclass(frozen=True)
class State:
    """A condition that several faults share. Never a root. `ask` is the command that shows it."""

    id: str
    layer: str
    scope: Scope
    title: str
    means: str
    ask: str


@dataclass(frozen=True)
class Edge:
    """`condition` says in words when it holds, and is empty where it always does. `pairs` names who tells which hosts
    it joins; without it, it stays on its host."""

    cause: str
    effect: str
    condition: str = ""
    pairs: str = ""

    @property
    def id(self) -> str:
        return f"{self.cause}{ARROW}{self.effect}"


@dataclass(frozen=True)
class Group:
    """Faults that come from one act: reported once and fixed together."""

    faults: tuple[str, ...]
    common: str


@dataclass(frozen=True)
class Layer:
    """One file of the catalogue. `odd` are its conditions and pairs that belong to no edge of it."""

    name: str
    faults: tuple[Fault, ...]
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    groups: tuple[Group, ...]
    odd: tuple[str, ...] = ()
