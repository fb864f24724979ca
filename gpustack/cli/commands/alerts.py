"""The command `gpustack alerts test`, which sends an alert of each severity and checks which receivers got it."""

import threading
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.help import build_group, declare_command
from gpustack.cli.option_groups import ChangeSession
from gpustack.cli.root import OPERATE, ROOT
from gpustack.errors import UsageError
from gpustack.report.renderings import DELIVERIES

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory
    from gpustack.proof.delivery import Deliveries

app = build_group(
    "Test whether alerts reach their receivers.",
    "gpustack alerts test -i mycluster",
    "gpustack explain GpuLost              # the page of an alert",
)
ROOT.add_typer(app, name="alerts", rich_help_panel=OPERATE)


class Severity(StrEnum):
    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


@app.callback()
def alerts() -> None:
    pass


@declare_command(
    app,
    "gpustack alerts test -i mycluster",
    "gpustack alerts test -i mycluster --severity warning",
    "gpustack alerts test -i mycluster --timeout 2m -o json",
    result=DELIVERIES,
    name="test",
    short="Send test alerts and check which receivers get them.",
)
def send_test(
    severity: Annotated[
        list[Severity] | None, typer.Option("--severity", help="Send only an alert of this severity (repeatable).")
    ] = None,
    timeout: Annotated[
        str,
        options.build_time_option(
            "--timeout", "10s", "1d", text="Time to wait for the receivers of one severity, 10s to 1d."
        ),
    ] = "1m",
    *,
    session: ChangeSession,
) -> "Deliveries":
    """Send a test alert of each severity, check which receivers of the inventory got it, and resolve it.

    Receivers that page people will page them. The alert says that it is a test, and is resolved at once.
    """
    hosts = session.open_for_change()
    from gpustack.events import INTERRUPTION
    from gpustack.proof.connect import send_test_alerts
    from gpustack.proof.services import ACCESS_PROBES, find_access
    from gpustack.rollout.run import stop_on_signal

    severities = [level.value for level in Severity if not severity or level in severity]
    require_receiver(hosts, severities)
    snapshot = session.gather(hosts, ACCESS_PROBES)
    access, stop = find_access(snapshot, "alertmanager"), threading.Event()
    seconds = options.parse_duration(timeout)
    with stop_on_signal(stop):
        return send_test_alerts(
            snapshot, access, severities, session.report, seconds, lambda: INTERRUPTION if stop.is_set() else ""
        )


def require_receiver(hosts: "Inventory", severities: list[str]) -> None:
    """Raise UsageError where the spec has no Alertmanager, or no receiver for any of the severities."""
    if not hosts.spec.monitoring.enabled:
        message, reason = "This cluster has no monitoring by gpustack.", "monitoring.enabled of the spec is false."
    elif not any(hosts.spec.alerts.receivers.list_names(severity) for severity in severities):
        subject = (
            f"Alerts of severity {' and '.join(severities)} have" if len(severities) < len(Severity) else "Alerts have"
        )
        message, reason = f"{subject} no receiver.", "alerts.receivers of the spec names nobody."
    else:
        return
    raise UsageError("alerts-no-receiver", message, reason)
