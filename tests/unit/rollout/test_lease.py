"""The locks of a run: on all that it may change, all or none, whatever the order in which operators name hosts."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.transport.refusal import HostRefused
from gpustack.config.host import CONTROL_PLANE, NODE, STANDALONE, Host
from gpustack.errors import LockedError, RolloutError, UnreachableError
from gpustack.rollout import lock
from gpustack.rollout.lease import Lease, Places, choose_places, find_silent_planes, hold_locks
from tests.worlds.snapshots import hosts
from tests.worlds.snapshots.answers import make_answer, place_answers
from tests.worlds.snapshots.build import build

PLANE = Host("k1", "10.0.0.1", groups=frozenset({CONTROL_PLANE}))
WORKER, OTHER_WORKER = Host("k2", "10.0.0.2"), Host("k3", "10.0.0.3")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {
        "HEARTBEAT": 0.01,
        "SILENCE": 0.2,
        "RETAKE": 0.3,
        "RETRY_PAUSE": 0.01,
        "ANSWER_LIMIT": 1,
    }.items():
        monkeypatch.setattr(lock, name, seconds)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengthen the limits where a lock must not be lost: a virtual machine stands still for half a second at times."""
    monkeypatch.setattr(lock, "SILENCE", 2.0)
    monkeypatch.setattr(lock, "RETAKE", 2.0)


@dataclass
class World:
    """The hosts of this world hold one lock each, as the script does. `silent` hosts refuse, `odd` ones lack flock."""

    silent: set[str] = field(default_factory=set)
    odd: set[str] = field(default_factory=set)
    holders: dict[str, object] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def open_session(self, host: Host, script: str, beats: "queue.Queue[bytes | None]") -> Iterator[str]:
        if host.name in self.silent:
            raise HostRefused(Reach(host.name, "host-ssh-unreachable", "nobody answers"))
        if host.name in self.odd:
            yield "no-flock"
            return
        with self.guard:
            self.order.append(host.name)
            free = host.name not in self.holders
            if free:
                self.holders[host.name] = beats
        if not free:
            yield "taken"
            yield "ann@desk (pid 7)"
            return
        yield "held"
        while beats.get() is not None and self.holders.get(host.name) is beats and host.name not in self.silent:
            yield "beat"
        if self.holders.get(host.name) is beats:
            del self.holders[host.name]


def wait_until(ask: Callable[[], object]) -> bool:
    end = time.monotonic() + 5
    while not ask() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(ask())


def is_held(locks: Lease, host: str) -> bool:
    """Tell whether a run may change a host."""
    try:
        locks.require([host])
    except LockedError:
        return False
    return True


@pytest.mark.long
@pytest.mark.usefixtures("patient")
def test_all_hosts_are_held_by_one_run_and_all_are_let_go() -> None:
    world = World()
    with hold_locks(Places((PLANE,), (WORKER, OTHER_WORKER)), "install", world.open_session) as locks:
        assert set(world.holders) == {"k1", "k2", "k3"}
        assert world.order[0] == "k1"
        assert len({hold.run for hold in locks.holds}) == 1
        locks.require(["k1", "k2", "k3"])
        time.sleep(4.5)
        assert locks.loss_reason == ""
        assert locks.expiry > lock.read_clock()
    assert world.holders == {}


@pytest.mark.parametrize("host", ["k1", "k2", "k3"])
def test_where_another_run_has_one_of_them_none_is_held_and_the_holder_is_named(host: str) -> None:
    world = World(holders={host: object()})
    other_holders = dict(world.holders)
    with (
        pytest.raises(LockedError, match=f"Another gpustack is changing .*{host}") as excinfo,
        hold_locks(Places((PLANE,), (WORKER, OTHER_WORKER)), "install", world.open_session),
    ):
        raise AssertionError
    assert excinfo.value.reason == "ann@desk (pid 7)"
    assert world.holders == other_holders


