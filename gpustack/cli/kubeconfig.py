"""`kubeconfig`: a kubeconfig with a client certificate of one's own, signed on the control plane."""

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from gpustack.cli import options, session
from gpustack.errors import UsageError

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
    days: Annotated[int, typer.Option("--days", min=1, help="Validity in days. A certificate cannot be revoked.")] = 1,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Fetch a kubeconfig with a new client certificate. admin.conf stays on its host."""
    from gpustack.proof.credential import sign_kubeconfig

    client = user or login_name()
    refuse_names(client, group)
    refuse_target(out)
    hosts = session.open_inventory(inventory, ask_password=become, quiet=quiet)
    text = sign_kubeconfig(hosts, {"CLIENT": client, "GROUP": group, "VALIDITY": f"{days * 24}h"})
    if out is None:
        sys.stdout.write(text)
        return
    with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    sys.stdout.write(f"{out}\n")


def refuse_names(*names: str) -> None:
    """Raises UsageError for what cannot be the name in a certificate."""
    if odd := [name for name in names if not NAME.fullmatch(name)]:
        message = f"{odd[0]!r} is no name for a certificate."
        raise UsageError("kubeconfig-name", message, "", "gpustack kubeconfig --help")


def refuse_target(out: Path | None) -> None:
    """Raises UsageError for a file that exists, and for a terminal."""
    if out and out.exists():
        hint = f"rm {shlex.quote(str(out))}    # if it is no longer needed"
        raise UsageError("kubeconfig-exists", f"{out} exists; nothing was fetched.", "", hint)
    if not out and sys.stdout.isatty():
        why = "It holds a private key, which a terminal would keep in its history."
        hint = "gpustack kubeconfig --out FILE"
        raise UsageError("kubeconfig-terminal", "A kubeconfig is not printed on a terminal.", why, hint)
