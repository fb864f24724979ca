"""`access`: a way to Grafana, Prometheus, Alertmanager or the exporter, until Ctrl-C."""

import sys
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
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
    report = session.progress(quiet=quiet)
    hosts = session.open_inventory(inventory, ask_password=become, quiet=quiet)
    from gpustack.proof.connect import acting_host
    from gpustack.proof.credential import read_login
    from gpustack.proof.services import ACCESS_PROBES, find_access

    taken = session.gather_all(hosts, report, ACCESS_PROBES)
    found, acting = find_access(taken, part.value), acting_host(taken)
    if part is Part.GRAFANA and show_password:
        user, password = read_login(acting, found.service.namespace)
        sys.stdout.write(f"user      {user}\npassword  {password}\n")
    elif part is Part.GRAFANA:
        sys.stderr.write("user and password: add --show-password\n")
    if found.urls and not forward and not port:
        for url in found.urls:
            sys.stdout.write(f"{url}\n")
        open_browser(found.urls[0], browser=browser)
        return
    forward_port(acting, found, port, browser=browser)


def forward_port(host: "Host", found: "Access", port: int, *, browser: bool) -> None:
    """Until Ctrl-C. On the host itself the Service needs no forwarding, unless a port is given."""
    from gpustack.proof.connect import forward_part
    from gpustack.proof.services import SCHEME

    with forward_part(host, found, port) as (way, address, number):
        url = f"{SCHEME}://{address}:{number}"
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        open_browser(url, browser=browser)
        if way.listeners:
            sys.stderr.write(f"forwarded to {found.service.namespace}/{found.service.name}; Ctrl-C ends it\n")
            wait_until_closed(way)


def wait_until_closed(way: "PortForwarder") -> None:
    """Ctrl-C ends it as wanted; a connection that ends is an error."""
    try:
        while way.is_alive():
            time.sleep(1.0)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
    else:
        raise UnreachableError("host-ssh-unreachable", "The connection to the control plane ended.", "", NO_HINT)


def open_browser(url: str, *, browser: bool) -> None:
    if browser:
        import webbrowser

        webbrowser.open(url)
