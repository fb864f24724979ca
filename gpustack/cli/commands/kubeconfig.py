"""The command `gpustack kubeconfig`, which writes a kubeconfig with a client certificate signed on the control
plane."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.help import declare_command
from gpustack.cli.option_groups import Session
from gpustack.cli.output_file import ForceOption, require_target
from gpustack.cli.root import OPERATE, ROOT
from gpustack.command import Command
from gpustack.errors import UsageError, describe_os_error
from gpustack.files.write import write_file
from gpustack.times import HOUR

if TYPE_CHECKING:
    from gpustack.proof.kubeconfig import Server

LONGEST = "10y"
"""The longest validity of a certificate, which is that of the CA of kubeadm."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.@:_-]*")


def read_login_name() -> str:
    import getpass

    return getpass.getuser()


@declare_command(
    ROOT,
    "gpustack kubeconfig -i mycluster --out admin.kubeconfig",
    "gpustack kubeconfig -i mycluster --user alice --for 7d --out alice.kubeconfig",
    heading=OPERATE,
)
def kubeconfig(
    path: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write to this file, readable by its owner only. Default: stdout, unless a terminal.",
        ),
    ] = None,
    force: ForceOption = False,
    user: Annotated[
        str,
        typer.Option(
            "--user", metavar="NAME", help="User name in the certificate. Default: the name of the local user."
        ),
    ] = "",
    group: Annotated[
        str, typer.Option("--group", metavar="NAME", help="Group in the certificate, which gives it its rights.")
    ] = "kubeadm:cluster-admins",
    validity: Annotated[
        str,
        options.build_time_option(
            "--for", "1h", LONGEST, "1h", text=f"Validity, 1h to {LONGEST}. A certificate cannot be revoked."
        ),
    ] = "1d",
    server: Annotated[
        str,
        typer.Option(
            "--server",
            metavar="https://NAME:PORT",
            help="URL of the API server, which its certificate must name. Default: the endpoint in the inventory.",
        ),
    ] = "",
    *,
    session: Session,
) -> None:
    """Write a kubeconfig with a new client certificate. The file admin.conf never leaves its host."""
    from gpustack.proof.certificate import Request
    from gpustack.proof.credential import sign_access
    from gpustack.proof.kubeconfig import write_kubeconfig

    request = Request(user or read_login_name(), group, round(options.parse_duration(validity) / HOUR))
    refuse_names(request.client, request.group)
    expected_server = read_server(server)
    with reserve_target(path, force=force):
        hosts = session.open_inventory()
        access = sign_access(hosts, request, expected_server)
        write_text(write_kubeconfig(access, hosts.spec.cluster_name, request.client), path)
    if path is not None and not session.quiet:
        sys.stderr.write(f"next: {Command('kubectl', '--kubeconfig', str(path), 'get', 'nodes')}\n")


def refuse_names(*names: str) -> None:
    """Raise UsageError for a name that is not valid in a certificate."""
    if invalid_names := [name for name in names if not NAME.fullmatch(name)]:
        message = f"{invalid_names[0]!r} is no name for a certificate."
        raise UsageError("kubeconfig-name", message, "", Command("gpustack", "kubeconfig", "--help"))


def read_server(url: str) -> "Server | None":
    """Return the server of --server, and None without the option. Raise UsageError for an invalid URL."""
    from gpustack.proof.kubeconfig import parse_server

    try:
        return parse_server(url) if url else None
    except ValueError:
        message = f"{url!r} is no address of an API server."
        hint = Command("gpustack", "kubeconfig", "--server", "https://NAME:PORT")
        raise UsageError("kubeconfig-server", message, "", hint) from None


@contextmanager
def reserve_target(path: Path | None, *, force: bool) -> Iterator[None]:
    """Create an empty private file before anything is signed, and remove it after an error. With `force`, a file that
    exists stays as it is until it is written. Raise UsageError for a file that exists without `force` or cannot be
    created, and without --out for a terminal."""
    if path is None:
        refuse_terminal()
        yield
        return
    require_target(path, "kubeconfig-unwritable", force=force)
    if path.exists():
        yield
        return
    create_file(path)
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_text(text: str, path: Path | None) -> None:
    """Write the kubeconfig, and print the name of its file. Raise UsageError where writing fails, as on a full disk."""
    if path is None:
        sys.stdout.write(text)
        return
    try:
        write_file(path, text)
    except OSError as error:
        raise build_target_error(path, error) from error
    sys.stdout.write(f"{path}\n")


def create_file(path: Path) -> None:
    try:
        write_file(path, "", new=True)
    except (OSError, ValueError) as error:
        raise build_target_error(path, error) from error


def build_target_error(path: Path, error: Exception) -> UsageError:
    reason = describe_os_error(error)
    message, hint = f"{path} cannot be written.", Command("gpustack", "kubeconfig", "--out", "FILE")
    return UsageError("kubeconfig-unwritable", message, reason, hint)


def refuse_terminal() -> None:
    if sys.stdout.isatty():
        reason = "It holds a private key, which a terminal would keep in its history."
        hint = Command("gpustack", "kubeconfig", "--out", "FILE")
        raise UsageError("kubeconfig-terminal", "A kubeconfig is not printed on a terminal.", reason, hint)
