"""The gate of a node: a taint with which it joins, or comes back from a reboot or reset, until its GPUs are proven.

The value of the taint says why: empty or `reboot`, `reset` after a reset of GPUs, whose way back begins with the
diagnostic, and `diagnosed` once that has passed. `timeAdded` is when gpustack set it; kubeadm sets none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from gpustack.probes.kubernetes.taints import GATE_TAINT
from gpustack.probes.parsing import parse_optional_time

Cause = Literal["reboot", "reset", "diagnosed"]
REBOOT: Cause = "reboot"
RESET: Cause = "reset"
PASSED_DIAGNOSTIC: Cause = "diagnosed"
Taint = Mapping[str, Any]


@dataclass(frozen=True)
class Gate:
    """Describe the gate of a node. `closed_at` is None where the taint has no readable time."""

    cause: str
    closed_at: datetime | None

    @property
    def needs_diagnostic(self) -> bool:
        return self.cause == RESET


def find_gate(taints: Iterable[Taint]) -> Gate | None:
    for taint in taints:
        if is_gate(taint):
            return Gate(str(taint.get("value", "")), parse_optional_time(taint.get("timeAdded")))
    return None


def is_gate(taint: Taint) -> bool:
    return bool(taint["key"] == GATE_TAINT and taint["effect"] == "NoSchedule")


def remove_gate(taints: Iterable[Taint]) -> list[Taint]:
    return [taint for taint in taints if not is_gate(taint)]


def add_gate(taints: Iterable[Taint], cause: Cause, moment: datetime) -> list[Taint]:
    """Add the gate to taints. One that is there keeps its time, and asks for the diagnostic as before unless that has
    passed."""
    other_taints, gate = remove_gate(taints := list(taints)), find_gate(taints)
    kept_cause = RESET if gate and gate.needs_diagnostic and cause != PASSED_DIAGNOSTIC else cause
    closed_at = gate.closed_at if gate and gate.closed_at else moment
    time = closed_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return [*other_taints, {"key": GATE_TAINT, "value": kept_cause, "effect": "NoSchedule", "timeAdded": time}]
