"""The locks of a run: one on each host that it may change, and one on each control plane of their cluster.

Operators may name their hosts in another order, or only some of them: what is locked is what is changed. The first lock
is taken alone, so that of those who name the same hosts one goes on; then all the others, or none.
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
from gpustack.rollout.lock import HELD, TAKEN, Hold, Session, describe_holder, read_clock, require_held
from gpustack.rollout.next import build_command

AT_ONCE = 32


@dataclass(frozen=True)
class Lease:
    """`holds` begin with the one on which the run depends; `missing` says by host why its lock is not held."""

    holds: tuple[Hold, ...]
    missing: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def who(self) -> str:
        return self.holds[0].who

    @property
    def run(self) -> str:
        """The id that the first task of each play compares with the note beside the lock."""
        return self.holds[0].run

    @property
    def until(self) -> float:
        """Until when no other run is let in, in seconds of `read_clock`; 0 once a lock is lost."""
        return 0.0 if any(hold.lost for hold in self.holds) else self.holds[0].until

    @property
    def lost(self) -> str:
        """Return the reason why the run is to stop, or an empty text while it holds its locks."""
        if why := next((hold.lost for hold in self.holds if hold.lost), ""):
            return why
        if (late := read_clock() - self.until) <= 0:
            return ""
        name = self.holds[0].host.name
        return f"the lock on {name} was lost: gpustack was stopped, or {name} silent, for {late:.0f} s too long"

    def require(self, names: Sequence[str]) -> None:
        """Raise LockedError where the run has lost its locks, or does not hold the lock of one of these hosts."""
        if why := self.lost:
            message = f"The run has lost its locks; {', '.join(names)} was not changed."
            raise LockedError("lock-failed", message, why, Command("gpustack", "explain", "locked"))
        held = {hold.host.name for hold in self.holds if hold.until > read_clock()}
        if away := [name for name in names if name not in held]:
            why = "\n".join(f"{name}: {self.missing.get(name, 'its lock is not held')}" for name in away)
            message = f"The lock on {', '.join(away)} is not held; nothing was changed there."
            raise LockedError("lock-failed", message, why, Command("gpustack", "explain", "lock-failed"))


@dataclass(frozen=True)
class Places:
    """Hosts to lock: `first` one by one until a lock is held, then `others`; those of `required` must be held."""

    first: tuple[Host, ...]
    others: tuple[Host, ...] = ()
    required: frozenset[str] = frozenset()


def find_silent_planes(snapshot: Snapshot) -> list[Host]:
    """Find the control planes that were not reached: another operator may hold their lock."""
    return [host for host in snapshot.inventory.control_planes if not snapshot.reach[host.name].reached]


def choose_places(snapshot: Snapshot, names: Sequence[str] = ()) -> Places:
    """Choose all control planes that were reached, and of these names (of all hosts when empty) those that were. Their
    order is that of machine-ids, which is the same for every operator. Raises RolloutError where none was reached."""
    reached = [host for host in snapshot.inventory.hosts if snapshot.reach[host.name].reached]
    if not reached:
        why = "\n".join(f"{name}: {reach.why}" for name, reach in snapshot.reach.items())
        hint = build_command(snapshot.inventory, "doctor")
        raise RolloutError("fix-no-host", "No host could be reached; nothing was changed.", why, hint)
    ordered = sorted(reached, key=lambda host: (identify_host(snapshot, host), host.name))
    planes = [host for host in ordered if host.control_plane]
    chosen = [host for host in ordered if not host.control_plane and (not names or host.name in names)]
    required = frozenset(host.name for host in planes)
    if planes:
        return Places((planes[0],), (*planes[1:], *chosen), required)
    return Places(tuple(chosen or ordered[:1]), tuple(chosen))


def identify_host(snapshot: Snapshot, host: Host) -> str:
    view = View(snapshot, host.name)
    return view[IDENTITY].machine_id if view.available(IDENTITY) else ""


@contextmanager
def hold_locks(
    places: Places, doing: str, session: Session = interact, note: Callable[[str], object] = lambda text: None
) -> Iterator[Lease]:
    """Hold the locks of these hosts. Raises LockedError with the holder where another run has one of them, HostRefused
    or LockedError where a required one cannot be taken. Any other that cannot be taken is noted and left out: the first
    task of a play refuses that host."""
    make = partial(Hold, who=describe_holder(doing), session=session, run=secrets.token_hex(8))
    taken: list[Hold] = []
    try:
        lease = take_locks(places, make, taken)
        for name, why in lease.missing.items():
            note(f"{name} will not be changed: its lock could not be taken: {why}")
        yield lease
    finally:
        with ThreadPool(max(1, min(AT_ONCE, len(taken)))) as pool:
            pool.map(Hold.release, taken, chunksize=1)


def take_locks(places: Places, make: Callable[..., Hold], taken: list[Hold]) -> Lease:
    """Take them all, or raise; `taken` is filled with those that have to be released."""
    answers: dict[Hold, str | HostRefused] = {}
    for host in places.first:
        taken.append(make(host))
        answers[taken[-1]] = taken[-1].take_and_keep()
        if answers[taken[-1]] in (HELD, TAKEN):
            break
    tried = {hold.host.name for hold in taken}
    others = [make(host, patient=True) for host in places.others if host.name not in tried]
    if others and answers[taken[-1]] == HELD:
        taken += others
        with ThreadPool(min(AT_ONCE, len(others))) as pool:
            answers |= zip(others, pool.map(Hold.take_and_keep, others, chunksize=1), strict=True)
    holds = tuple(hold for hold, first in answers.items() if first == HELD)
    for hold, first in answers.items():
        if first == TAKEN or hold.host.name in places.required or not holds:
            require_held(hold, first)
    missing = {
        hold.host.name: first.reach.why if isinstance(first, HostRefused) else first
        for hold, first in answers.items()
        if first != HELD
    }
    return Lease(holds, MappingProxyType(missing))
