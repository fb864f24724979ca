"""The commands `gpustack lab`, which run throw-away hosts to rehearse an inventory on."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.help import build_group, declare_command
from gpustack.command import Command
from gpustack.errors import LabError
from gpustack_lab.cli import faults as lab_faults
from gpustack_lab.cli import gpu as lab_gpu
from gpustack_lab.cli.lab_name import Name

if TYPE_CHECKING:
    from gpustack_lab.lab import Lab, Mirror, state

MIRROR_PORT = 8480

app = build_group(
    "Run throw-away hosts with systemd, sshd and apt.",
    "gpustack lab up --hosts 2 --gpus 2 --mirror $(gpustack bundle build --quiet)",
    "gpustack install -i lab",
    "gpustack lab down",
)
HOSTS, DISKS, REHEARSE = "Hosts", "Disks", "Faults and GPUs"

HostName = Annotated[str, typer.Argument(metavar="HOST", help="Name of a host of the lab, such as host1.")]
Snapshot = Annotated[str, typer.Argument(metavar="SNAPSHOT", help="Name of the snapshot.")]


def complete_model(incomplete: str) -> list[str]:
    from gpustack_lab.simulated.models import MODELS

    return [key for key in MODELS if key.startswith(incomplete.upper())]


@declare_command(
    app,
    "gpustack lab up --mirror $(gpustack bundle build --quiet)",
    "gpustack lab up --hosts 3 --os debian-12,debian-13 --gpus host2:4xA100,host3:2",
    heading=HOSTS,
    short="Start hosts and write an inventory for them.",
)
def up(
    name: Name = None,
    hosts: Annotated[int, typer.Option(min=1, help="Number of hosts to start.")] = 2,
    release: Annotated[
        list[str] | None,
        typer.Option(
            "--os",
            help="Systems of the hosts in turn: debian-12, debian-13, old-tools, new-tools. Default: this machine's.",
        ),
    ] = None,
    mirror: Annotated[
        str | None,
        typer.Option(help="Bundle directory to serve as a mirror, or the URL of a mirror."),
    ] = None,
    fingerprint: Annotated[
        str, typer.Option(help="Fingerprint of the key of a mirror given by URL, 40 hex digits.")
    ] = "",
    addresses: Annotated[
        int, typer.Option(min=0, help="Number of further addresses n01, n02, …, in a second inventory.")
    ] = 0,
    *,
    fake_internet: Annotated[
        bool,
        typer.Option("--fake-internet", help="Resolve official host names to the mirror."),
    ] = False,
    gpus: Annotated[
        str,
        typer.Option(help="Simulated GPUs: N for every host, HOST:N or HOST:NxMODEL for one host (comma-separated)."),
    ] = "",
    model: Annotated[
        str, typer.Option(help="Model of the simulated GPUs: H100, A100, L4, T4, …", autocompletion=complete_model)
    ] = "",
    vm: Annotated[
        bool, typer.Option("--vm", help="Run the hosts as virtual machines in QEMU, with KVM if available.")
    ] = False,
    image: Annotated[
        str,
        typer.Option(metavar="FILE|URL", help="Run virtual machines of this cloud image. A URL ends with #sha256=HEX."),
    ] = "",
    quiet: options.QuietOption = False,
) -> None:
    """Start hosts and write an inventory for them. Other commands read it with `-i lab`.

    Root in one of these hosts is root of this machine, unless the hosts are virtual machines."""
    from gpustack_lab import lab
    from gpustack_lab.lab.releases import select_releases
    from gpustack_lab.lab.vm.image import find

    if image and release:
        raise typer.BadParameter("--image has a system of its own: leave out --os")
    file = find(image) if image else None
    started_lab = lab.create_lab(
        name,
        releases=[file.stem] * hosts if file else select_releases(hosts, release or []),
        vm=vm,
        image=str(file or ""),
        mirror=_find_mirror(mirror, fingerprint),
        addresses=addresses,
        internet=fake_internet,
        gpus=gpus,
        model=model,
        report=session.build_reporter(quiet=quiet),
    )
    _print_lab(started_lab)
    if started_lab.record.emulated:
        typer.echo("KVM does not work here: the hosts are emulated, 10 to 20 times slower than this machine", err=True)
    if not started_lab.record.vm:
        typer.echo(
            "root in these hosts is root of this machine: install nothing on them that may not run here", err=True
        )


def _print_lab(started_lab: "Lab") -> None:
    for host in started_lab.hosts:
        typer.echo("  ".join([host.name, host.os, host.address, *_describe_gpus(host)]))
    typer.echo(f"inventory: {started_lab.inventory}")


def _describe_gpus(host: "state.Host") -> list[str]:
    return [f"{host.gpus} GPUs {host.model} (simulated)"] if host.gpus else []


def _find_mirror(text: str | None, fingerprint: str) -> "Mirror | state.Source | None":
    """Return a running mirror by its URL, or the mirror of a bundle directory, which the lab runs. Raise LabError for
    other texts."""
    from gpustack_lab.lab import Mirror, state

    if text is None:
        return None
    if text.startswith(("http://", "https://")):
        if len(fingerprint) != 40:
            reason = "Hosts trust a mirror by the key it signs with."
            hint = Command("gpustack", "bundle", "fingerprint", note="on the machine that has the bundle")
            raise LabError("lab-mirror-unknown-key", "A mirror's URL needs --fingerprint, 40 hex digits.", reason, hint)
        return state.Source(text.rstrip("/"), fingerprint)
    directory = Path(text).resolve()
    if not directory.is_dir():
        reason = "It is neither a directory nor a URL."
        raise LabError(
            "lab-mirror-missing", f"There is no mirror {text}.", reason, Command("gpustack", "bundle", "build", text)
        )
    from gpustack.bundle.verify import read_fingerprint

    program = [sys.executable, "-c", "from gpustack.cli.app import main; main()"]
    serve = [*program, "bundle", "serve", str(directory), "--listen"]
    return Mirror(
        lambda address: [*serve, f"{address}:{MIRROR_PORT}"], MIRROR_PORT, read_fingerprint(directory), str(directory)
    )


@declare_command(
    app,
    "gpustack lab down",
    "gpustack lab down --force --name two",
    heading=HOSTS,
    short="Stop the hosts and remove everything that `up` created.",
)
def down(
    name: Name = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Do not wait for the hosts to shut down.")] = False,
    quiet: options.QuietOption = False,
) -> None:
    """Stop the hosts and remove everything that `up` created. A second run changes nothing."""
    from gpustack_lab import lab

    was_running = lab.remove_lab(name, graceful=not force, report=session.build_reporter(quiet=quiet))
    typer.echo("the lab is down" if was_running else "there was no lab")


@declare_command(
    app,
    "gpustack lab stop",
    "gpustack lab stop --name two",
    heading=HOSTS,
    short="Power the hosts off; keep their disks.",
)
def stop(name: Name = None, *, quiet: options.QuietOption = False) -> None:
    """Power the hosts off. Their disks, addresses and snapshots are kept until `down`, also over a reboot of this
    machine. A second run changes nothing."""
    from gpustack_lab import lab

    lab.stop_lab(name, report=session.build_reporter(quiet=quiet))
    typer.echo("the lab is stopped")


@declare_command(
    app,
    "gpustack lab start",
    "gpustack lab start --name two",
    heading=HOSTS,
    short="Boot the hosts of a stopped lab, or after a loss of power.",
)
def start(name: Name = None, *, quiet: options.QuietOption = False) -> None:
    """Boot the hosts of a lab that was stopped or lost power, with the options that `up` had. Hosts that run go on."""
    from gpustack_lab import lab
    from gpustack_lab.lab import state

    bundle = state.read_existing(name).bundle
    mirror = _find_mirror(bundle, "") if bundle else None
    _print_lab(lab.start_lab(name, mirror=mirror, report=session.build_reporter(quiet=quiet)))


@declare_command(app, "gpustack lab status", heading=HOSTS, short="List all labs of this machine and their hosts.")
def status() -> None:
    """List all labs of this machine, of every checkout, and their hosts."""
    from gpustack_lab.lab import hosts, state

    records = state.list_records()
    for record in records:
        if not record.readable:
            down_command = Command("gpustack", "lab", "down", "--name", record.name)
            typer.echo(f"{record.name}  its record cannot be read: {down_command}")
            continue
        words = [record.name, f"{record.net}.0/24", str(record.state / "inventory")]
        if record.source:
            words.append(f"mirror {record.source.url}")
        if record.vm:
            words.append("emulated virtual machines" if record.emulated else "virtual machines")
        if record.stopped:
            words.append("stopped")
        if record.name == state.compute_default_name():
            words.append("(this checkout's)")
        typer.echo("  ".join(words))
        for host in record.hosts:
            host_state = "running" if hosts.is_running(record, host) else "stopped"
            typer.echo("  ".join([f"  {host.name}", host.os, host.address, host_state, *_describe_gpus(host)]))
    if not records:
        typer.echo("there is no lab")


@declare_command(app, "gpustack lab ssh host1", "gpustack lab ssh host1 --name two", heading=HOSTS)
def ssh(host: HostName, name: Name = None) -> None:
    """Open a shell on a host, as user ops with sudo."""
    from gpustack_lab import lab

    raise typer.Exit(subprocess.run(lab.find_lab(name).build_ssh_command(host), check=False).returncode)


@declare_command(
    app,
    "gpustack lab exec host1 -- sudo apt-get update",
    "gpustack lab exec --name two host1 -- uptime",
    name="exec",
    heading=HOSTS,
)
def execute(
    host: HostName,
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND", help="Command to run, after `--` if it has options.")
    ],
    name: Name = None,
) -> None:
    """Run a command on a host, as user ops with sudo."""
    from gpustack_lab import lab

    words = [*lab.find_lab(name).build_ssh_command(host), "--", shlex.join(command)]
    raise typer.Exit(subprocess.run(words, check=False).returncode)


@declare_command(app, "gpustack lab save installed", heading=DISKS, short="Save the disks of all hosts under a name.")
def save(snapshot: Snapshot, name: Name = None, *, quiet: options.QuietOption = False) -> None:
    """Save the disks of all hosts under a name. Hosts may be running."""
    from gpustack_lab import lab

    lab.find_lab(name, report=session.build_reporter(quiet=quiet)).save(snapshot)


@declare_command(app, "gpustack lab restore installed", heading=DISKS, short="Restore the saved disks, and boot.")
def restore(snapshot: Snapshot, name: Name = None, *, quiet: options.QuietOption = False) -> None:
    """Restore the saved disks of all hosts, and boot."""
    from gpustack_lab import lab

    lab.find_lab(name, report=session.build_reporter(quiet=quiet)).restore(snapshot)


declare_command(
    app,
    "gpustack lab inject host-ip-forward-off",
    "gpustack lab inject --noise",
    name="inject",
    heading=REHEARSE,
    short="Inject a fault, to rehearse `gpustack doctor`.",
)(lab_faults.inject)
declare_command(
    app, "gpustack lab recover", "gpustack lab recover host-ip-forward-off", name="recover", heading=REHEARSE
)(lab_faults.recover)
declare_command(app, "gpustack lab faults", heading=REHEARSE, short="List the faults that can be injected.")(
    lab_faults.faults
)
app.add_typer(lab_gpu.app, name="gpu", rich_help_panel=REHEARSE, short_help="List and change the simulated GPUs.")
