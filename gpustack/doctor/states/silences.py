"""Silences of Alertmanager that hold alerts back: nobody hears of a fault, and no pod shows it."""

from collections.abc import Iterator

from gpustack.ask.judge import format_value
from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.alerts import QUIET_SEVERITIES
from gpustack.doctor.states.scraped_objects import has_monitoring
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.monitoring.silences import SILENCED_ALERTS, SILENCES, Silence


def observe_silences(view: View) -> Iterator[AbnormalState]:
    """List silences that take every alert, and those that hold back one that means something. Maintenance has some."""
    for silence in view[SILENCES]:
        names = sorted(
            {
                alert.name
                for alert in view[SILENCED_ALERTS]
                if silence.id in alert.silences and alert.severity not in QUIET_SEVERITIES
            }
        )
        if names or silence.takes_all:
            severity: Severity = "risk" if silence.takes_all else "note"
            namespace, release = view.spec.monitoring.namespace, view.spec.monitoring.release
            pod = f"alertmanager-{release}-alertmanager-0"
            amtool = ("amtool", "silence", "query", "--alertmanager.url=http://localhost:9093")
            command = Command("kubectl", "-n", namespace, "exec", pod, "-c", "alertmanager", "--", *amtool)
            yield AbnormalState(
                "alerts-silenced", severity, (CLUSTER,), (f"silence {silence.id}",),
                describe_silence(silence, names), command, silence.begins_at,
            )  # fmt: skip


def describe_silence(silence: Silence, names: list[str]) -> str:
    """Describe what a silence holds back, until when, and in whose words."""
    end = f" until {silence.ends_at:%Y-%m-%d %H:%M} UTC" if silence.ends_at else ""
    scope = "every alert" if silence.takes_all else f"alerts with {format_value(list(silence.selectors))}"
    held_alerts = f", now {format_value(names)}" if names else ""
    return f"{silence.author or 'somebody'} silenced {scope}{end}{held_alerts}: {silence.words or 'no comment'}"


OBSERVERS = (
    Observer(
        "silences", "Silences of Alertmanager", observe_silences, (SILENCES, SILENCED_ALERTS),
        is_needed=has_monitoring,
    ),
)  # fmt: skip
