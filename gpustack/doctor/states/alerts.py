"""Rules that Prometheus cannot evaluate, and the alerts that fire, in its own words."""

from collections.abc import Iterator
from dataclasses import replace

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.scraped_objects import build_prometheus_command, has_monitoring
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.events import format_count
from gpustack.probes.monitoring.alerting import FIRING_ALERTS, RULE_GROUPS

QUIET_SEVERITIES = ("none", "info")
"""The label severity of alerts that mean nothing alone, such as Watchdog and InfoInhibitor (kubernetes-mixin)."""
MAX_ALERTS = 12


def observe_rules(view: View) -> Iterator[AbnormalState]:
    """List rules that Prometheus cannot evaluate: their alert never fires, their series has no samples. An error of
    several groups has one cause, such as a limit of Prometheus."""
    groups_by_error: dict[str, set[str]] = {}
    for group in view[RULE_GROUPS]:
        for _, error in group.errors:
            groups_by_error.setdefault(error, set()).add(f"{group.file} {group.name}")
    for group in view[RULE_GROUPS]:
        for name, error in group.errors:
            command = Command("kubectl", "get", "prometheusrules", "--all-namespaces")
            yield AbnormalState(
                "rule-failing", "risk", (CLUSTER,), (f"rule {name} of {group.name} in {group.file}",), error, command,
                topic="" if len(groups_by_error[error]) > 1 else f"{group.file} {group.name}",
            )  # fmt: skip


def observe_alerts(view: View) -> Iterator[AbnormalState]:
    """Name the alerts that fire, in their own words, the oldest first. They may be of users, and consequences of what
    other states say."""
    alerts = [alert for alert in view[FIRING_ALERTS] if alert.severity not in QUIET_SEVERITIES]
    if alerts:
        names = dict.fromkeys(f"{alert.name}: {alert.words}".removesuffix(": ") for alert in alerts)
        command = build_prometheus_command(view, "alerts")
        message = f"{format_count(len(alerts), 'alert')} {'fires' if len(alerts) == 1 else 'fire'}"
        onset = min((alert.onset for alert in alerts if alert.onset), default=None)
        state = AbnormalState("alerts-firing", "note", (CLUSTER,), ("Prometheus, alerts",), message, command, onset)
        yield replace(state, last_lines=tuple(names)[:MAX_ALERTS])


OBSERVERS = (
    Observer("rules", "Rules of Prometheus", observe_rules, (RULE_GROUPS,), is_needed=has_monitoring),
    Observer("alerts", "Alerts that fire", observe_alerts, (FIRING_ALERTS,), is_needed=has_monitoring),
)
