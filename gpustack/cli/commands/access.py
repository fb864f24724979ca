"""The command `gpustack access`, which opens Grafana, Prometheus, Alertmanager or the exporter."""

import sys
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli.help import declare_command
from gpustack.cli.option_groups import Session
from gpustack.cli.root import OPERATE, ROOT
from gpustack.command import NO_HINT
from gpustack.errors import UnreachableError

if TYPE_CHECKING:
    from gpustack.ask.transport.forward import PortForwarder
    from gpustack.config.host import Host
    from gpustack.proof.services import Access


class Part(StrEnum):
    GRAFANA = "grafana"
    PROMETHEUS = "prometheus"
    ALERTMANAGER = "alertmanager"
    EXPORTER = "exporter"


@declare_command(
    ROOT,
    "gpustack access grafana -i mycluster --open",
    "gpustack access grafana -i mycluster --show-password",
    "gpustack access prometheus -i mycluster --port 9090",
    name="access",
    heading=OPERATE,
    short="Open Grafana, Prometheus, Alertmanager or the exporter.",
)
def access(
    part: Annotated[Part, typer.Argument(metavar="PART", help="Component to open.")],
    port: Annotated[
        int,
        typer.Option("--port", metavar="PORT", min=0, max=65535, help="Local port to forward; 0 picks a free port."),
    ] = 0,
    forward: Annotated[
        bool, typer.Option("--forward", help="Forward a port even if the cluster exposes an address.")
    ] = False,
    browser: Annotated[bool, typer.Option("--open", help="Open the address in the default browser.")] = False,
    show_password: Annotated[bool, typer.Option("--show-password", help="Print Grafana's user and password.")] = False,
    *,
    session: Session,
) -> None:
    """Open Grafana, Prometheus, Alertmanager or the GPU exporter: print its address, or forward a port to it."""
    hosts = session.open_inventory()
    from gpustack.proof.connect import find_acting_host
    from gpustack.proof.credential import read_login
    from gpustack.proof.services import ACCESS_PROBES, find_access

    snapshot = session.gather(hosts, ACCESS_PROBES)
    target, acting_host = find_access(snapshot, part.value), find_acting_host(snapshot)
    if part is Part.GRAFANA and show_password:
        user, password = read_login(acting_host, target.service.namespace)
        sys.stdout.write(f"user      {user}\npassword  {password}\n")
    elif part is Part.GRAFANA:
        sys.stderr.write("user and password: add --show-password\n")
    if target.urls and not forward and not port:
        for url in target.urls:
            sys.stdout.write(f"{url}\n")
        open_browser(target.urls[0], browser=browser)
        return
    forward_port(acting_host, target, port, browser=browser)


def forward_port(host: "Host", access: "Access", port: int, *, browser: bool) -> None:
    """Forward a port to a Service until Ctrl-C, and print its URL. On the host itself nothing is forwarded unless a
    port is given."""
    from gpustack.proof.connect import forward_part
    from gpustack.proof.services import SCHEME

    with forward_part(host, access, port) as (forwarder, address, number):
        url = f"{SCHEME}://{address}:{number}"
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        open_browser(url, browser=browser)
        if forwarder.listeners:
            sys.stderr.write(f"forwarded to {access.service.namespace}/{access.service.name}; Ctrl-C ends it\n")
            wait_until_closed(forwarder)


def wait_until_closed(forwarder: "PortForwarder") -> None:
    """Wait until Ctrl-C. Raise UnreachableError where the connection ends by itself."""
    try:
        while forwarder.is_alive():
            time.sleep(1.0)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
    else:
        raise UnreachableError("host-ssh-unreachable", "The connection to the control plane ended.", "", NO_HINT)


def open_browser(url: str, *, browser: bool) -> None:
    if browser:
        import webbrowser

        webbrowser.open(url)
