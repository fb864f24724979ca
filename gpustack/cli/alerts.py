"""`alerts test`: sends one alert to the receiver and checks whether it arrived."""

import threading
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.help import declare, group
from gpustack.errors import UsageError

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory

app = group(
    "Test whether alerts reach their receiver.",
    "gpustack alerts test -i mycluster",
    "gpustack explain GpuLost              # the page of an alert",
)


@app.callback()
def alerts() -> None:
    pass


@declare(
    app,
    "gpustack alerts test -i mycluster",
    "gpustack alerts test -i mycluster --timeout 120 -o json",
    name="test",
    short="Send a test alert and check that it arrives.",
)
def send_test(
    inventory: options.InventoryOption = None,
    timeout: Annotated[
        int, typer.Option("--timeout", min=10, metavar="SECONDS", help="How long to wait for the receiver.")
    ] = 60,
    this_host: options.ThisHostOption = False,
    output: options.ShortOutputOption = options.ShortOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Send one test alert to the receiver of the inventory, check whether it arrived, and resolve it."""
    report = session.progress(quiet=quiet)
    hosts = session.open_to_change(inventory, this_host=this_host, yes=False, ask_password=become, quiet=quiet)
    from gpustack.cli.locked_run import stop_on_signal
    from gpustack.proof.connect import send_test_alert
    from gpustack.proof.services import ACCESS_PROBES, find_access
    from gpustack.report.codes import delivery_code
    from gpustack.report.render import show
    from gpustack.rollout.plan import INTERRUPTED

    require_receiver(hosts)
    taken = session.gather_all(hosts, report, ACCESS_PROBES)
    found, stop = find_access(taken, "alertmanager"), threading.Event()
    with stop_on_signal(stop):
        done = send_test_alert(taken, found, report, timeout, lambda: INTERRUPTED if stop.is_set() else "")
    show(done, output.value, inventory=hosts)
    raise typer.Exit(delivery_code(done))


def require_receiver(hosts: "Inventory") -> None:
    """Raises UsageError when the spec has no receiver, or no Alertmanager."""
    if not hosts.spec.monitoring.enabled:
        message, why = "This cluster has no monitoring by gpustack.", "monitoring.enabled of the spec is false."
    elif hosts.spec.alerts.receiver.type == "none":
        message, why = "Alerts have no receiver.", "alerts.receiver.type of the spec is none."
    else:
        return
    raise UsageError("alerts-no-receiver", message, why, "gpustack explain alerts-no-receiver")
