"""A lab that is up, as tests and the command line use it.

    lab = up(releases=["debian-12", "debian-13"])
    lab.exec("host1", ["sudo", "apt-get", "update"])
    lab.save("clean"); lab.restore("clean"); lab.down()

What leaves this room is an ordinary inventory (`lab.inventory`); no step, probe or role knows what a lab is.
"""

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.events import Reporter, silent
from gpustack.lab import capabilities, hosts, leftovers, locks, snapshots, state
from gpustack.lab.bring_up import bring_up
from gpustack.lab.faults import broken
from gpustack.lab.inventory import inventory_path
from gpustack.lab.mirror import Mirror
from gpustack.lab.request import Request
from gpustack.lab.state import Host, Record, Source
from gpustack.simulated import hardware
from gpustack.simulated.state_text import Gpu

__all__ = ["Gpu", "Host", "Lab", "Mirror", "Source", "down", "find", "inventory_path", "up"]


@dataclass(frozen=True)
class Lab:
    record: Record
    report: Reporter = silent

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def hosts(self) -> tuple[Host, ...]:
        return self.record.hosts

    @property
    def inventory(self) -> Path:
        return inventory_path(self.name)

    @property
    def ssh_config(self) -> Path:
        return self.record.state / "ssh_config"

    def ssh(self, host: str) -> list[str]:
        """The words of an ssh command to the host, without a command. Raises LabError for an unknown host."""
        return hosts.ssh(self.record, self.record.host(host))

    def exec(
        self, host: str, argv: Sequence[str], *, text: str = "", limit: float = 600.0
    ) -> subprocess.CompletedProcess[str]:
        """Run `argv` on a host as `ops`. The status 255 is ssh's own failure. TimeoutExpired after `limit` seconds."""
        command = [*self.ssh(host), "--", shlex.join(argv)]
        return subprocess.run(
            command, input=text, capture_output=True, text=True, errors="replace", timeout=limit, check=False
        )

    def gpus(self, host: str) -> tuple[Gpu, ...]:
        """The simulated GPUs of a host as they are now. Raises LabError for an unknown host."""
        found = hardware.read(self.record.root(self.record.host(host)))
        return found.gpus if found else ()

    def set_gpu(self, gpu: str, *words: str) -> list[Gpu]:
        """`set_gpu("host1:0", "xid=79")`; without an index all GPUs of the host. Running containers see it at once.

        Raises LabError for an unknown host or GPU, and for words that there are not.
        """
        host, indices = self.which_gpus(gpu)
        return hardware.change(self.record.root(self.record.host(host)), indices, words)

    def which_gpus(self, gpu: str) -> tuple[str, Sequence[int]]:
        """Host and indices of "host1:0" or "host1". Raises LabError for what there is not."""
        host, index = hardware.chosen(gpu)
        there = range(len(self.gpus(host)))
        if not there or index not in (None, *there):
            has = f"The host has {', '.join(f'{host}:{i}' for i in there)}." if there else "The host has none."
            raise LabError(
                "lab-unknown-gpu", f"Lab {self.name} has no GPU {gpu}.", has, Command("gpustack", "lab", "gpu", "list")
            )
        return host, there if index is None else [index]

    def save(self, snapshot: str) -> None:
        capabilities.require_root()
        snapshots.save(self.record, snapshot, self.report)

    def restore(self, snapshot: str) -> None:
        capabilities.require_root()
        snapshots.restore(self.record, snapshot, self.report)
        broken.write(self.record, [])

    def down(self) -> None:
        down(self.name, report=self.report)

    def kill(self) -> None:
        down(self.name, graceful=False, report=self.report)


def up(
    name: str | None = None,
    *,
    releases: Sequence[str] = ("debian-12", "debian-12"),
    mirror: Mirror | Source | None = None,
    addresses: int = 0,
    internet: bool = False,
    gpus: str = "",
    model: str = "",
    vm: bool = False,
    image: str = "",
    report: Reporter = silent,
) -> Lab:
    """Bring up a lab with one host per release, named host1, host2, …; it outlives this process. `internet`: hosts find
    the official names on the bridge, answered from the mirror. `gpus`: "2" simulated ones for every host, or
    "host2:4,host1:2xL4"; `model`: what they are, by default H100. `vm`: hosts are virtual machines;
    `image`: a disk image that they are copies of. Raises LabError."""
    asked = Request(name or state.default_name(), releases, addresses, internet, gpus, model, vm or bool(image), image)
    return Lab(bring_up(asked, mirror=mirror, report=report), report)


def find(name: str | None = None, *, report: Reporter = silent) -> Lab:
    """A lab that is up, by default this checkout's. Raises LabError when it is not."""
    return Lab(state.existing(name), report)


def down(name: str | None = None, *, graceful: bool = True, report: Reporter = silent) -> bool:
    """Shut the hosts down (or kill them) and remove all that `up` made. False when there was nothing to do."""
    capabilities.require_root()
    name = name or state.default_name()
    with locks.locked(name):
        record = leftovers.find(name)
        if record:
            if graceful and record.boot == state.boot_id():
                hosts.stop(record, record.hosts, report)
            leftovers.remove(record)
    leftovers.sweep(report)
    return record is not None
