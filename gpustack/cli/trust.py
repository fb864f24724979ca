"""`trust`: adds the key of a host to known_hosts, after a confirmation."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.command import Command
from gpustack.errors import UsageError

if TYPE_CHECKING:
    from gpustack.ask.transport.host_key import HostKey
    from gpustack.config.host import Host


def trust(
    names: Annotated[list[str], typer.Argument(metavar="HOST", help="Host of the inventory.")],
    inventory: options.InventoryOption = None,
    fingerprint: Annotated[
        list[str] | None,
        typer.Option("--fingerprint", metavar="SHA256:…", help="Fingerprint that needs no confirmation (repeatable)."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("-y", "--yes", help="Do not ask where ssh has checked the certificate of the host.")
    ] = False,
    quiet: options.QuietOption = False,
) -> None:
    """Add the key of a host to known_hosts. Its fingerprint is shown first."""
    hosts = session.open_inventory(inventory, ask_password=False, quiet=quiet)
    chosen = session.choose_hosts(hosts, names)
    for host in hosts.hosts:
        if host.name in chosen:
            trust_host(host, fingerprint or (), yes=yes)


def trust_host(host: "Host", expected: Sequence[str], *, yes: bool) -> None:
    """Raises UnreachableError where the host, or ssh, gives no key that can be used, and UsageError where the key is
    not confirmed or the file cannot be written."""
    from gpustack.ask.transport.trust import fetch_key, require_certified

    found = fetch_key(host)
    if found is None:
        typer.echo(f"{host.name}: its key is in known_hosts")
        return
    key, certified = found
    if certified:
        require_certified(host, key)
    confirm_key(host, key, expected, certified=certified, yes=yes and certified)
    typer.echo(f"{host.name}: {key.kind} {key.fingerprint} added to {add_key(host, key)}")


def confirm_key(host: "Host", key: "HostKey", expected: Sequence[str], *, certified: bool, yes: bool) -> None:
    from gpustack.cli.locked_run import confirm

    if yes or key.fingerprint in expected:
        return
    reason = "ssh has checked the certificate of this host." if certified else "Compare it with the host's console:"
    console = "" if certified else f"\n{Command('ssh-keygen', '-lf', key.file)}"
    sys.stderr.write(f"{host.name}: {key.kind} {key.fingerprint}\n{reason}{console}\n")
    if expected or not confirm("Add this key to known_hosts?"):
        hint = Command("gpustack", "trust", host.name, "--fingerprint", "SHA256:FINGERPRINT")
        why = f"It is {key.fingerprint}."
        raise UsageError("host-key-unconfirmed", f"The key of {host.name} was not confirmed.", why, hint)


def add_key(host: "Host", key: "HostKey") -> Path:
    """Write the line, and return the file. Raises UsageError."""
    from gpustack.ask.transport.host_key import build_known_line
    from gpustack.ask.transport.ssh_options import resolve_options
    from gpustack.files.write import append_line

    found = resolve_options(host)
    file = found.known_hosts_file
    try:
        line = build_known_line(found.known_name, key)
        file.parent.mkdir(mode=0o700, exist_ok=True)
        append_line(file, line)
    except (OSError, ValueError) as error:
        message, hint = f"{file} was not written.", Command("ls", "-ld", str(file.parent), str(file))
        raise UsageError("known-hosts-unwritable", message, str(error), hint) from error
    return file
