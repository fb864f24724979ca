"""What `install`, `reset`, `prove` and `doctor --fix` have in common: confirm, hold the lock, run playbooks, stop on a
signal, and keep the evidence in a directory."""

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
from gpustack.ask.transport.execute import run
from gpustack.command import Command
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.events import INTERRUPTED, Event, Reporter
from gpustack.rollout import evidence, overlay, playbook, preview
from gpustack.rollout.anonymize import remove_secrets
from gpustack.rollout.evidence import not_kept
from gpustack.rollout.lease import Lease, Places, hold_locks
from gpustack.rollout.next import build_command
from gpustack.rollout.plan import Played
from gpustack.rollout.private import private_folder


def confirm(question: str) -> bool:
    """A yes on a terminal; without one, --yes is needed."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"\n{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def repeat_command(verb: str, hosts: Inventory, *flags: str, **given: Sequence[str] | None) -> Command:
    """Return the command that was declined, with --yes: on the same hosts, with the same options."""
    named = [word for name, words in given.items() if words for word in (f"--{name}", ",".join(words))]
    here = [] if hosts.source else ["--this-host"]
    return build_command(hosts, verb, "--yes").extend(*named, *here, *filter(None, flags))


@dataclass(frozen=True)
class Run:
    """A run that changes hosts. `record` reports every event and keeps it; `private` is a folder in memory."""

    hosts: Inventory
    folder: Path
    record: Reporter
    private: Path
    stop: threading.Event
    lock: Lease

    def stop_reason(self) -> str:
        """Why the run is to stop; nothing while it is not."""
        return INTERRUPTED if self.stop.is_set() else self.lock.lost

    def play(
        self,
        name: str,
        wanted: Sequence[str],
        snapshot: Snapshot,
        more: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    ) -> Played:
        """Plays the playbook of that name on hosts; `more` are variables beside those of the snapshot."""
        return playbook.play(name, wanted, self.prepare(snapshot, more))

    def preview(
        self, name: str, wanted: Sequence[str], snapshot: Snapshot, more: Mapping[str, Mapping[str, Any]]
    ) -> list[str]:
        """What the playbook would change in files, in Ansible's check mode."""
        return preview.differences(name, wanted, self.prepare(snapshot, more))

    def prepare(self, snapshot: Snapshot, more: Mapping[str, Mapping[str, Any]]) -> playbook.Ansible:
        """With an overlay, which lies in memory where the evidence takes no files."""
        try:
            written = overlay.write(snapshot, self.folder, more)
        except OSError as error:
            self.record(not_kept(self.folder, error))
            written = overlay.write(snapshot, self.private, more)
        sources, typed = overlay.sources(self.hosts, written), self.hosts.typed_password
        held = self.lock
        return playbook.Ansible(
            sources, self.private, self.record, typed, self.stop_reason, held.run, lambda: held.until
        )

    def execute(self, host: Host, script: str, **limits: Any) -> Iterator[str]:
        """Run a script as root on a host whose lock is held, as ask/transport/execute.py does. Raises LockedError."""
        self.lock.require([host.name])
        return run(host, script, **limits)

    def keep(self, write: Callable[[Path], object]) -> None:
        """Writes into the folder of the evidence; a disk that is full fails no run."""
        try:
            write(self.folder)
        except OSError as error:
            self.record(not_kept(self.folder, error))

    def keep_snapshot(self, snapshot: Snapshot) -> None:
        self.keep(lambda folder: recording.write(remove_secrets(snapshot), folder / "snapshot.jsonl"))


@contextmanager
def locked_run(hosts: Inventory, verb: str, places: Places, report: Reporter) -> Iterator[Run]:
    """`places` are the hosts whose locks are held. Raises LockedError, UnreachableError, and RolloutError where this
    machine takes no files."""
    folder = evidence.open_folder(verb)
    record = evidence.recorder(folder, report, hosts.secrets)
    stop = threading.Event()
    locks = hold_locks(places, verb, note=lambda text: record(Event("note", "", text)))
    with stop_on_signal(stop), refuse_suspension(), private_folder() as private, locks as held:
        yield Run(hosts, folder, record, private, stop, held)


@contextmanager
def refuse_suspension() -> Iterator[None]:
    """Ctrl-Z would stop this program alone: its locks would end, and what it plays would be killed."""

    def handle_signal(number: int, frame: object) -> None:
        sys.stderr.write("\nCtrl-Z is refused while hosts are changed: the locks would end; Ctrl-C stops\n")

    before = signal.signal(signal.SIGTSTP, handle_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)


@contextmanager
def stop_on_signal(flag: threading.Event) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM sets the flag; the second one ends the program with 130."""

    def handle_signal(number: int, frame: object) -> None:
        if flag.is_set():
            raise KeyboardInterrupt
        flag.set()
        sys.stderr.write("\nstopping: what runs on a host continues there; Ctrl-C again stops at once\n")

    before = {number: signal.signal(number, handle_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
