"""A lab that is up, as tests and the command line use it.

    lab = create_lab(releases=["debian-12", "debian-13"])
    lab.exec("host1", ["sudo", "apt-get", "update"])
    lab.save("clean"); lab.restore("clean"); lab.remove()

The rest of gpustack sees an ordinary inventory (`lab.inventory`); no step, probe or role knows what a lab is.
"""

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.events import Reporter, ignore_event
from gpustack_lab.lab import bring_up, capabilities, hosts, leftovers, locks, network, snapshots, state
from gpustack_lab.lab.faults import active_faults
from gpustack_lab.lab.inventory import locate_inventory
from gpustack_lab.lab.mirror import Mirror
from gpustack_lab.lab.request import Request
from gpustack_lab.lab.state import Host, Record, Source
from gpustack_lab.simulated import hardware
from gpustack_lab.simulated.state_text import Gpu

__all__ = ["Lab", "Mirror", "create_lab", "find_lab", "locate_inventory", "remove_lab", "start_lab", "stop_lab"]


@dataclass(frozen=True)
class Lab:
    """Hold a lab that is up."""

    record: Record
    report: Reporter = ignore_event

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def hosts(self) -> tuple[Host, ...]:
        return self.record.hosts

    @property
    def inventory(self) -> Path:
        return locate_inventory(self.name)

    @property
    def ssh_config(self) -> Path:
        return self.record.state / "ssh_config"

    def build_ssh_command(self, host: str) -> list[str]:
        """Build the words of ssh to a host, without a remote command. Raise LabError for an unknown host."""
        return hosts.build_ssh_command(self.record, self.record.select_host(host))

    def exec(
        self, host: str, argv: Sequence[str], *, text: str = "", limit: float = 600.0
    ) -> subprocess.CompletedProcess[str]:
        """Run `argv` on a host as `ops`. The status 255 is ssh's own failure. Raise TimeoutExpired after `limit`
        seconds."""
        command = [*self.build_ssh_command(host), "--", shlex.join(argv)]
        return subprocess.run(
            command, input=text, capture_output=True, text=True, errors="replace", timeout=limit, check=False
        )

    def read_gpus(self, host: str) -> tuple[Gpu, ...]:
        """Read the present simulated GPUs of a host. Raise LabError for an unknown host."""
        gpu_state = hardware.read(self.record.locate_root(self.record.select_host(host)))
        return gpu_state.gpus if gpu_state else ()

    def set_gpu(self, gpu: str, *words: str) -> list[Gpu]:
        """Set a GPU, as `set_gpu("host1:0", "xid=79")`, or all GPUs of a host without an index. Running containers see
        it at once.

        Raise LabError for an unknown host, GPU or word.
        """
        host, indices = self.select_gpus(gpu)
        return hardware.change(self.record.locate_root(self.record.select_host(host)), indices, words)

    def select_gpus(self, gpu: str) -> tuple[str, Sequence[int]]:
        """Select host and indices of "host1:0" or "host1". Raise LabError for an unknown one."""
        host, index = hardware.parse_gpu_name(gpu)
        indices = range(len(self.read_gpus(host)))
        if not indices or index not in (None, *indices):
            has = f"The host has {', '.join(f'{host}:{i}' for i in indices)}." if indices else "The host has none."
            raise LabError(
                "lab-unknown-gpu", f"Lab {self.name} has no GPU {gpu}.", has, Command("gpustack", "lab", "gpu", "list")
            )
        return host, indices if index is None else [index]

    def save(self, snapshot: str) -> None:
        capabilities.require_root()
        snapshots.save(self.record, snapshot, self.report)

    def restore(self, snapshot: str) -> None:
        capabilities.require_root()
        snapshots.restore(self.record, snapshot, self.report)
        active_faults.write(self.record, [])

    def remove(self) -> None:
        remove_lab(self.name, report=self.report)

    def kill(self) -> None:
        remove_lab(self.name, graceful=False, report=self.report)


def create_lab(
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
    report: Reporter = ignore_event,
) -> Lab:
    """Bring up a lab with one host per release, named host1, host2, …; it outlives this process. With `internet` hosts
    find the official names on the bridge, answered from the mirror. `gpus` is "2" for simulated ones on every host, or
    "host2:4,host1:2xL4"; `model` is their model, by default H100. With `vm` hosts are virtual machines; `image` is the
    disk image that they are copies of. Raise LabError."""
    request = Request(
        name or state.compute_default_name(), releases, addresses, internet, gpus, model, vm or bool(image), image
    )
    return Lab(bring_up.bring_up(request, mirror=mirror, report=report), report)


def find_lab(name: str | None = None, *, report: Reporter = ignore_event) -> Lab:
    """Find a lab that is up, by default this checkout's. Raise LabError when it is not, or is stopped."""
    return Lab(state.read_running(name), report)


def start_lab(
    name: str | None = None, *, mirror: Mirror | Source | None = None, report: Reporter = ignore_event
) -> Lab:
    """Boot the hosts of a lab that was stopped or lost power, as its record says. `mirror` is the one that its bundle
    is served by. Raise LabError."""
    return Lab(bring_up.start(name, mirror=mirror, report=report), report)


def stop_lab(name: str | None = None, *, report: Reporter = ignore_event) -> None:
    """Power the hosts of a lab off and keep their disks, snapshots and addresses. It is safe to repeat. Raise LabError
    when there is no such lab."""
    capabilities.require_root()
    name = state.read_existing(name).name
    with locks.hold_lock(name):
        record = replace(state.read_existing(name), stopped=True)
        # Noted first: the next command removes a lab of which nothing runs and which nobody stopped.
        state.write(record)
        if record.boot == state.read_boot_id():
            hosts.stop(record, record.hosts, report)
        leftovers.end_processes(record)
        with locks.hold_lock("machine"):
            network.drop_network(record)
            leftovers.restore_machine(record)


def remove_lab(name: str | None = None, *, graceful: bool = True, report: Reporter = ignore_event) -> bool:
    """Shut the hosts down (or kill them) and remove everything that `create_lab` created. Return False when there was
    nothing to do."""
    capabilities.require_root()
    name = name or state.compute_default_name()
    with locks.hold_lock(name):
        record = leftovers.find(name)
        if record:
            if graceful and record.boot == state.read_boot_id():
                hosts.stop(record, record.hosts, report)
            leftovers.remove(record)
    leftovers.remove_dead_labs(report)
    return record is not None
