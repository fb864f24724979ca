"""`alerts test`: sends one alert to the receiver and checks whether it arrived."""

import threading
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.help import declare, group
from gpustack.errors import UsageError

if TYPE_CHECKING:
    from gpustack.config.host import Host
    from gpustack.config.inventory import Inventory
    from gpustack.events import Reporter
    from gpustack.proof.access import Access
    from gpustack.proof.delivery import Delivery

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
    from gpustack.cli import session
    from gpustack.cli.access import Part, find_part
    from gpustack.cli.locked_run import StopOnSignal
    from gpustack.cli.prove import find_acting_host
    from gpustack.proof.inventory import ACCESS_PROBES
    from gpustack.report.codes import delivery_code
    from gpustack.report.render import show

    report = session.progress(quiet=quiet)
    hosts = session.open_to_change(inventory, this_host=this_host, yes=False, ask_password=become, quiet=quiet)
    require_receiver(hosts)
    taken = session.gather_all(hosts, report, ACCESS_PROBES)
    found, acting, stop = find_part(taken, Part.ALERTMANAGER), find_acting_host(taken), threading.Event()
    with StopOnSignal(stop):
        done = run_trial(hosts, acting, found, report, stop, timeout)
    show(done, output.value, inventory=hosts)
    raise typer.Exit(delivery_code(done))


def require_receiver(hosts: "Inventory") -> None:
    """Raises UsageError when the spec has no receiver, or no Alertmanager."""
    if not hosts.spec.monitoring.enabled:
        message, why = (
            "This cluster has no monitoring by gpustack.",
            "monitoring.enabled of the spec is false.",
        )
    elif hosts.spec.alerts.receiver.type == "none":
        message, why = "Alerts have no receiver.", "alerts.receiver.type of the spec is none."
    else:
        return
    raise UsageError("alerts-no-receiver", message, why, "gpustack explain alerts-no-receiver")


def run_trial(
    hosts: "Inventory", acting: "Host", found: "Access", report: "Reporter", stop: threading.Event, timeout: float
) -> "Delivery":
    """Raises UnreachableError and RolloutError, before anything is sent."""
    from gpustack.ask.transport.forward import open_forwarder
    from gpustack.proof.alertmanager import Alertmanager
    from gpustack.proof.connect import forwarding_refused
    from gpustack.proof.delivery import Trial
    from gpustack.proof.http import Web
    from gpustack.rollout.plan import INTERRUPTED

    with open_forwarder(acting) as way:
        try:
            address, number = way.forward(found.service.address, found.port)
        except OSError as error:
            raise forwarding_refused(acting.name, error) from error
        there, spec = Alertmanager(Web("Alertmanager", address, number)), hosts.spec
        cancelled = lambda: INTERRUPTED if stop.is_set() else ""  # noqa: E731
        return Trial(there, report, cancelled, spec.cluster_name, spec.alerts.runbooks, timeout).test()
