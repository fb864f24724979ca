"""Judges alike hosts once. A check is pure: where every fact that it reads is the same object as on a host before, and
it looks at nothing else of the host, it says the same. Of thousands of hosts most are alike.

Facts are the same object where answers have the same text (Snapshot.known), so that finding one costs no comparing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from gpustack.ask.probe import CLUSTER, UNREADABLE, Answer, FactUnavailable, Probe, Row
from gpustack.ask.script import command
from gpustack.ask.snapshot import NOT_YET, Snapshot
from gpustack.ask.view import View
from gpustack.config.resolved import names

SHARED = ("spec", "versions", "taken")
"""What a check may look at beside facts, and that is the same on every host."""


@dataclass(frozen=True)
class Evidence:
    """A command and what it said; where the command is a script, `like` is what a person would type to see the same,
    and `rows` say what its bare values are."""

    where: str
    command: str
    answer: Answer
    like: str = ""
    rows: tuple[Row, ...] = ()


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
            Evidence(where, command(probe, named), self.snapshot.answer(probe, where), probe.like, probe.rows)
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


@dataclass(frozen=True, slots=True, eq=False)
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


class Watched:
    """A View that notes whether more is looked at than facts of its own place and what all hosts share."""

    __slots__ = ("personal", "view")

    def __init__(self, view: View) -> None:
        self.view, self.personal = view, False

    def __getitem__(self, probe: Probe[Any]) -> Any:
        return self.view[probe]

    def __getattr__(self, name: str) -> Any:
        self.personal = self.personal or name not in SHARED
        return getattr(self.view, name)


def everywhere(check: Callable[[Any], Any], snapshot: Snapshot, wheres: Iterable[str]) -> dict[str, Heard]:
    """By place. A check is run unless it is known what it says to these facts. Of thousands of hosts this is done for
    hundreds of checks, so that the way along what is known is short."""
    paths: dict[Callable[[Any], Any], Path] = snapshot.shared("judged alike", dict)
    root = paths.setdefault(check, Path())
    found: dict[str, Heard] = {}
    for where in wheres:
        path, facts = root if where != CLUSTER else NOWHERE, snapshot.facts(where)
        while path.probe is not None:
            fact = facts.get(path.probe.id, NOT_YET)
            path = path.ways.get(id(snapshot.known(path.probe, where) if fact is NOT_YET else fact), NOWHERE)
        found[where] = path.heard or hear(check, snapshot, where, root)
    return found


NOWHERE = Path()


def hear(check: Callable[[Any], Any], snapshot: Snapshot, where: str, root: Path) -> Heard:
    """Runs a check, and remembers from `root` on what it says to these facts if that is all that it looked at."""
    view = View(snapshot, where)
    watched = Watched(view)
    try:
        said = check(watched)
    except (FactUnavailable, *UNREADABLE) as error:
        # Its traceback would keep all that the check had in hand.
        said = error.with_traceback(None)
    heard = Heard(said, tuple(one[0] if one[1] == where else one for one in view.read))
    if where != CLUSTER and not watched.personal and view.read:
        remember(root, view, heard)
    return heard


def remember(path: Path, view: View, heard: Heard) -> None:
    """Along what was read, each fact once. A pure check reads the same next where it was told the same before."""
    for probe in {probe.id: probe for probe in heard.read}.values():
        path.probe = probe
        path = path.ways.setdefault(id(view.snapshot.known(probe, view.where)), Path())
    path.heard = heard