def test_a_worker_that_cannot_be_locked_is_left_out_and_noted() -> None:
    notes: list[str] = []
    world = World(silent={"k2"}, odd={"k3"})
    with hold_locks(Places((PLANE,), (WORKER, OTHER_WORKER)), "install", world.open_session, notes.append) as locks:
        assert dict(locks.missing) == {"k2": "nobody answers", "k3": "no-flock"}
        with pytest.raises(LockedError, match="k2") as excinfo:
            locks.require(["k1", "k2"])
        assert excinfo.value.reason == "k2: nobody answers"
    assert [note.split()[0] for note in notes] == ["k2", "k3"]


@pytest.mark.parametrize(
    ("world", "error"), [(World(silent={"k1"}), UnreachableError), (World(odd={"k1"}), LockedError)]
)
def test_a_required_one_must_be_held(world: World, error: type[Exception]) -> None:
    with (
        pytest.raises(error),
        hold_locks(Places((PLANE,), (WORKER,), frozenset({"k1"})), "install", world.open_session),
    ):
        raise AssertionError
    assert world.holders == {}


@pytest.mark.long
@pytest.mark.usefixtures("patient")
def test_a_worker_that_restarts_ends_no_run_and_is_held_again() -> None:
    """The plays of a worker that restarts wait for it, or fail; the others go on."""
    world = World()
    with hold_locks(Places((PLANE,), (WORKER,)), "install", world.open_session) as locks:
        world.silent.add("k2")
        assert wait_until(lambda: "k2" not in world.holders)
        time.sleep(4.5)
        assert locks.loss_reason == ""
        with pytest.raises(LockedError):
            locks.require(["k2"])
        world.silent.clear()
        # The host knows its holder a moment before the run knows until when.
        assert wait_until(lambda: "k2" in world.holders and is_held(locks, "k2"))


@pytest.mark.long
@pytest.mark.usefixtures("patient")
def test_a_worker_that_another_run_took_meanwhile_ends_the_run() -> None:
    world = World()
    with hold_locks(Places((PLANE,), (WORKER,)), "install", world.open_session) as locks:
        world.holders["k2"] = object()
        assert wait_until(lambda: locks.loss_reason)
        assert (locks.loss_reason, locks.expiry) == ("the lock on k2 was lost: now it is held by ann@desk (pid 7)", 0.0)


def test_the_host_on_which_a_run_depends_ends_it_with_its_silence() -> None:
    world = World()
    with hold_locks(Places((PLANE,), (WORKER,)), "install", world.open_session) as locks:
        world.silent.add("k1")
        assert wait_until(lambda: locks.loss_reason)
        assert locks.loss_reason.startswith("the lock on k1 was lost: ")


