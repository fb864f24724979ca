"""`kubeconfig`: a kubeconfig with a client certificate of one's own, signed on the control plane."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.command import Command
from gpustack.errors import UsageError
from gpustack.files.write import write_file

if TYPE_CHECKING:
    from gpustack.proof.kubeconfig import Server

MOST_DAYS = 3650
"""The longest validity of a certificate, in days: that of the CA that kubeadm makes."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.@:_-]*")


def login_name() -> str:
    import getpass

    return getpass.getuser()


def kubeconfig(
    inventory: options.InventoryOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="New file, readable by its owner only. Default: stdout, unless it is a terminal.",
        ),
    ] = None,
    user: Annotated[
        str,
        typer.Option("--user", metavar="NAME", help="User name in the certificate. Default: yours on this machine."),
    ] = "",
    group: Annotated[
        str, typer.Option("--group", metavar="NAME", help="Group whose rights it has.")
    ] = "kubeadm:cluster-admins",
    days: Annotated[
        int, typer.Option("--days", min=1, max=MOST_DAYS, help="Validity in days. A certificate cannot be revoked.")
    ] = 1,
    server: Annotated[
        str,
        typer.Option(
            "--server",
            metavar="https://NAME:PORT",
            help="API server for kubectl; its certificate must name it. Default: the endpoint in the inventory.",
        ),
    ] = "",
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Write a kubeconfig with a new client certificate. admin.conf stays on its host."""
    from gpustack.proof.certificate import Request
    from gpustack.proof.credential import sign_access
    from gpustack.proof.kubeconfig import write_kubeconfig

    request = Request(user or login_name(), group, days * 24)
    refuse_names(request.client, request.group)
    wanted = read_server(server)
    with reserve_target(out):
        hosts = session.open_inventory(inventory, ask_password=become, quiet=quiet)
        access = sign_access(hosts, request, wanted)
        write_text(write_kubeconfig(access, hosts.spec.cluster_name, request.client), out)


def refuse_names(*names: str) -> None:
    """Raises UsageError for what cannot be the name in a certificate."""
    if odd := [name for name in names if not NAME.fullmatch(name)]:
        message = f"{odd[0]!r} is no name for a certificate."
        raise UsageError("kubeconfig-name", message, "", Command("gpustack", "kubeconfig", "--help"))


def read_server(url: str) -> "Server | None":
    """Return the server of --server, None without the option. Raises UsageError."""
    from gpustack.proof.kubeconfig import parse_server

    try:
        return parse_server(url) if url else None
    except ValueError:
        message = f"{url!r} is no address of an API server."
        hint = Command("gpustack", "kubeconfig", "--server", "https://NAME:PORT")
        raise UsageError("kubeconfig-server", message, "", hint) from None


@contextmanager
def reserve_target(out: Path | None) -> Iterator[None]:
    """Create an empty private file before anything is signed, and remove it after an error. Raises UsageError for a
    file that exists or cannot be made, and without --out for a terminal."""
    if out is None:
        refuse_terminal()
        yield
        return
    create_file(out)
    try:
        yield
    except BaseException:
        out.unlink(missing_ok=True)
        raise


def write_text(text: str, out: Path | None) -> None:
    """Write the kubeconfig, and print the name of its file. Raises UsageError, as on a full disk."""
    if out is None:
        sys.stdout.write(text)
        return
    try:
        write_file(out, text)
    except OSError as error:
        raise target_refused(out, error) from error
    sys.stdout.write(f"{out}\n")


def create_file(out: Path) -> None:
    if os.path.lexists(out):
        hint = Command("rm", str(out), note="if it is no longer needed")
        raise UsageError("kubeconfig-exists", f"{out} exists; nothing was fetched.", "", hint)
    try:
        write_file(out, "", new=True)
    except (OSError, ValueError) as error:
        raise target_refused(out, error) from error


def target_refused(out: Path, error: Exception) -> UsageError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    message, hint = f"{out} cannot be written.", Command("gpustack", "kubeconfig", "--out", "FILE")
    return UsageError("kubeconfig-unwritable", message, reason, hint)


def refuse_terminal() -> None:
    if sys.stdout.isatty():
        why = "It holds a private key, which a terminal would keep in its history."
        hint = Command("gpustack", "kubeconfig", "--out", "FILE")
        raise UsageError("kubeconfig-terminal", "A kubeconfig is not printed on a terminal.", why, hint)
