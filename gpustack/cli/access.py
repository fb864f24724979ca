"""`access`: a way to Grafana, Prometheus, Alertmanager or the exporter, until Ctrl-C."""

import sys
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.errors import RolloutError, UnreachableError, UsageError

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot
    from gpustack.ask.transport.forward import PortForwarder
    from gpustack.config.host import Host
    from gpustack.proof.access import Access


class Part(StrEnum):
    GRAFANA = "grafana"
    PROMETHEUS = "prometheus"
    ALERTMANAGER = "alertmanager"
    EXPORTER = "exporter"


def access(
    part: Annotated[Part, typer.Argument(metavar="PART", help="What to open.")],
    inventory: options.InventoryOption = None,
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Local port to forward; 0: a free one.")
    ] = 0,
    forward: Annotated[
        bool, typer.Option("--forward", help="Forward a port even if the cluster has an address for it.")
    ] = False,
    browser: Annotated[bool, typer.Option("--open", help="Open the address in the browser.")] = False,
    show_password: Annotated[bool, typer.Option("--show-password", help="Print Grafana's user and password.")] = False,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Open Grafana, Prometheus, Alertmanager or the GPU exporter: print its address, or forward a port to it."""
    from gpustack.cli import session
    from gpustack.cli.prove import find_acting_host
    from gpustack.proof.inventory import ACCESS_PROBES

    report = session.progress(quiet=quiet)
    hosts = session.open_inventory(inventory, ask_password=become, quiet=quiet)
    taken = session.gather_all(hosts, report, ACCESS_PROBES)
    found, acting = find_part(taken, part), find_acting_host(taken)
    if part is Part.GRAFANA:
        print_login(acting, found.service.namespace, shown=show_password)
    if found.urls and not forward and not port:
        for url in found.urls:
            sys.stdout.write(f"{url}\n")
        open_browser(found.urls[0], browser=browser)
        return
    forward_port(acting, found, port, browser=browser)


def find_part(taken: "Snapshot", part: Part) -> "Access":
    """Raises UnreachableError when the API gave no answer, UsageError when there is no such Service."""
    from gpustack.ask.probe import FactUnavailable
    from gpustack.proof.access import access as way_to
    from gpustack.proof.inventory import addresses, ingresses, services
    from gpustack.proof.services import LABELS, names

    where = names(taken.inventory.spec)
    try:
        found = way_to(part.value, services(taken), ingresses(taken), addresses(taken), where)
    except FactUnavailable as error:
        message = "The Kubernetes API gave no answer."
        raise UnreachableError("proof-no-api", message, str(error), "gpustack verify") from error
    if found is None:
        label = "=".join(LABELS[part.value])
        why = f"There is none with the label {label} in the namespace {where.of(part.value)}."
        raise UsageError("access-no-service", f"The cluster has no {part.value}.", why, "gpustack plan")
    return found


def print_login(host: "Host", namespace: str, *, shown: bool) -> None:
    """Grafana's user and password to stdout with --show-password, else how to get them. Raises RolloutError."""
    from gpustack.ask.transport.refusal import HostRefused
    from gpustack.proof.credential import GRAFANA, answers
    from gpustack.proof.credential import login as read

    if not shown:
        sys.stderr.write("user and password: add --show-password\n")
        return
    try:
        who = read(answers(host, [GRAFANA], {"NAMESPACE": namespace})[GRAFANA.id])
    except HostRefused as refused:
        who = refused.reach.why
    if isinstance(who, str):
        raise RolloutError(
            "access-no-login", "Grafana's login could not be read.", who, "gpustack explain access-no-login"
        )
    user, password = who
    sys.stdout.write(f"user      {user}\npassword  {password}\n")


def forward_port(host: "Host", found: "Access", port: int, *, browser: bool) -> None:
    """Until Ctrl-C; on the host itself its Service is reached as it is, unless a port is wished for."""
    from gpustack.ask.transport.forward import open_forwarder
    from gpustack.proof.access import SCHEME
    from gpustack.proof.connect import forwarding_refused

    try:
        with open_forwarder(host) as way:
            address, number = way.forward(found.service.address, found.port, port)
            url = f"{SCHEME}://{address}:{number}"
            sys.stdout.write(f"{url}\n")
            sys.stdout.flush()
            open_browser(url, browser=browser)
            if way.listeners:
                sys.stderr.write(f"forwarded to {found.service.namespace}/{found.service.name}; Ctrl-C ends it\n")
                wait_until_closed(way)
    except ConnectionRefusedError as error:
        raise forwarding_refused(host.name, error) from error
    except OSError as error:
        why = f"127.0.0.1:{port}: {error.strerror or error}"
        hint = f"gpustack access {found.part}"
        raise UsageError("access-port-taken", "The port cannot be opened on this machine.", why, hint) from error


def wait_until_closed(way: "PortForwarder") -> None:
    """Ctrl-C is how this ends, and no failure. So is the end of the connection, which is one."""
    try:
        while way.is_alive():
            time.sleep(1.0)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
    else:
        raise UnreachableError("host-ssh-unreachable", "The connection to the control plane ended.", "", "")


def open_browser(url: str, *, browser: bool) -> None:
    if browser:
        import webbrowser

        webbrowser.open(url)