def test_a_run_that_was_stopped_has_lost_its_lock_also_where_nobody_took_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one may have come and gone, and what was played is killed by then."""
    sleeps, clock = [0.0], time.clock_gettime
    monkeypatch.setattr(time, "clock_gettime", lambda kind: clock(kind) + sleeps[0] * (kind == time.CLOCK_BOOTTIME))
    world = World()
    with hold_locks(Places((PLANE,)), "install", world.open_session) as locks:
        sleeps[0] = 70.0
        assert locks.loss_reason.startswith("the lock on k1 was lost: "), "before any thread has noticed"
        time.sleep(1)
        assert locks.loss_reason.startswith("the lock on k1 was lost: "), "and for good"
        assert locks.expiry < lock.read_clock()


def snapshot(planes: str, workers: str, silent: str = "") -> Snapshot:
    """Build a snapshot of hosts named by one letter; their machine-ids have another order than their names."""
    hosts_of_lock = [Host(name, name, groups=frozenset({CONTROL_PLANE})) for name in planes]
    hosts_of_lock += [Host(name, name, groups=frozenset({NODE if planes else STANDALONE})) for name in workers]
    reach = [Reach(name, "host-ssh-unreachable", "refused") for name in silent]
    answers: dict[tuple[str, str], Answer] = {}
    for name in {*planes, *workers} - {*silent}:
        machine = f"{ord('z') - ord(name):032x}\n\n"
        answers |= place_answers(name, replace(make_answer("system.identity", machine), location=name))
    return build(hosts_of_lock, answers, {}, reach)


def choose(planes: str, workers: str, silent: str = "", names: str = "") -> tuple[str, str]:
    places = choose_places(snapshot(planes, workers, silent), names)
    return "".join(host.name for host in places.first_hosts), "".join(host.name for host in places.other_hosts)


def test_a_cluster_is_locked_on_its_control_plane_first_and_on_all_hosts() -> None:
    assert choose("a", "bc") == ("a", "cb")


def test_a_limited_run_locks_the_control_plane_all_the_same() -> None:
    assert choose("a", "bc", names="b") == ("a", "b")


@given(st.permutations("abcd"), st.permutations("abcd"))
def test_the_order_of_an_inventory_changes_nothing(first_order: list[str], second_order: list[str]) -> None:
    assert choose("", "".join(first_order)) == choose("", "".join(second_order))
    assert (
        choose("".join(first_order[:2]), "".join(first_order[2:]))[0]
        == choose("".join(sorted(first_order[:2])), "".join(first_order[2:]))[0]
    )


def test_hosts_that_were_not_reached_are_not_locked() -> None:
    assert choose("", "abc", silent="b") == ("ca", "ca")
    assert choose("a", "bc", silent="a") == ("cb", "cb")


@pytest.mark.parametrize(
    ("planes", "unreachable", "silent"), [("a", "", ""), ("a", "a", "a"), ("ab", "b", "b"), ("", "b", "")]
)
def test_silent_control_planes_are_found(planes: str, unreachable: str, silent: str) -> None:
    assert "".join(host.name for host in find_silent_planes(snapshot(planes, "bcd", unreachable))) == silent


def test_without_a_host_the_next_command_names_the_inventory() -> None:
    snapshot = hosts.build_snapshot({})
    source = replace(snapshot.inventory, source=Path("my hosts"))
    unreachable_hosts = MappingProxyType(
        {name: Reach(name, "host-ssh-unreachable", "refused") for name in snapshot.reach}
    )
    with pytest.raises(RolloutError, match="No host could be reached") as excinfo:
        choose_places(replace(snapshot, inventory=source, reach=unreachable_hosts))
    assert excinfo.value.hint == "gpustack doctor -i 'my hosts'"


def test_two_operators_with_inventories_in_another_order_exclude_each_other() -> None:
    world = World()
    first, second = (choose_places(snapshot("", names)) for names in ("ab", "ba"))
    with (
        hold_locks(first, "install", world.open_session),
        pytest.raises(LockedError),
        hold_locks(second, "install", world.open_session),
    ):
        raise AssertionError


@given(st.sets(st.sampled_from("abcd"), min_size=1), st.sets(st.sampled_from("abcd"), min_size=1))
@settings(max_examples=20, deadline=None)
def test_two_runs_that_start_at_once_never_hold_a_common_host(first_names: set[str], second_names: set[str]) -> None:
    world, ready, active, meetings = World(), threading.Barrier(2), list[set[str]](), list[set[str]]()

    def change(names: set[str]) -> None:
        places = choose_places(snapshot("", "".join(names)))
        ready.wait()
        with suppress(LockedError), hold_locks(places, "install", world.open_session) as lease:
            assert {hold.host.name for hold in lease.holds} == names
            meetings.extend(other_names & names for other_names in active)
            active.append(names)
            time.sleep(0.02)
            active.remove(names)
            finished_names.append(names)

    finished_names: list[set[str]] = []
    threads = [threading.Thread(target=change, args=(names,)) for names in (first_names, second_names)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert [common for common in meetings if common] == []
    if first_names == second_names or not first_names & second_names:
        assert first_names in finished_names or second_names in finished_names
