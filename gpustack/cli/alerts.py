"""`alerts test`: sends an alert of each severity and checks which receivers got it."""

import threading
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.help import declare, group
from gpustack.command import Command
from gpustack.errors import UsageError

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory

app = group(
    "Test whether alerts reach their receivers.",
    "gpustack alerts test -i mycluster",
    "gpustack explain GpuLost              # the page of an alert",
)


class Severity(StrEnum):
    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


@app.callback()
def alerts() -> None:
    pass


@declare(
    app,
    "gpustack alerts test -i mycluster",
    "gpustack alerts test -i mycluster --severity warning",
    "gpustack alerts test -i mycluster --timeout 120 -o json",
    name="test",
    short="Send test alerts and check which receivers get them.",
)
def send_test(
    inventory: options.InventoryOption = None,
    severity: Annotated[
        list[Severity] | None, typer.Option("--severity", help="Only alerts of this severity (repeatable).")
    ] = None,
    timeout: Annotated[
        int,
        typer.Option(
            "--timeout", min=10, metavar="SECONDS", help="How long to wait for the receivers of one severity."
        ),
    ] = 60,
    this_host: options.ThisHostOption = False,
    output: options.ShortOutputOption = options.ShortOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Send a test alert of each severity, check which receivers of the inventory got it, and resolve it.

    A receiver that pages people pages them: the alert says that it is a test, and ends at once.
    """
    report = session.progress(quiet=quiet)
    hosts = session.open_to_change(inventory, this_host=this_host, yes=False, ask_password=become, quiet=quiet)
    from gpustack.cli.locked_run import stop_on_signal
    from gpustack.events import INTERRUPTED
    from gpustack.proof.connect import send_test_alerts
    from gpustack.proof.services import ACCESS_PROBES, find_access
    from gpustack.report.codes import delivery_code
    from gpustack.report.render import show

    wanted = [one.value for one in Severity if not severity or one in severity]
    require_receiver(hosts, wanted)
    taken = session.gather_all(hosts, report, ACCESS_PROBES)
    found, stop = find_access(taken, "alertmanager"), threading.Event()
    with stop_on_signal(stop):
        done = send_test_alerts(taken, found, wanted, report, timeout, lambda: INTERRUPTED if stop.is_set() else "")
    show(done, output.value, inventory=hosts)
    raise typer.Exit(delivery_code(done))


def require_receiver(hosts: "Inventory", severities: list[str]) -> None:
    """Raises UsageError when the spec has no receiver for any of them, or no Alertmanager."""
    if not hosts.spec.monitoring.enabled:
        message, why = "This cluster has no monitoring by gpustack.", "monitoring.enabled of the spec is false."
    elif not any(hosts.spec.alerts.receivers.names(severity) for severity in severities):
        what = (
            f"Alerts of severity {' and '.join(severities)} have" if len(severities) < len(Severity) else "Alerts have"
        )
        message, why = f"{what} no receiver.", "alerts.receivers of the spec names nobody."
    else:
        return
    raise UsageError("alerts-no-receiver", message, why, Command("gpustack", "explain", "alerts-no-receiver"))
