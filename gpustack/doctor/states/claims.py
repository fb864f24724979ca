"""Claims that get no volume, in the words of the controller: the scheduler only says that a pod has unbound claims."""

from collections.abc import Iterator
from datetime import datetime

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.doctor.states.warning_events import EARLIEST_TIME, RECENT_TIME
from gpustack.probes.kubernetes.unbound_claims import UNBOUND_CLAIMS
from gpustack.probes.kubernetes.warning_events import CLAIM_WARNINGS, WarningEvent
from gpustack.steps.platform_namespaces import list_platform_namespaces


def observe_claims(view: View) -> Iterator[AbnormalState]:
    """List claims that lost their volume, and those about which a program warns. One that waits for its first pod, or
    for a volume that is being made, has no warning."""
    events = view[CLAIM_WARNINGS]
    warnings = {event.subject: event for event in sorted(events, key=find_time)}
    for claim in view[UNBOUND_CLAIMS]:
        warning = warnings.get(f"persistentvolumeclaim {claim}")
        is_recent = bool(warning and warning.last_at and abs(view.started_at - warning.last_at) < RECENT_TIME)
        if claim.lost or is_recent:
            words = f"{warning.reason}: {warning.message}" if warning else f"its volume {claim.volume} is gone"
            severity: Severity = "risk" if claim.namespace in list_platform_namespaces(view) else "note"
            command = Command("kubectl", "-n", claim.namespace, "describe", "pvc", claim.name)
            subject = f"persistentvolumeclaim {claim}"
            yield AbnormalState(
                "claim-unbound", severity, (CLUSTER,), (subject,), words, command, claim.created_at,
                warning.count if warning else 0,
            )  # fmt: skip


def find_time(event: WarningEvent) -> datetime:
    return event.last_at or EARLIEST_TIME


OBSERVERS = (Observer("claims", "Claims without a volume", observe_claims, (UNBOUND_CLAIMS, CLAIM_WARNINGS)),)
