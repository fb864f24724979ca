"""The command `gpustack serve`, which serves the activity of GPUs and pods over HTTP until Ctrl-C."""

import signal
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import Source
from gpustack.cli.help import declare_command
from gpustack.cli.option_groups import Session
from gpustack.cli.root import OPERATE, ROOT
from gpustack.command import Command
from gpustack.config.serve_image import PORT
from gpustack.errors import UsageError, describe_os_error

if TYPE_CHECKING:
    from gpustack.serve.latest import LatestMoment
    from gpustack.serve.server import Server


@declare_command(
    ROOT,
    "gpustack serve -i mycluster",
    "gpustack serve --prometheus http://127.0.0.1:9090 --listen 127.0.0.1:9460",
    "gpustack serve -i mycluster --listen 0.0.0.0:9460 --access-log",
    heading=OPERATE,
    short="Serve GPU activity over HTTP, for autoscalers and scripts.",
)
def serve(
    *,
    source: Source,
    listen: Annotated[
        str,
        typer.Option("--listen", metavar="ADDRESS:PORT", help="Address and port to listen on. Clients need no login."),
    ] = f"127.0.0.1:{PORT}",
    interval: Annotated[
        str,
        options.build_time_option(
            "--every", "1s", "1m", text="Minimum interval between two queries to Prometheus, 1s to 1m."
        ),
    ] = "5s",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="Accept this name in the Host header, beside localhost and addresses (repeatable).",
        ),
    ] = None,
    access_log: Annotated[bool, typer.Option("--access-log", help="Print a line for each request.")] = False,
    session: Session,
) -> None:
    """Serve the activity of every GPU and pod as JSON over HTTP, for autoscalers and scripts, until Ctrl-C.

    The API is read-only. A missing value is answered with an error and its reason, never with a number."""
    host, port = parse_listen(listen)
    with session.open_prometheus(source, lasting=True) as prometheus:
        from gpustack.serve.latest import LatestMoment
        from gpustack.serve.moment import read_moment

        latest_moment = LatestMoment(lambda: read_moment(prometheus), options.parse_duration(interval))
        server = open_server(host, port, latest_moment, access_log=access_log, hosts=allow_host or ())
        with stop_signals() as signals, server.run_server():
            begin_service(server, latest_moment, quiet=session.quiet)
            signals.get()


def parse_listen(text: str) -> tuple[str, int]:
    """Parse an address and a port, as `127.0.0.1:9460` or `[::]:9460`. Raise BadParameter for other texts."""
    host, _, port = text.rpartition(":")
    if not host or not text.isascii() or not port.isdigit() or int(port) > 65535:
        raise options.refuse_value("--listen", text, "ADDRESS:PORT, such as 127.0.0.1:9460")
    return host.strip("[]"), int(port)


def open_server(
    host: str, port: int, latest: "LatestMoment", *, access_log: bool, hosts: Collection[str] = ()
) -> "Server":
    """Open the server on its address. Raise UsageError where the address cannot be bound."""
    from gpustack.serve.server import Server

    try:
        return Server((host, port), latest, access_log=access_log, hosts=hosts)
    except OSError as error:
        message, reason = f"{host}:{port} cannot be listened at.", describe_os_error(error)
        raise UsageError("serve-listen", message, reason, Command("ss", "-ltnp", "sport", "=", f":{port}")) from None


def begin_service(server: "Server", latest: "LatestMoment", *, quiet: bool) -> None:
    """Query Prometheus once. Raise UsageError for an invalid address, and only note a Prometheus that is down, because
    it may return."""
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
    """Yield the queue of Ctrl-C and SIGTERM. An exception would interrupt the program at any line."""
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
