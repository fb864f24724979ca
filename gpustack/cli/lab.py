"""`gpustack lab`: throw-away hosts to rehearse an inventory on."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import lab_faults, lab_gpu, options
from gpustack.errors import LabError
from gpustack.events import Reporter

if TYPE_CHECKING:
    from gpustack.lab import Host, Mirror, Source

MIRROR_PORT = 8480

app = typer.Typer(
    help="Throw-away hosts that are real: systemd, sshd and apt, on a bridge of their own.", no_args_is_help=True
)

app.add_typer(lab_gpu.app, name="gpu")
app.command("break")(lab_faults.break_)
app.command()(lab_faults.heal)
app.command()(lab_faults.faults)

Name = Annotated[str | None, typer.Option(help="Name of the lab; by default this checkout's own.")]
HostName = Annotated[str, typer.Argument(metavar="HOST", help="host1, host2, …")]
Snapshot = Annotated[str, typer.Argument(metavar="SNAPSHOT", help="Name of the snapshot.")]


def models(incomplete: str) -> list[str]:
    from gpustack.lab.simulated.models import MODELS

    return [key for key in MODELS if key.startswith(incomplete.upper())]


@app.command()
def up(
    name: Name = None,
    hosts: Annotated[int, typer.Option(min=1, help="How many hosts.")] = 2,
    release: Annotated[
        list[str] | None,
        typer.Option(
            "--os",
            help="debian-12, debian-13, old-tools or new-tools, by commas: hosts take turns. [default: this machine's]",
        ),
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(help="What hosts install from: a bundle directory to serve, or the URL of a mirror.")
    ] = None,
    fingerprint: Annotated[str, typer.Option(help="Key fingerprint of a mirror given by URL, 40 hex digits.")] = "",
    addresses: Annotated[
        int, typer.Option(min=0, help="Further addresses n01, n02, …, as hosts of an inventory of their own.")
    ] = 0,
    *,
    as_internet: Annotated[
        bool,
        typer.Option("--as-internet", help="Hosts find the official names on the bridge, answered from the mirror."),
    ] = False,
    gpus: Annotated[
        str, typer.Option(help="Simulated GPUs: N for every host, HOST:N for one, HOST:NxMODEL; several with commas.")
    ] = "",
    model: Annotated[str, typer.Option(help="What they are: H100, A100, L4, T4, …", autocompletion=models)] = "",
    quiet: options.QuietOption = False,
) -> None:
    """Bring up hosts and write an inventory for them; `-i lab` is short for it.

    Root in one of these hosts is root of this machine."""
    from gpustack import lab
    from gpustack.lab.releases import chosen

    made = lab.up(
        name,
        releases=chosen(hosts, release or []),
        mirror=_mirror(mirror, fingerprint),
        addresses=addresses,
        internet=as_internet,
        gpus=gpus,
        model=model,
        report=_progress(quiet=quiet),
    )
    for host in made.hosts:
        typer.echo("  ".join([host.name, host.os, host.address, *_gpus(host)]))
    typer.echo(f"inventory: {made.inventory}")
    typer.echo("root in these hosts is root of this machine: install nothing on them that may not run here", err=True)


def _gpus(host: "Host") -> list[str]:
    return [f"{host.gpus} GPUs {host.model} (simulated)"] if host.gpus else []


def _progress(*, quiet: bool) -> Reporter:
    from gpustack.cli import wiring

    return wiring.progress(quiet=quiet)


def _mirror(said: str | None, fingerprint: str) -> "Mirror | Source | None":
    """A mirror that runs, or one to run with the lab from a bundle. Raises LabError when it can be neither."""
    from gpustack.lab import Mirror, Source

    if said is None:
        return None
    if said.startswith(("http://", "https://")):
        if len(fingerprint) != 40:
            why = "Hosts trust a mirror by the key it signs with."
            hint = "gpustack bundle fingerprint    # on the machine that has the bundle"
            raise LabError("lab-mirror-unknown-key", "A mirror's URL needs --fingerprint, 40 hex digits.", why, hint)
        return Source(said.rstrip("/"), fingerprint)
    directory = Path(said).resolve()
    if not directory.is_dir():
        why = "It is neither a directory nor a URL."
        raise LabError("lab-mirror-missing", f"There is no mirror {said}.", why, f"gpustack bundle build {said}")
    from gpustack.bundle.verify import fingerprint as signed_by

    program = [sys.executable, "-c", "from gpustack.cli.app import main; main()"]
    serve = [*program, "bundle", "serve", str(directory), "--listen"]
    return Mirror(lambda address: [*serve, f"{address}:{MIRROR_PORT}"], MIRROR_PORT, signed_by(directory))


@app.command()
def down(name: Name = None, *, quiet: options.QuietOption = False) -> None:
    """Shut the hosts down and remove all that `up` made. Twice is fine."""
    _down(name, graceful=True, quiet=quiet)


@app.command()
def kill(name: Name = None, *, quiet: options.QuietOption = False) -> None:
    """As `down`, without waiting for the hosts to shut down."""
    _down(name, graceful=False, quiet=quiet)


def _down(name: str | None, *, graceful: bool, quiet: bool) -> None:
    from gpustack import lab

    gone = lab.down(name, graceful=graceful, report=_progress(quiet=quiet))
    typer.echo("the lab is down" if gone else "there was no lab")


@app.command()
def status() -> None:
    """All labs of this machine, of every checkout, and their hosts."""
    from gpustack.lab import hosts, state

    found = state.records()
    for record in found:
        if not record.readable:
            typer.echo(f"{record.name}  its record cannot be read: gpustack lab down --name {record.name}")
            continue
        words = [record.name, f"{record.net}.0/24", str(record.state / "inventory")]
        if record.source:
            words.append(f"mirror {record.source.url}")
        if record.name == state.default_name():
            words.append("(this checkout's)")
        typer.echo("  ".join(words))
        for host in record.hosts:
            doing = "running" if hosts.running(record, host) else "stopped"
            typer.echo("  ".join([f"  {host.name}", host.os, host.address, doing, *_gpus(host)]))
    if not found:
        typer.echo("there is no lab")


@app.command()
def ssh(host: HostName, name: Name = None) -> None:
    """A shell on a host, as the user ops; its sudo asks for nothing."""
    from gpustack import lab

    raise typer.Exit(subprocess.run(lab.find(name).ssh(host), check=False).returncode)


@app.command("exec")
def execute(
    host: HostName, command: Annotated[list[str], typer.Argument(metavar="-- COMMAND…")], name: Name = None
) -> None:
    """Run a command on a host as the user ops: gpustack lab exec host1 -- sudo apt-get update."""
    from gpustack import lab

    words = [*lab.find(name).ssh(host), "--", shlex.join(command)]
    raise typer.Exit(subprocess.run(words, check=False).returncode)


@app.command()
def save(snapshot: Snapshot, name: Name = None, *, quiet: options.QuietOption = False) -> None:
    """Copy the disks of all hosts, running or not, in a fraction of a second."""
    from gpustack import lab

    lab.find(name, report=_progress(quiet=quiet)).save(snapshot)


@app.command()
def restore(snapshot: Snapshot, name: Name = None, *, quiet: options.QuietOption = False) -> None:
    """Throw the disks of all hosts away, put the saved ones in their place, and boot."""
    from gpustack import lab

    lab.find(name, report=_progress(quiet=quiet)).restore(snapshot)
