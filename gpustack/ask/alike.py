"""Judges alike hosts once. A check is pure: where every fact that it reads is the same object as on a host before, and
it looks at nothing else of the host, it says the same. Of thousands of hosts most are alike.

Facts are the same object where answers have the same text (Snapshot.known), so that finding one costs no comparing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from gpustack.ask.probe import CLUSTER, UNREADABLE, Answer, FactUnavailable, Probe
from gpustack.ask.script import command
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.resolved import names


@dataclass(frozen=True)
class Evidence:
    """A command and what it said; where the command is a script, `like` is what a person would type to see the same."""

    where: str
    command: str
    answer: Answer
    like: str = ""


class Seen(Sequence[Evidence]):
    """The evidence of a judgement, made when somebody looks at it: of most nobody does."""

    __slots__ = ("read", "snapshot", "where")

    def __init__(self, snapshot: Snapshot, where: str, read: Sequence[Any]) -> None:
        """`read` are probes, of this place, or pairs of probe and place."""
        self.snapshot, self.where, self.read = snapshot, where, read

    @property
    def entries(self) -> tuple[Evidence, ...]:
        named = names(self.snapshot.inventory.spec)
        return tuple(
            Evidence(where, command(probe, named), self.snapshot.answer(probe, where), probe.like)
            for probe, where in self.pairs()
        )

    def pairs(self) -> Iterator[tuple[Probe[Any], str]]:
        """Each once, in the order of reading."""
        pairs = (one if isinstance(one, tuple) else (one, self.where) for one in self.read)
        yield from {(probe.id, where): (probe, where) for probe, where in pairs}.values()

    @property
    def asked(self) -> set[tuple[str, str]]:
        """What it rests on: ids of probes, and from where each was read."""
        return {(probe.id, where) for probe, where in self.pairs()}

    @overload
    def __getitem__(self, at: int) -> Evidence: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Evidence]: ...
    def __getitem__(self, at: int | slice) -> Evidence | Sequence[Evidence]:
        return self.entries[at]

    def __iter__(self) -> Iterator[Evidence]:
        return iter(self.entries)

    def __len__(self) -> int:
        return sum(1 for _ in self.pairs())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.entries == tuple(other)

    def __hash__(self) -> int:
        return hash(self.entries)


@dataclass(slots=True, eq=False)
class Heard:
    """What a check says, or the exception of UNREADABLE or FactUnavailable that it raised, and what it read: probes, or
    pairs of probe and another place. Alike hosts have the same object, which speaks of none of them."""

    said: Any
    read: Sequence[Any]


@dataclass(slots=True)
class Path:
    """What is read next and, by the fact's identity, where that leads; or, without a probe, what was heard in the
    end."""

    probe: Probe[Any] | None = None
    ways: dict[int, "Path"] = field(default_factory=dict)
    heard: Heard | None = None

    @property
    def known(self) -> bool:
        """Whether a check came along here before, and looked at nothing but facts."""
        return self.probe is not None or self.heard is not None


def everywhere(check: Callable[[Any], Any], snapshot: Snapshot, wheres: Iterable[str]) -> dict[str, Heard]:
    """By place. A check is run unless it is known what it says to these facts. Of thousands of hosts this is done for
    hundreds of checks: all that are alike go along what is known together."""
    places = tuple(wheres)
    if (before := remembered(snapshot).get(check)) and before.keys() >= set(places):
        return before if len(before) == len(places) else {where: before[where] for where in places}
    paths: dict[Callable[[Any], Any], Path] = snapshot.shared("judged alike", dict)
    root = paths.setdefault(check, Path())
    if places == (CLUSTER,):
        return {CLUSTER: hear(check, snapshot, CLUSTER, root)}
    found: dict[str, Heard] = {}
    ways = [(root, list(places))]
    while ways:
        path, group = ways.pop()
        while group and not path.known:
            where = group.pop()
            found[where] = hear(check, snapshot, where, root)
        if path.heard:
            found.update(dict.fromkeys(group, path.heard))
        elif group and path.probe:
            parts = divided(snapshot, path.probe, group)
            ways += [(path.ways.setdefault(fact, Path()), part) for fact, part in parts.items()]
    return {where: found[where] for where in places}


def remembered(snapshot: Snapshot) -> dict[Callable[[Any], Any], dict[str, Heard]]:
    """What checks were judged to say before (gpustack/ask/ahead.py)."""
    return snapshot.shared("judged before", dict)


def divided(snapshot: Snapshot, probe: Probe[Any], group: list[str]) -> dict[int, list[str]]:
    """The hosts of a group, not empty, by the identity of their fact."""
    if probe.where == "cluster":
        return {id(snapshot.known(probe, CLUSTER)): group}
    facts = snapshot.shared("facts by host", lambda: by_host(snapshot, probe), probe)
    kinds = snapshot.shared("kinds of facts", lambda: set(facts.values()), probe)
    if len(kinds) == 1:
        return dict.fromkeys(kinds, group)
    parts: dict[int, list[str]] = {}
    for where in group:
        parts.setdefault(facts[where], []).append(where)
    return parts


def by_host(snapshot: Snapshot, probe: Probe[Any]) -> dict[str, int]:
    return {host.name: id(snapshot.known(probe, host.name)) for host in snapshot.inventory.hosts}


def hear(check: Callable[[Any], Any], snapshot: Snapshot, where: str, root: Path) -> Heard:
    """Runs a check, and remembers from `root` on what it says to these facts if that is all that it looked at."""
    view = View(snapshot, where)
    try:
        said = check(view)
    except (FactUnavailable, *UNREADABLE) as error:
        # Its traceback would keep all that the check had in hand.
        said = error.with_traceback(None)
    heard = Heard(said, tuple([one[0] if one[1] == where else one for one in view.read]))
    if where != CLUSTER and not view.personal and view.read:
        remember(root, snapshot, where, heard)
    return heard


def remember(path: Path, snapshot: Snapshot, where: str, heard: Heard) -> None:
    """Along what was read, each fact once. A pure check reads the same next where it was told the same before."""
    for probe in {probe.id: probe for probe in heard.read}.values():
        path.probe = probe
        path = path.ways.setdefault(id(snapshot.known(probe, where)), Path())
    path.heard = heard
