"""Entries of the catalogue: faults, states that several faults share, and the edges between them.

Their texts are written for people and are in gpustack/doctor/catalogue/. Code spells an id exactly as the catalogue.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpustack.doctor.states.state import Severity

Scope = Literal["host", "cluster"]
Role = Literal["fault", "conditional", "pointer", "info"]
Remediation = Literal["automatic", "needs-confirmation", "manual"]
Fidelity = Literal["real", "sim", "fixture"]
ARROW = " -> "
GUARD = " guard"


@dataclass(frozen=True)
class Question:
    """Describe a command that a person can type, and what its answer proves."""

    run: str
    proves: str


@dataclass(frozen=True)
class Fix:
    """Describe a fix by a sentence and lines of the shell. A person fills in the words in capitals."""

    do: str
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unit:
    """Name a systemd unit that a remedy starts or restarts."""

    name: str
    state: Literal["started", "restarted"]
    enabled: bool = False


@dataclass(frozen=True)
class Rollout:
    """Name a workload whose pods a remedy replaces."""

    namespace: str
    kind: Literal["daemonset", "deployment", "statefulset"]
    name: str


@dataclass(frozen=True)
class DropIn:
    """Describe a file of gpustack that a remedy writes. Then the unit `reload` is reloaded, or the DaemonSet `restart`
    (namespace/name) restarts. On hosts where another unit owns the subject, `otherwise` is the file for that unit."""

    path: str
    lines: tuple[str, ...]
    reload: str = ""
    restart: str = ""
    otherwise: "DropIn | None" = None


@dataclass(frozen=True)
class Apt:
    """List packages that a remedy installs. With `finish`, an interrupted run of dpkg is completed first."""

    install: tuple[str, ...] = ()
    reinstall: tuple[str, ...] = ()
    finish: bool = False


@dataclass(frozen=True)
class Remedy:
    """Name the one automatic remedy of a fault: a step, or one of five playbooks with its parameters."""

    step: str = ""
    unit: Unit | None = None
    rollout: Rollout | None = None
    sysctl: Mapping[str, str] = field(default_factory=dict)
    drop_in: DropIn | None = None
    apt: Apt | None = None

    @property
    def kind(self) -> str:
        """Return the name of the only field that is set. Raise ValueError for none or several."""
        (name,) = (name for name, value in vars(self).items() if value)
        return str(name)


@dataclass(frozen=True)
class Fault:
    """Describe one thing that can be wrong. The role `fault` may be a root cause; `conditional` may be one only while
    its guard holds, and is a symptom otherwise; `pointer` is a visible symptom and never a root cause; `info` is true
    and harmless. `severity` is that of the fault alone, as long as none of its effects is confirmed.

    `checked_by` names the check of a step (step/check) that finds the fault, so that it needs no check of its own.
    `remediation` is `manual` where there is no remedy, and there alone; `reason` explains it. `alias_of` is the state
    of which a pointer is another name.
    """

    id: str
    layer: str
    scope: Scope
    role: Role
    title: str
    cause: str
    symptoms: tuple[str, ...]
    evidence: tuple[Question, ...]
    fix: Fix
    remediation: Remediation
    reason: str
    fidelity: Fidelity
    sources: tuple[str, ...]
    severity: Severity = "broken"
    guard: str = ""
    alias_of: str = ""
    remedy: Remedy | None = None
    checked_by: str = ""


@dataclass(frozen=True)
class State:
    """Describe a condition that several faults share, and that is never a root cause. `ask` is the command that shows
    it."""

    id: str
    layer: str
    scope: Scope
    title: str
    means: str
    ask: str


@dataclass(frozen=True)
class Edge:
    """Join a cause to its effect. `condition` says in words when the edge holds, and is empty where it always holds.
    `pairs` names the function that lists the joined hosts; an edge without it stays on its host."""

    cause: str
    effect: str
    condition: str = ""
    pairs: str = ""

    @property
    def id(self) -> str:
        return f"{self.cause}{ARROW}{self.effect}"


@dataclass(frozen=True)
class Group:
    """Name faults that come from one act: they are reported once and fixed together."""

    faults: tuple[str, ...]
    common: str


@dataclass(frozen=True)
class Layer:
    """Hold one file of the catalogue. `odd` are its conditions and pairs that belong to none of its edges."""

    name: str
    faults: tuple[Fault, ...]
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    groups: tuple[Group, ...]
    odd: tuple[str, ...] = ()
