"""Runs that change hosts, as of `install`, `reset`, `prove` and `doctor --fix`. They hold locks, run playbooks, stop on
a signal, and keep the evidence in a directory."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gpustack.ask import recording
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.transport.execute import run_script
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.events import INTERRUPTION, Event, Reporter
from gpustack.rollout import evidence, overlay, playbook, preview
from gpustack.rollout.anonymize import remove_secrets
from gpustack.rollout.evidence import build_loss_event
from gpustack.rollout.lease import Lease, Places, hold_locks
from gpustack.rollout.plan import PlaybookRun
from gpustack.rollout.private_folder import open_private_folder


@dataclass(frozen=True)
class Run:
    """Hold the state of a run that changes hosts. `record` reports every event and keeps it, and `private` is a folder
    in memory."""

    hosts: Inventory
    folder: Path
    record: Reporter
    private: Path
    stop: threading.Event
    lock: Lease

    def find_stop_reason(self) -> str:
        """Return the reason to stop the run, or an empty text."""
        return INTERRUPTION if self.stop.is_set() else self.lock.loss_reason

    def play(
        self,
        name: str,
        hosts: Sequence[str],
        snapshot: Snapshot,
        host_variables: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    ) -> PlaybookRun:
        """Run the playbook of that name on hosts. `host_variables` are added to the variables of the snapshot."""
        return playbook.play(name, hosts, self.prepare(snapshot, host_variables))

    def preview(
        self, name: str, hosts: Sequence[str], snapshot: Snapshot, host_variables: Mapping[str, Mapping[str, Any]]
    ) -> list[str]:
        """Run the playbook in Ansible's check mode, and return the differences in files as lines."""
        return preview.list_differences(name, hosts, self.prepare(snapshot, host_variables))

    def prepare(self, snapshot: Snapshot, host_variables: Mapping[str, Mapping[str, Any]]) -> playbook.Ansible:
        """Write the overlay, and return the arguments of Ansible. The overlay is written to memory where the folder of
        the evidence takes no files."""
        try:
            overlay_path = overlay.write_overlay(snapshot, self.folder, host_variables)
        except OSError as error:
            self.record(build_loss_event(self.folder, error))
            overlay_path = overlay.write_overlay(snapshot, self.private, host_variables)
        sources, password = overlay.list_sources(self.hosts, overlay_path), self.hosts.typed_password
        lease = self.lock
        return playbook.Ansible(
            sources, self.private, self.record, password, self.find_stop_reason, lease.run, lambda: lease.expiry
        )

    def execute(self, host: Host, script: str, **limits: Any) -> Iterator[str]:
        """Run a script as root on a host, and return its lines. Raise LockedError where the lock of the host is not
        held."""
        self.lock.require([host.name])
        return run_script(host, script, **limits)

    def keep(self, write: Callable[[Path], object]) -> None:
        """Write into the folder of the evidence. An OSError, as of a full disk, is recorded and does not fail the
        run."""
        try:
            write(self.folder)
        except OSError as error:
            self.record(build_loss_event(self.folder, error))

    def keep_snapshot(self, snapshot: Snapshot) -> None:
        self.keep(lambda folder: recording.write_recording(remove_secrets(snapshot), folder / "snapshot.jsonl"))


@contextmanager
def open_locked_run(hosts: Inventory, verb: str, places: Places, report: Reporter) -> Iterator[Run]:
    """Open a run that holds the locks of `places`. Raise LockedError, UnreachableError, and RolloutError where this
    machine takes no files."""
    folder = evidence.open_folder(verb)
    record = evidence.build_recorder(folder, report, hosts.secrets)
    stop = threading.Event()
    locks = hold_locks(places, verb, note=lambda text: record(Event("note", "", text)))
    with stop_on_signal(stop), refuse_suspension(), open_private_folder() as private, locks as lease:
        yield Run(hosts, folder, record, private, stop, lease)


@contextmanager
def refuse_suspension() -> Iterator[None]:
    """Refuse Ctrl-Z, because a suspended gpustack loses its locks and its playbook is killed."""

    def record_signal(number: int, frame: object) -> None:
        sys.stderr.write("\nCtrl-Z is refused while hosts are changed: the locks would end; Ctrl-C stops\n")

    before = signal.signal(signal.SIGTSTP, record_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)


@contextmanager
def stop_on_signal(flag: threading.Event) -> Iterator[None]:
    """Set the flag at the first Ctrl-C or SIGTERM, and raise KeyboardInterrupt at the second one."""

    def record_signal(number: int, frame: object) -> None:
        if flag.is_set():
            raise KeyboardInterrupt
        flag.set()
        sys.stderr.write("\nstopping: what runs on a host continues there; Ctrl-C again stops at once\n")

    before = {number: signal.signal(number, record_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
