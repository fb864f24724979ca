"""The locks of a run: one on each host that it may change, and one on each control plane of their cluster.

Operators may name their hosts in another order, or only some of them: what is locked is what is changed. The first lock
is taken alone, so that of two operators who name the same hosts one goes on; then all the others are taken, or none.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.pool import ThreadPool
from types import MappingProxyType

from gpustack.ask.snapshot import Snapshot
from gpustack.ask.transport.execute import interact
from gpustack.ask.transport.refusal import HostRefused
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.host import Host
from gpustack.errors import LockedError, RolloutError
from gpustack.probes.host.system import IDENTITY
from gpustack.rollout.lock import HELD_ANSWER, TAKEN_ANSWER, Hold, Session, describe_holder, read_clock, require_held
from gpustack.rollout.next_command import build_command

PARALLEL_HOSTS = 32


@dataclass(frozen=True)
class Lease:
    """Hold the locks of a run. `holds` begin with the one on which the run depends; `missing` says by host why its lock
    is not held."""

    holds: tuple[Hold, ...]
    missing: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def holder(self) -> str:
        return self.holds[0].holder

    @property
    def run(self) -> str:
        """Return the id that the first task of each play compares with the note beside the lock."""
        return self.holds[0].run

    @property
    def expiry(self) -> float:
        """Return the time until which no other run is let in, in seconds of `read_clock`; 0 once a lock is lost."""
        return 0.0 if any(hold.loss_reason for hold in self.holds) else self.holds[0].expiry

    @property
    def loss_reason(self) -> str:
        """Return the reason why the run is to stop, or an empty text while it holds its locks."""
        if reason := next((hold.loss_reason for hold in self.holds if hold.loss_reason), ""):
            return reason
        if (late := read_clock() - self.expiry) <= 0:
            return ""
        name = self.holds[0].host.name
        return f"the lock on {name} was lost: gpustack was stopped, or {name} silent, for {late:.0f} s too long"

    def require(self, names: Sequence[str]) -> None:
        """Raise LockedError where the run has lost its locks, or does not hold the lock of one of these hosts."""
        if reason := self.loss_reason:
            message = f"The run has lost its locks; {', '.join(names)} was not changed."
            raise LockedError("lock-failed", message, reason, Command("gpustack", "explain", "locked"))
        held_hosts = {hold.host.name for hold in self.holds if hold.expiry > read_clock()}
        if unlocked_hosts := [name for name in names if name not in held_hosts]:
            reason = "\n".join(f"{name}: {self.missing.get(name, 'its lock is not held')}" for name in unlocked_hosts)
            message = f"The lock on {', '.join(unlocked_hosts)} is not held; nothing was changed there."
            raise LockedError("lock-failed", message, reason)


@dataclass(frozen=True)
class Places:
    """Name the hosts to lock. `first_hosts` are tried one by one until a lock is held, then all `other_hosts`. The
    locks of `required_hosts` must be held."""

    first_hosts: tuple[Host, ...]
    other_hosts: tuple[Host, ...] = ()
    required_hosts: frozenset[str] = frozenset()


def find_silent_planes(snapshot: Snapshot) -> list[Host]:
    """Find the control planes that were not reached: another operator may hold their lock."""
    return [host for host in snapshot.inventory.control_planes if not snapshot.reach[host.name].reached]


def choose_places(snapshot: Snapshot, names: Sequence[str] = ()) -> Places:
    """Choose the hosts whose locks a run takes: all control planes that were reached, and of these names (of all hosts
    when empty) those that were. They are ordered by machine-id, which is the same for every operator. Raise
    RolloutError where none was reached."""
    reached_hosts = [host for host in snapshot.inventory.hosts if snapshot.reach[host.name].reached]
    if not reached_hosts:
        reason = "\n".join(f"{name}: {reach.reason}" for name, reach in snapshot.reach.items())
        hint = build_command(snapshot.inventory, "doctor")
        raise RolloutError("fix-no-host", "No host could be reached; nothing was changed.", reason, hint)
    ordered_hosts = sorted(reached_hosts, key=lambda host: (identify_host(snapshot, host), host.name))
    planes = [host for host in ordered_hosts if host.control_plane]
    chosen_hosts = [host for host in ordered_hosts if not host.control_plane and (not names or host.name in names)]
    required_hosts = frozenset(host.name for host in planes)
    if planes:
        return Places((planes[0],), (*planes[1:], *chosen_hosts), required_hosts)
    return Places(tuple(chosen_hosts or ordered_hosts[:1]), tuple(chosen_hosts))


def identify_host(snapshot: Snapshot, host: Host) -> str:
    view = View(snapshot, host.name)
    return view[IDENTITY].machine_id if view.has_fact(IDENTITY) else ""


@contextmanager
def hold_locks(
    places: Places, doing: str, session: Session = interact, note: Callable[[str], object] = lambda text: None
) -> Iterator[Lease]:
    """Hold the locks of these hosts. Raise LockedError with the holder where another run has one of them, HostRefused
    or LockedError where a required one cannot be taken. Any other lock that cannot be taken is noted and left out: the
    first task of a play refuses that host."""
    make = partial(Hold, holder=describe_holder(doing), session=session, run=secrets.token_hex(8))
    acquired_holds: list[Hold] = []
    try:
        lease = take_locks(places, make, acquired_holds)
        for name, reason in lease.missing.items():
            note(f"{name} will not be changed: its lock could not be taken: {reason}")
        yield lease
    finally:
        with ThreadPool(max(1, min(PARALLEL_HOSTS, len(acquired_holds)))) as pool:
            pool.map(Hold.release, acquired_holds, chunksize=1)


def take_locks(places: Places, make: Callable[..., Hold], acquired_holds: list[Hold]) -> Lease:
    """Take all locks. Raise LockedError or HostRefused where one of them fails; `acquired_holds` is filled with those
    that have to be released."""
    answers: dict[Hold, str | HostRefused] = {}
    for host in places.first_hosts:
        acquired_holds.append(make(host))
        answers[acquired_holds[-1]] = acquired_holds[-1].take_and_keep()
        if answers[acquired_holds[-1]] in (HELD_ANSWER, TAKEN_ANSWER):
            break
    tried_hosts = {hold.host.name for hold in acquired_holds}
    other_holds = [make(host, patient=True) for host in places.other_hosts if host.name not in tried_hosts]
    if other_holds and answers[acquired_holds[-1]] == HELD_ANSWER:
        acquired_holds += other_holds
        with ThreadPool(min(PARALLEL_HOSTS, len(other_holds))) as pool:
            answers |= zip(other_holds, pool.map(Hold.take_and_keep, other_holds, chunksize=1), strict=True)
    holds = tuple(hold for hold, first in answers.items() if first == HELD_ANSWER)
    for hold, first in answers.items():
        if first == TAKEN_ANSWER or hold.host.name in places.required_hosts or not holds:
            require_held(hold, first)
    missing = {
        hold.host.name: first.reach.reason if isinstance(first, HostRefused) else first
        for hold, first in answers.items()
        if first != HELD_ANSWER
    }
    return Lease(holds, MappingProxyType(missing))
