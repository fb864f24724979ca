"""The shape of `-o json`: the part of the output that scripts may rely on. A field is only ever added within a version.

Times are in seconds, `taken` is ISO 8601. `code` is the exit status, as in docs/exit-codes.md.
"""

from dataclasses import dataclass
from typing import Literal

from gpustack.ask.judge import Cure
from gpustack.ask.judge import Outcome as Judgement
from gpustack.proof.chain import Outcome as Proven
from gpustack.rollout.plan import Played, Standing

PLAN = "gpustack/plan/v1"
VERIFICATION = "gpustack/verification/v1"
OUTCOME = "gpustack/outcome/v1"
PROOF = "gpustack/proof/v1"

ExitCode = Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 70, 130]


@dataclass(frozen=True)
class EvidenceShape:
    """`cut`: the output was longer than is kept here. `lost` is the reason why there is no answer, or empty."""

    location: str
    probe: str
    command: str
    rc: int
    out: str
    err: str
    took: float
    cut: bool
    lost: str


@dataclass(frozen=True)
class CheckShape:
    """`what` to `hint` are null unless it is broken, `reason` unless it is unknown. With -v all have evidence."""

    check: str
    outcome: Judgement
    what: str | None
    expected: str | None
    found: str | None
    cure: Cure | None
    fault: str | None
    hint: str | None
    reason: str | None
    evidence: list[EvidenceShape]


@dataclass(frozen=True)
class StateShape:
    """`location` is a host or @cluster; `after` is the drifted step that it waits for, else null."""

    step: str
    location: str
    outcome: Standing
    after: str | None
    checks: list[CheckShape]


@dataclass(frozen=True)
class HostShape:
    """`reference`, `reason` and `hint` are null when it was reached."""

    name: str
    address: str
    reached: bool
    reference: str | None
    reason: str | None
    hint: str | None


@dataclass(frozen=True)
class ExitShape:
    code: ExitCode
    meaning: str


@dataclass(frozen=True)
class GpusShape:
    """GPUs for Kubernetes, of so many hosts, and what of them Kubernetes can allocate; null where it is unknown.
    `stranded` are commands that delete pods which were refused for want of a healthy GPU and are left as Failed;
    `aside` says which functions of the PCI bus are not counted, and why."""

    expected: int
    hosts: int
    allocatable: int | None
    stranded: list[str]
    aside: list[str]


@dataclass(frozen=True)
class LookShape:
    """Of `plan` and `verify`. `inventory` is null for the local host; `gpus` is null where no host has one; `next` is a
    command or null."""

    schema: str
    exit: ExitShape
    converged: bool
    taken: str
    seconds: float
    probes: int
    inventory: str | None
    hosts: list[HostShape]
    gpus: GpusShape | None
    states: list[StateShape]
    next: str | None


@dataclass(frozen=True)
class LeftShape:
    """A host that did not get to the end, and the step it left at (`reach` when it was never reached)."""

    host: str
    step: str


@dataclass(frozen=True)
class OutcomeShape:
    """Of `install`. `evidence` is a folder, `stopped` why the rollout ended early; null when there is none."""

    schema: str
    exit: ExitShape
    converged: bool
    seconds: float
    played: list[Played]
    left: list[LeftShape]
    stopped: str | None
    evidence: str | None
    verification: LookShape
    next: str | None


@dataclass(frozen=True)
class LinkShape:
    """`link` is kernel, series or dashboard. `reason` is null where it holds; `note` may say more then."""

    link: str
    outcome: Proven
    reason: str | None
    note: str | None


@dataclass(frozen=True)
class GpuShape:
    """What nobody named is null. `index` is the exporter's, `bus` a PCI address."""

    node: str
    index: str | None
    uuid: str | None
    bus: str | None
    model: str | None
    links: list[LinkShape]


@dataclass(frozen=True)
class UnaskedShape:
    host: str
    reason: str


@dataclass(frozen=True)
class ProofShape:
    """Of `prove`. `parts` are seconds by what took them; `swept` pods of an earlier proof were removed first; `left` is
    what could not be removed, `stopped` why it ended early, `evidence` a folder; null when there is none."""

    schema: str
    exit: ExitShape
    proven: bool
    taken: str
    seconds: float
    parts: dict[str, float]
    swept: int
    gpus: list[GpuShape]
    unasked: list[UnaskedShape]
    stopped: str | None
    left: str | None
    evidence: str | None
    next: str | None
