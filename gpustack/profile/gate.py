"""Gates, which refuse a change of a quantity, as `tensor<-5%`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gpustack.config.complaint import describe_choice
from gpustack.errors import InputError
from gpustack.exit_status import ExitStatus, select_status
from gpustack.profile.compare import EXCLUDED_QUANTITIES, Comparison
from gpustack.profile.window import QUANTITIES

NAMES = tuple(name for name in QUANTITIES if name not in EXCLUDED_QUANTITIES)
FORM = re.compile(r"\s*([a-z0-9_]+)\s*([<>])\s*([+-]?\d+(?:\.\d+)?)\s*%\s*")
Outcome = Literal["failed", "passed", "unknown"]


@dataclass(frozen=True)
class Gate:
    """Describe a gate that fails where the change of `name` is below (or above) `share`."""

    text: str
    name: str
    fails_below: bool
    share: float


@dataclass(frozen=True)
class GateResult:
    gate: Gate
    outcome: Outcome
    reason: str


def parse_gates(words: Sequence[str]) -> tuple[Gate, ...]:
    """Parse gates. Raise InputError that lists all words that are none."""
    matches = [(word, FORM.fullmatch(word)) for word in words]
    if wrong := [word for word, match in matches if match is None or match[1] not in NAMES]:
        names = [re.split("[<>]", word)[0] for word in wrong]
        name_hint = describe_choice([name for name in names if name not in NAMES], NAMES, "Names")
        reason = f"It is NAME<NUMBER% or NAME>NUMBER%.\n{name_hint}"
        raise InputError("profile-fail-if", f"These expressions cannot be read: {', '.join(wrong)}", reason)
    return tuple(Gate(word, match[1], match[2] == "<", float(match[3]) / 100) for word, match in matches if match)


def evaluate_gate(comparison: Comparison, gate: Gate) -> GateResult:
    """Evaluate a gate. It fails only for a change beyond its noise, and passes only where the noise would not hide
    one."""
    if comparison.outcome in ("insufficient-data", "another-machine"):
        return GateResult(gate, "unknown", comparison.refusals[0])
    change = comparison.find_change(gate.name)
    if change is None or change.share is None:
        return GateResult(gate, "unknown", f"{gate.name} was not measured in both, or was 0 before.")
    if change.share_noise is None:
        return GateResult(gate, "unknown", f"{gate.name} drifts: its noise cannot be told from this time.")
    text = f"{change.share * 100:+,.1f} % ± {change.share_noise * 100:,.1f} %"
    is_beyond = change.share < gate.share if gate.fails_below else change.share > gate.share
    if is_beyond and abs(change.share) > change.share_noise:
        return GateResult(gate, "failed", text)
    extreme = change.share - change.share_noise if gate.fails_below else change.share + change.share_noise
    reaches = extreme < gate.share if gate.fails_below else extreme > gate.share
    is_hidden = is_beyond or (gate.share and change.share_noise > abs(gate.share) and reaches)
    return GateResult(gate, "unknown" if is_hidden else "passed", f"{text}: too noisy to tell" if is_hidden else text)


def select_exit_status(comparison: Comparison, gate_results: Sequence[GateResult]) -> ExitStatus:
    outcomes = {gate_result.outcome for gate_result in gate_results}
    is_compared = comparison.outcome not in ("insufficient-data", "another-machine")
    return select_status(differs="failed" in outcomes, unknown="unknown" in outcomes or not is_compared)
