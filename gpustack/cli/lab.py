"""`gpustack lab`: throw-away hosts to rehearse an inventory on."""

import os
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from gpustack.events import Event

app = typer.Typer(help="Throw-away hosts that are real: systemd, sshd, apt, on a bridge of their own.", no_args_is_help=True)

Name = Annotated[Optional[str], typer.Option(help="Name of the lab; by default this checkout's own.")]  # noqa: UP045 - typer


def _tell(event: Event) -> None:
    took = f" ({event.seconds:.1f} s)" if event.seconds else ""
    print(f"{event.where}: {event.what}{took}", file=sys.stderr, flush=True)


@app.command()
def up(
    name: Name = None,
    hosts: Annotated[int, typer.Option(min=1, help="How many hosts.")] = 2,
    os_: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--os", help="debian-12, debian-13, or both with a comma: hosts take turns. Default: this machine's."),
    ] = None,
    mirror: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="A bundle directory to serve to the hosts, or the http address of a mirror that runs."),
    ] = None,
    fingerprint: Annotated[str, typer.Option(help="Key fingerprint of a mirror given by address.")] = "",
    addresses: Annotated[int, typer.Option(min=0, help="More addresses, n01, n02, …, in an inventory of their own.")] = 0,
) -> None:
    """Bring up hosts and write an inventory for them; `-i lab` names it."""
    from gpustack import lab
    from gpustack.lab.releases import chosen

    made = lab.up(
        name,
        releases=chosen(hosts, os_ or []),
        mirror=_mirror(mirror, fingerprint) if mirror else None,
        addresses=addresses,
        report=_tell,
    )
    for host in made.hosts:
        print(f"{host.name}  {host.os}  {host.address}")
    print(f"inventory {made.inventory}")


def _mirror(said: str, fingerprint: str):  # type: ignore[no-untyped-def]
    from gpustack.lab import Source

    return Source(said, fingerprint)


@app.command()
def down(name: Name = None) -> None:
    """Shut the hosts down and remove everything that `up` made. Twice is fine."""
    from gpustack import lab

    print("lab is down" if lab.down(name, report=_tell) else "there was no lab")


@app.command()
def kill(name: Name = None) -> None:
    """As `down`, without waiting for the hosts to shut down."""
    from gpustack import lab

    print("lab is down" if lab.down(name, graceful=False, report=_tell) else "there was no lab")


@app.command()
def status() -> None:
    """All labs of this machine and their hosts."""
    from gpustack.lab import hosts, state

    for record in state.records():
        print(f"{record.name}  {record.net}.0/24  {record.state / 'inventory'}")
        for host in record.hosts:
            print(f"  {host.name}  {host.os}  {host.address}  {'running' if hosts.running(record, host) else 'stopped'}")


@app.command()
def ssh(host: str, name: Name = None) -> None:
    """A shell on a host, as the user ops; sudo asks for nothing."""
    from gpustack import lab
    from gpustack.lab.hosts import ssh as command

    found = lab.find(name)
    argv = command(found.record, found.record.host(host))
    os.execvp(argv[0], argv)


@app.command(name="exec")
def execute(host: str, command: list[str], name: Name = None) -> None:
    """Run a command on a host: gpustack lab exec host1 -- sudo apt-get update."""
    import shlex

    from gpustack import lab
    from gpustack.lab.hosts import ssh as connection

    found = lab.find(name)
    argv = [*connection(found.record, found.record.host(host)), "--", shlex.join(command)]
    os.execvp(argv[0], argv)


@app.command()
def save(snapshot: str, name: Name = None) -> None:
    """Copy the disks of all hosts, running or not, in a fraction of a second."""
    from gpustack import lab

    lab.find(name, report=_tell).save(snapshot)


@app.command()
def restore(snapshot: str, name: Name = None) -> None:
    """Throw the disks of all hosts away, put the saved ones in their place, and boot."""
    from gpustack import lab

    lab.find(name, report=_tell).restore(snapshot)
