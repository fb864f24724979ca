"""The command `gpustack trust`, which adds the key of a host to known_hosts after a confirmation."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.help import declare_command
from gpustack.cli.root import OPERATE, ROOT
from gpustack.command import Command
from gpustack.errors import UsageError, describe_os_error

if TYPE_CHECKING:
    from gpustack.ask.transport.host_key import HostKey
    from gpustack.config.host import Host


def check_fingerprints(texts: list[str] | None) -> list[str] | None:
    """Return the values of --fingerprint. Raise BadParameter for one that ssh does not print."""
    for text in texts or ():
        if not re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", text):
            raise typer.BadParameter(f"{text!r}; allowed: SHA256:… as ssh prints it")
    return texts


@declare_command(
    ROOT,
    "gpustack trust gpu1 -i mycluster",
    "gpustack trust gpu1 gpu2 -i mycluster --yes        # hosts with certificates",
    heading=OPERATE,
    short="Add the key of a host to known_hosts.",
)
def trust(
    names: Annotated[list[str], typer.Argument(metavar="HOST", help="Name of a host in the inventory.")],
    inventory: options.InventoryOption = None,
    fingerprint: Annotated[
        list[str] | None,
        typer.Option(
            "--fingerprint",
            metavar="SHA256:…",
            help="Accept a key with this fingerprint without confirmation (repeatable).",
            callback=check_fingerprints,
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "-y", "--yes", help="Do not ask for confirmation if ssh has verified the certificate of the host."
        ),
    ] = False,
    quiet: options.QuietOption = False,
) -> None:
    """Add the key of a host to known_hosts, after its fingerprint was shown and confirmed."""
    hosts = session.open_inventory(inventory, ask_password=False, quiet=quiet)
    host_names = session.choose_hosts(hosts, names)
    for host in hosts.hosts:
        if host.name in host_names:
            trust_host(host, fingerprint or (), yes=yes)


def trust_host(host: "Host", fingerprints: Sequence[str], *, yes: bool) -> None:
    """Add the key of a host to known_hosts. Raise UnreachableError where the host or ssh gives no usable key, and
    UsageError where the key is not confirmed or the file cannot be written."""
    from gpustack.ask.transport.trust import fetch_key, require_certified

    answer = fetch_key(host)
    if answer is None:
        typer.echo(f"{host.name}: its key is in known_hosts")
        return
    key, is_certified = answer
    if is_certified:
        require_certified(host, key)
    confirm_key(host, key, fingerprints, certified=is_certified, yes=yes and is_certified)
    typer.echo(f"{host.name}: {key.kind} {key.fingerprint} added to {add_key(host, key)}")


def confirm_key(host: "Host", key: "HostKey", fingerprints: Sequence[str], *, certified: bool, yes: bool) -> None:
    from gpustack.cli.questions import confirm

    if yes or key.fingerprint in fingerprints:
        return
    reason = "ssh has checked the certificate of this host." if certified else "Compare it with the host's console:"
    console = "" if certified else f"\n{Command('ssh-keygen', '-lf', key.file)}"
    sys.stderr.write(f"{host.name}: {key.kind} {key.fingerprint}\n{reason}{console}\n")
    if fingerprints or not confirm("Add this key to known_hosts?"):
        hint = Command("gpustack", "trust", host.name, "--fingerprint", "SHA256:FINGERPRINT")
        fingerprint_text = f"It is {key.fingerprint}."
        raise UsageError("host-key-unconfirmed", f"The key of {host.name} was not confirmed.", fingerprint_text, hint)


def add_key(host: "Host", key: "HostKey") -> Path:
    """Write the line of a key, and return the file. Raise UsageError where it cannot be written."""
    from gpustack.ask.transport.host_key import build_known_line
    from gpustack.ask.transport.ssh_options import resolve_options
    from gpustack.files.write import append_line

    options = resolve_options(host)
    file = options.known_hosts_file
    try:
        line = build_known_line(options.known_name, key)
        file.parent.mkdir(mode=0o700, exist_ok=True)
        append_line(file, line)
    except (OSError, ValueError) as error:
        message, hint = f"{file} was not written.", Command("ls", "-ld", str(file.parent), str(file))
        raise UsageError("known-hosts-unwritable", message, describe_os_error(error), hint) from error
    return file
