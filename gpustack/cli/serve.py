"""`serve`: what GPUs and pods do, over HTTP, until Ctrl-C."""

import signal
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import Source, open_prometheus
from gpustack.command import Command
from gpustack.config.served import PORT
from gpustack.errors import UsageError

if TYPE_CHECKING:
    from gpustack.serve.latest import Latest
    from gpustack.serve.server import Server


def serve(
    *,
    inventory: options.InventoryOption = None,
    source: Source,
    listen: Annotated[
        str, typer.Option("--listen", metavar="ADDRESS:PORT", help="Where to listen. Clients need no login.")
    ] = f"127.0.0.1:{PORT}",
    every: Annotated[
        float, typer.Option("--every", min=1, max=60, metavar="SECONDS", help="How often Prometheus is asked at most.")
    ] = 5,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A name in the Host header that is answered beside localhost and addresses. May be repeated.",
        ),
    ] = None,
    access_log: Annotated[bool, typer.Option("--access-log", help="Print a line for each request.")] = False,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Serve what every GPU and pod does as JSON over HTTP, for autoscalers and scripts, until Ctrl-C.

    Nothing can be changed by it. Where there is no value, the answer is an error with the reason, never a number."""
    host, port = parse_listen(listen)
    with open_prometheus(source, inventory, become=become, quiet=quiet) as (prometheus, _):
        from gpustack.serve.latest import Latest
        from gpustack.serve.moment import read_moment

        latest = Latest(lambda: read_moment(prometheus), every)
        server = open_server(host, port, latest, access_log=access_log, hosts=allow_host or ())
        with stop_signals() as signals, server.answering():
            begin(server, latest, quiet=quiet)
            signals.get()


def parse_listen(text: str) -> tuple[str, int]:
    """`127.0.0.1:9460`, `[::]:9460`. Raises BadParameter."""
    host, _, port = text.rpartition(":")
    if not host or not text.isascii() or not port.isdigit() or int(port) > 65535:
        raise typer.BadParameter(f"--listen takes ADDRESS:PORT, not {text}")
    return host.strip("[]"), int(port)


def open_server(host: str, port: int, latest: "Latest", *, access_log: bool, hosts: Collection[str] = ()) -> "Server":
    """Raises UsageError where the address cannot be had."""
    from gpustack.serve.server import Server

    try:
        return Server((host, port), latest, access_log=access_log, hosts=hosts)
    except OSError as error:
        message, why = f"{host}:{port} cannot be listened at.", error.strerror or str(error)
        raise UsageError("serve-listen", message, why, Command("ss", "-ltnp", "sport", "=", f":{port}")) from None


def begin(server: "Server", latest: "Latest", *, quiet: bool) -> None:
    """Asks Prometheus once: one that is down may come, an address that is none will not. Raises UsageError."""
    from gpustack.serve.refusal import Refusal

    if not quiet:
        sys.stderr.write(f"serving {server.url}; Ctrl-C ends it\n")
        if not ip_address(str(server.server_address[0])).is_loopback:
            sys.stderr.write("note: who reaches this address can read it; there is no login\n")
    try:
        latest()
    except Refusal as refusal:
        if refusal.reference == "prometheus-address":
            raise UsageError(refusal.reference, refusal.reason) from None
        sys.stderr.write(f"note: {refusal.reason} It is asked again.\n")


@contextmanager
def stop_signals() -> "Iterator[SimpleQueue[int]]":
    """Ctrl-C and SIGTERM. An exception instead would come in the middle of anything."""
    signals: SimpleQueue[int] = SimpleQueue()
    before = {
        number: signal.signal(number, lambda number, _: signals.put(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
