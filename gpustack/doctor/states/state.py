"""Abnormal states of objects: what is not as it should be, whatever its cause. They need no entry in the catalogue.

A state is read from a field of the API, the state of a unit or an exit code, and never recognized by the words of a
message. The message is what the program said, whole.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from gpustack.ask.judge import Judgement, Outcome, describe_error
from gpustack.ask.probe import CLUSTER, UNREADABLE, Evidence, FactUnavailable, Probe, Scope
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Hint, name_inventory
from gpustack.config.spec import Spec
from gpustack.doctor.recent_change import RecentChange
from gpustack.probes.kubernetes.container_logs import ContainerLog

Severity = Literal["broken", "risk", "note"]
"""A state is `broken` where something does not work, a `risk` where nothing suffers from it yet, and else a `note`."""
SEVERITIES: tuple[Severity, ...] = ("broken", "risk", "note")
Kind = Literal[
    "access-denied",
    "access-refused",
    "alerts-firing",
    "alerts-silenced",
    "answer-refused",
    "api-unavailable",
    "boot-unproven",
    "budget-never-allows",
    "certificate-pending",
    "claim-unbound",
    "container-killed",
    "container-log",
    "container-not-running",
    "container-not-ready",
    "container-not-started",
    "container-restarts",
    "dashboard-without-series",
    "device-unhealthy",
    "disk-unusable",
    "errors-logged",
    "etcd-slow",
    "etcd-unhealthy",
    "failures-counted",
    "file-invalid",
    "gpu-compute-mode",
    "gpu-memory",
    "gpu-recovery-action",
    "gpu-tool-failed",
    "gpu-xid",
    "gpus-differ",
    "gpus-fewer",
    "gpus-missing",
    "gpus-withheld",
    "hosts-differ",
    "job-failed",
    "kernel-error",
    "kernel-limit",
    "kernel-modules-missing",
    "latent-difference",
    "lease-not-renewed",
    "monitor-without-service",
    "name-not-resolved",
    "namespace-ending",
    "node-condition",
    "node-label",
    "node-left-cordoned",
    "node-not-ready",
    "node-taint",
    "node-uncovered",
    "node-unlisted",
    "node-unproven",
    "node-without-range",
    "object-edited",
    "object-rejected",
    "object-unreconciled",
    "operators-overlap",
    "package-unfinished",
    "packages-locked",
    "packets-dropped",
    "pod-failed",
    "pod-not-ended",
    "pod-preempted",
    "pod-unscheduled",
    "pods-missing",
    "pods-refused",
    "policy-condition",
    "program-killed",
    "right-missing",
    "role-unbound",
    "route-diverted",
    "rule-failing",
    "sandbox-not-created",
    "service-without-address",
    "service-without-pods",
    "settings-contradict",
    "source-unreachable",
    "source-untrusted",
    "static-pod-stopped",
    "unit-failed",
    "unit-limit",
    "unit-stopped",
    "warning",
    "webhook-unanswered",
    "workload-stalled",
]

EVENT_KINDS: tuple[Kind, ...] = ("container-not-ready", "container-not-started", "container-restarts", "pod-not-ended")
"""Kinds of states of which the fields of the API do not say why, while an event about the object does."""
MAX_WARNINGS = 2
"""The newest warnings about an object that its state has, each with another reason or message."""


@dataclass(frozen=True)
class AbnormalState:
    """Hold the state of one or more objects (`subjects`, such as `pod kube-system/kube-proxy-x, container kube-proxy`)
    at `locations`, hosts or @cluster.

    `message` is the sentence of the program that reports the state. `onset` is when it began, None where nothing says
    so, and `changes` are those on its hosts before. `count` is how often it happened, 0 where that is not counted.
    `next_command` shows more of the first object. `log` is that of its container, None where it has none or where
    `message` has its words; `last_lines` are those of this log, empty where nobody asked for it, or the errors of a
    unit's builds. `members` are objects on which it rests: where one of them has another state that is as grave, that
    says more. `topic` is by what states are merged whose messages differ, empty where only equal messages are.
    `symptom` is the entry of the catalogue about the same, empty without one: where a certain root cause explains it,
    the state is left out.
    """

    kind: Kind
    severity: Severity
    locations: tuple[str, ...]
    subjects: tuple[str, ...]
    message: str
    next_command: Hint
    onset: datetime | None = None
    count: int = 0
    evidence: tuple[Evidence, ...] = ()
    changes: tuple[RecentChange, ...] = ()
    log: ContainerLog | None = None
    last_lines: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    topic: str = ""
    symptom: str = ""
    yields: bool = False

    @property
    def rank(self) -> int:
        """The rank of the severity, 0 for the gravest."""
        return SEVERITIES.index(self.severity)


@dataclass(frozen=True)
class Observer:
    """Hold a function that finds abnormal states, with the probes that it reads. `id` and `title` are its names where
    it could not find any, because an answer is unknown."""

    id: str
    title: str
    function: Callable[[View], Iterable[AbnormalState]]
    probes: tuple[Probe[Any], ...]
    scope: Scope = "cluster"
    is_needed: Callable[[Spec], bool] = lambda _: True
    yields: bool = False


def observe(observer: Observer, snapshot: Snapshot, location: str) -> tuple[tuple[AbnormalState, ...], Judgement]:
    """Let an observer look at one location. Each one looks alone: where an answer that it reads is unavailable or has
    another shape, its judgement is unknown, with the reason, and it finds no state."""
    view = View(snapshot, location)
    try:
        states = tuple(observer.function(view))
    except (FactUnavailable, *UNREADABLE) as error:
        return (), Judgement(observer.id, location, "unknown", None, describe_error(error), view.evidence)
    outcome: Outcome = "failed" if states else "ok"
    judgement = Judgement(observer.id, location, outcome, None, "", view.evidence)
    return tuple(complete_state(state, observer, view) for state in states), judgement


def complete_state(state: AbnormalState, observer: Observer, view: View) -> AbnormalState:
    """Return the state with the evidence of the view, and with the inventory in its next command."""
    command = name_inventory(state.next_command, view.snapshot.inventory.name)
    return replace(state, evidence=view.evidence, yields=observer.yields, next_command=command)


def observe_all(
    observers: Iterable[Observer], snapshot: Snapshot
) -> tuple[tuple[AbnormalState, ...], tuple[Judgement, ...]]:
    """Let all observers look at their locations. Return the states, equal ones as one, and the unknown judgements."""
    all_states: list[AbnormalState] = []
    unknown_judgements: list[Judgement] = []
    for observer in observers:
        for location in list_locations(observer, snapshot):
            states, judgement = observe(observer, snapshot, location)
            all_states += states
            unknown_judgements += [judgement] if judgement.outcome == "unknown" else []
    return merge_states(select_exact_states(list(add_event_words(all_states)))), tuple(unknown_judgements)


def add_event_words(states: Collection[AbnormalState]) -> Iterator[AbnormalState]:
    """Yield the states, those of EVENT_KINDS with the warnings about their object, which alone say why: an event about
    an object with a state of its own is not reported beside it."""
    states_by_object: dict[str, list[AbnormalState]] = {}
    for state in states:
        states_by_object.setdefault(find_object(state.subjects[0]), []).append(state)
    for state in states:
        own_states = states_by_object[find_object(state.subjects[0])] if state.kind in EVENT_KINDS else []
        state_messages = " ".join(own_state.message for own_state in own_states if own_state.kind != "warning")
        warnings = [
            own_state
            for own_state in own_states
            if own_state.kind == "warning" and find_words(own_state) not in state_messages
        ]
        yield join_warnings(state, warnings[:MAX_WARNINGS]) if warnings else state


def find_words(warning: AbnormalState) -> str:
    """Find the words of an event, behind its reason."""
    return warning.message.partition(": ")[2]


def join_warnings(state: AbnormalState, warnings: Sequence[AbnormalState]) -> AbnormalState:
    message = "; ".join((state.message.removesuffix("."), *(warning.message for warning in warnings)))
    return replace(state, message=message, evidence=(*state.evidence, *warnings[0].evidence), topic=state.message)


def select_exact_states(states: Collection[AbnormalState]) -> Iterator[AbnormalState]:
    """Select the states of which no member has a state of another kind that is as grave."""
    states_by_object: dict[str, list[AbnormalState]] = {}
    for state in states:
        for subject in state.subjects:
            states_by_object.setdefault(find_object(subject), []).append(state)
    for state in states:
        member_states = (member_state for member in state.members for member_state in states_by_object.get(member, ()))
        if not any(
            member_state.kind != state.kind and member_state.rank <= state.rank for member_state in member_states
        ):
            yield state


def list_locations(observer: Observer, snapshot: Snapshot) -> tuple[str, ...]:
    hosts = snapshot.inventory.cluster_hosts if observer.is_needed(snapshot.inventory.spec) else ()
    if observer.scope == "cluster":
        return (CLUSTER,) if hosts else ()
    return tuple(host.name for host in hosts)


def merge_states(states: Iterable[AbnormalState]) -> tuple[AbnormalState, ...]:
    """Merge states of one kind and severity with the same topic or else message, of the same part of their objects, and
    sort the broken ones to the front. A merged state began with the first of them."""
    merged_states: dict[tuple[str, ...], AbnormalState] = {}
    for state in states:
        key = (state.kind, state.severity, state.topic or state.message, find_part(state.subjects[0]))
        merged_states[key] = join_states(merged_states[key], state) if key in merged_states else state
    return tuple(sorted(merged_states.values(), key=lambda state: state.rank))


def find_object(subject: str) -> str:
    """Find the object that a subject names, without a part of it."""
    return subject.partition(", ")[0]


def find_part(subject: str) -> str:
    """Find the part of an object that a subject names behind the object, such as a container."""
    return subject.partition(", ")[2]


def join_states(first: AbnormalState, second: AbnormalState) -> AbnormalState:
    times = [state.onset for state in (first, second) if state.onset]
    return replace(
        first,
        locations=tuple(dict.fromkeys((*first.locations, *second.locations))),
        subjects=tuple(dict.fromkeys((*first.subjects, *second.subjects))),
        onset=min(times, default=None),
        count=max(first.count, second.count),
    )


def select_states(states: Iterable[AbnormalState], severity: Severity) -> Iterator[AbnormalState]:
    return (state for state in states if state.severity == severity)
