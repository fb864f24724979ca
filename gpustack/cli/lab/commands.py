"""`gpustack lab`: throw-away hosts to rehearse an inventory on."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.help import declare, group
from gpustack.cli.lab import faults as lab_faults
from gpustack.cli.lab import gpu as lab_gpu
from gpustack.command import Command
from gpustack.errors import LabError

if TYPE_CHECKING:
    from gpustack.lab import Host, Mirror, Source

MIRROR_PORT = 8480

app = group(
    "Throw-away hosts with systemd, sshd and apt, to rehearse on.",
    "gpustack lab up --hosts 2 --gpus 2 --mirror $(gpustack bundle build --quiet)",
    "gpustack install -i lab",
    "gpustack lab down",
)
HOSTS, DISKS, REHEARSE = "Hosts", "Disks", "Faults and GPUs"

Name = Annotated[str | None, typer.Option(help="Name of the lab. Default: this checkout's.")]
HostName = Annotated[str, typer.Argument(metavar="HOST", help="host1, host2, …")]
Snapshot = Annotated[str, typer.Argument(metavar="SNAPSHOT", help="Name of the snapshot.")]


def complete_model(incomplete: str) -> list[str]:
    from gpustack.simulated.models import MODELS

    return [key for key in MODELS if key.startswith(incomplete.upper())]


@declare(
    app,
    "gpustack lab up --mirror $(gpustack bundle build --quiet)",
    "gpustack lab up --hosts 3 --os debian-12,debian-13 --gpus host2:4xA100,host3:2",
    heading=HOSTS,
    short="Start hosts and write an inventory for them.",
)
def up(
    name: Name = None,
    hosts: Annotated[int, typer.Option(min=1, help="Number of hosts.")] = 2,
    release: Annotated[
        list[str] | None,
        typer.Option(
            "--os",
            help="debian-12, debian-13, old-tools or new-tools, comma-separated, in turn. Default: this machine's.",
        ),
    ] = None,
    mirror: Annotated[
        str | None,
        typer.Option(help="What the hosts install from: a bundle directory to serve, or the URL of a mirror."),
    ] = None,
    fingerprint: Annotated[str, typer.Option(help="Key fingerprint of a mirror given by URL, 40 hex digits.")] = "",
    addresses: Annotated[
        int, typer.Option(min=0, help="Further addresses n01, n02, …, as hosts of an inventory of their own.")
    ] = 0,
    *,
    fake_internet: Annotated[
        bool,
        typer.Option("--fake-internet", help="Resolve the official names on the bridge, and answer from the mirror."),
    ] = False,
    gpus: Annotated[
        str, typer.Option(help="Simulated GPUs: N for every host, HOST:N or HOST:NxMODEL for one; comma-separated.")
    ] = "",
    model: Annotated[
        str, typer.Option(help="Model of the GPUs: H100, A100, L4, T4, …", autocompletion=complete_model)
    ] = "",
    vm: Annotated[
        bool, typer.Option("--vm", help="Virtual machines of QEMU, each with a kernel of its own; KVM where it works.")
    ] = False,
    image: Annotated[
        str, typer.Option(metavar="FILE|URL", help="Virtual machines from a cloud image; a URL ends with #sha256=HEX.")
    ] = "",
    quiet: options.QuietOption = False,
) -> None:
    """Start hosts and write an inventory for them; `-i lab` is short for it.

    Root in one of these hosts is root of this machine, unless they are virtual machines."""
    from gpustack import lab
    from gpustack.lab.releases import chosen
    from gpustack.lab.vm.image import find

    if image and release:
        raise typer.BadParameter("--image has a system of its own: leave out --os")
    file = find(image) if image else None
    made = lab.up(
        name,
        releases=[file.stem] * hosts if file else chosen(hosts, release or []),
        vm=vm,
        image=str(file or ""),
        mirror=_find_mirror(mirror, fingerprint),
        addresses=addresses,
        internet=fake_internet,
        gpus=gpus,
        model=model,
        report=session.progress(quiet=quiet),
    )
    for host in made.hosts:
        typer.echo("  ".join([host.name, host.os, host.address, *_describe_gpus(host)]))
    typer.echo(f"inventory: {made.inventory}")
    if made.record.emulated:
        typer.echo("KVM does not work here: the hosts are emulated, 10 to 20 times slower than this machine", err=True)
    if not made.record.vm:
        typer.echo(
            "root in these hosts is root of this machine: install nothing on them that may not run here", err=True
        )


def _describe_gpus(host: "Host") -> list[str]:
    return [f"{host.gpus} GPUs {host.model} (simulated)"] if host.gpus else []


def _find_mirror(text: str | None, fingerprint: str) -> "Mirror | Source | None":
    """A mirror that runs, or one to run with the lab from a bundle. Raises LabError when it can be neither."""
    from gpustack.lab import Mirror, Source

    if text is None:
        return None
    if text.startswith(("http://", "https://")):
        if len(fingerprint) != 40:
            why = "Hosts trust a mirror by the key it signs with."
            hint = Command("gpustack", "bundle", "fingerprint", note="on the machine that has the bundle")
            raise LabError("lab-mirror-unknown-key", "A mirror's URL needs --fingerprint, 40 hex digits.", why, hint)
        return Source(text.rstrip("/"), fingerprint)
    directory = Path(text).resolve()
    if not directory.is_dir():
        why = "It is neither a directory nor a URL."
        raise LabError(
            "lab-mirror-missing", f"There is no mirror {text}.", why, Command("gpustack", "bundle", "build", text)
        )
    from gpustack.bundle.verify import fingerprint as signed_by

    program = [sys.executable, "-c", "from gpustack.cli.app import main; main()"]
    serve = [*program, "bundle", "serve", str(directory), "--listen"]
    return Mirror(lambda address: [*serve, f"{address}:{MIRROR_PORT}"], MIRROR_PORT, signed_by(directory))


@declare(
    app,
    "gpustack lab down",
    "gpustack lab down --force --name two",
    heading=HOSTS,
    short="Stop the hosts and remove all that `up` made.",
)
def down(
    name: Name = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Do not wait for the hosts to shut down.")] = False,
    quiet: options.QuietOption = False,
) -> None:
    """Stop the hosts and remove all that `up` made. Running it twice does no harm."""
    from gpustack import lab

    gone = lab.down(name, graceful=not force, report=session.progress(quiet=quiet))
    typer.echo("the lab is down" if gone else "there was no lab")


@declare(app, "gpustack lab status", heading=HOSTS, short="List all labs of this machine and their hosts.")
def status() -> None:
    """List all labs of this machine, of every checkout, and their hosts."""
    from gpustack.lab import hosts, state

    found = state.records()
    for record in found:
        if not record.readable:
            down = Command("gpustack", "lab", "down", "--name", record.name)
            typer.echo(f"{record.name}  its record cannot be read: {down}")
            continue
        words = [record.name, f"{record.net}.0/24", str(record.state / "inventory")]
        if record.source:
            words.append(f"mirror {record.source.url}")
        if record.vm:
            words.append("emulated virtual machines" if record.emulated else "virtual machines")
        if record.name == state.default_name():
            words.append("(this checkout's)")
        typer.echo("  ".join(words))
        for host in record.hosts:
            doing = "running" if hosts.running(record, host) else "stopped"
            typer.echo("  ".join([f"  {host.name}", host.os, host.address, doing, *_describe_gpus(host)]))
    if not found:
        typer.echo("there is no lab")


@declare(app, "gpustack lab ssh host1", "gpustack lab ssh host1 --name two", heading=HOSTS)
def ssh(host: HostName, name: Name = None) -> None:
    """Open a shell on a host, as user ops with sudo."""
    from gpustack import lab

    raise typer.Exit(subprocess.run(lab.find(name).ssh(host), check=False).returncode)


@declare(
    app,
    "gpustack lab exec host1 -- sudo apt-get update",
    "gpustack lab exec --name two host1 -- uptime",
    name="exec",
    heading=HOSTS,
)
def execute(
    host: HostName,
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND", help="What to run; after `--` where it has options.")
    ],
    name: Name = None,
) -> None:
    """Run a command on a host, as user ops with sudo."""
    from gpustack import lab

    words = [*lab.find(name).ssh(host), "--", shlex.join(command)]
    raise typer.Exit(subprocess.run(words, check=False).returncode)


@declare(app, "gpustack lab save installed", heading=DISKS, short="Save the disks of all hosts under a name.")
def save(snapshot: Snapshot, name: Name = None, *, quiet: options.QuietOption = False) -> None:
    """Save the disks of all hosts under a name, in a fraction of a second. Hosts may be running."""
    from gpustack import lab

    lab.find(name, report=session.progress(quiet=quiet)).save(snapshot)


@declare(app, "gpustack lab restore installed", heading=DISKS, short="Go back to saved disks, and boot.")
def restore(snapshot: Snapshot, name: Name = None, *, quiet: options.QuietOption = False) -> None:
    """Replace the disks of all hosts with saved ones, and boot."""
    from gpustack import lab

    lab.find(name, report=session.progress(quiet=quiet)).restore(snapshot)


declare(
    app,
    "gpustack lab inject host-ip-forward-off",
    "gpustack lab inject --noise",
    name="inject",
    heading=REHEARSE,
    short="Inject a fault, to rehearse `gpustack doctor`.",
)(lab_faults.inject)
declare(app, "gpustack lab recover", "gpustack lab recover host-ip-forward-off", name="recover", heading=REHEARSE)(
    lab_faults.recover
)
declare(app, "gpustack lab faults", heading=REHEARSE, short="List the faults that can be injected.")(lab_faults.faults)
app.add_typer(lab_gpu.app, name="gpu", rich_help_panel=REHEARSE, short_help="List and change the simulated GPUs.")
