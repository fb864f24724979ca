"""The one place that acts on GPUs, with the manners of `doctor --fix`: what a killed gpustack left is put back, what
is to be done is shown, a yes, a mark with a deadline and the values before, the change, and a line of audit on the
control plane. Who calls holds the lock of the cluster.
"""

import shlex
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from gpustack.ask.transport.execute import run
from gpustack.command import Command
from gpustack.errors import RolloutError
from gpustack.events import Event, Reporter, count
from gpustack.gpus.engines.call import LIMIT, Reply, Run, call_each, reply
from gpustack.gpus.engines.endings import NodeEnding, check_settings, judge
from gpustack.gpus.engines.engine import Engine, Engines
from gpustack.gpus.engines.listings import SHOWN, Listing, list_all
from gpustack.gpus.engines.marks import Place, remove_commands, remove_pods_command, write_commands
from gpustack.gpus.engines.put_back import GONE, PutBack, check_former, is_as_before, weigh
from gpustack.gpus.engines.values import WORDS, find_former, read_values
from gpustack.probes.gpu.temporary import KINDS, LOAD, WITHOUT_VALUES, Mark

Line = tuple[str, ...]
UNMARKED = "the mark with its deadline could not be written on the nodes"


@dataclass(frozen=True)
class Work:
    """`lines` are the words for dcgmi, one line after the other until one is refused; by node in `by_node` where they
    differ. `notes` are read before the yes: what is lost, and what stays. `limit` in seconds. `kinds` are the values
    that it sets, by kind of temporary change: put back after `keep` seconds, and without that no longer temporary.
    `pods` is what pods run in place of dcgmi.
    `expected` are settings that are looked at afterwards: DCGM says yes also of a GPU that has no such setting, or is
    lost (DcgmConfigManager.cpp); an empty value is one that only comes into force later."""

    name: str
    lines: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()
    limit: float = LIMIT
    kinds: Mapping[str, str] = field(default_factory=dict)
    keep: float = 0.0
    stoppable: bool = False
    by_node: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    expected: Mapping[str, str] = field(default_factory=dict)
    pods: str = ""

    def command(self, engine: Engine) -> str:
        if self.pods:
            return f"{count(engine.free, 'pod')} with a GPU each, of {self.pods}"
        return " && ".join(map(engine.command, self.by_node.get(engine.node, self.lines)))


@dataclass(frozen=True)
class Preview:
    """What would be done: a command for each engine, and where it is typed; `marks` have what is put back then."""

    work: Work
    engines: Engines
    until: datetime | None
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Changed:
    """`put_back` are overdue changes, which came first; `marks` are what is now changed until a deadline."""

    work: Work
    endings: tuple[NodeEnding, ...]
    until: datetime | None = None
    put_back: tuple[PutBack, ...] = ()
    stopped: str = ""
    seconds: float = 0.0
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Change:
    """`who` stands in the audit; `show` and `agree` are as of a fix; `cancelled` says why to stop. The change is made
    within `around`, which says by node where it is not to be; `act` makes it where that is not by dcgmi."""

    engines: Engines
    who: str
    show: Callable[[Preview], None]
    agree: Callable[[Preview], bool]
    report: Reporter
    cancelled: Callable[[], str] = lambda: ""
    execute: Run = run
    around: Callable[[], AbstractContextManager[Mapping[str, str]]] = lambda: nullcontext({})
    act: Callable[[Sequence[Engine]], list[Reply]] | None = None

    def make(self, work: Work) -> tuple[Changed, list[Reply]]:
        """With what dcgmi printed. Raises RolloutError where it was declined, cannot be put back later, or cannot be
        marked: then nothing was done."""
        back = self.put_back_overdue()
        there = self.engines.without(one.place for one in back if one.ending in GONE)
        until = there.taken + timedelta(seconds=work.keep) if work.keep else None
        marks = self.plan_marks(work, there, until) if until else ()
        preview = Preview(work, self.engines, until, marks)
        self.show(preview)
        if self.cancelled() or not self.agree(preview):
            why = self.cancelled() or "It was declined."
            raise RolloutError(
                "change-declined", "Nothing was changed.", why, Command("gpustack", "explain", "change-declined")
            )
        if marks:
            self.write_marks(marks, there.marks)
        self.report(Event("step", "", f"{work.name} on {', '.join(one.node for one in self.engines.found)}"))
        began = time.monotonic()
        with self.around() as kept_out:
            some = [engine for engine in self.engines.found if engine.node not in kept_out and not self.cancelled()]
            replies = self.act(some) if self.act else self.call(work, some)
        self.audit(replies)
        endings = tuple(map(judge, replies))
        if work.expected:
            endings = check_settings(endings, work.expected, list_all(self.engines, "settings", self.execute))
        gone = self.find_ended(marks, endings, there.marks) if marks else list_lasting(work, endings, there.marks)
        self.remove_marks(gone)
        refused = (NodeEnding(node, "refused", why) for node, why in kept_out.items())
        left = (NodeEnding(node, "unknown", why) for node, why in self.engines.unread.items())
        stand = tuple(mark for mark in marks if (mark.node, mark.what) not in gone)
        whole = (*endings, *refused, *left)
        return Changed(work, whole, until, back, self.cancelled(), time.monotonic() - began, stand), replies

    def plan_marks(self, work: Work, there: Engines, until: datetime) -> tuple[Mark, ...]:
        """With what is in force now, or was before an earlier change for a time. Raises RolloutError."""
        marks, missing = list[Mark](), list[str]()
        for what, value in work.kinds.items():
            found = self.look(what, there.found)
            for engine in there.found:
                earlier = there.standing.get((engine.node, what))
                values = (*(one for one in (earlier.values if earlier else ()) if one != value), value)
                try:
                    former = find_former(what, read_values(what, found, engine.node), earlier) if found else ""
                except ValueError as error:
                    why = found.unread.get(engine.node, str(error)) if found else str(error)
                    missing.append(f"{engine.node}: {KINDS[what]}: {why}")
                else:
                    marks.append(Mark(engine.node, what, until, self.who, former, values))
        if missing:
            hint = Command("gpustack", "explain", "change-no-former")
            raise RolloutError("change-no-former", "Nothing was changed.", "\n".join(missing), hint)
        return tuple(marks)

    def call(self, work: Work, engines: Sequence[Engine]) -> list[Reply]:
        commands = {engine: line for engine in engines if (line := work.command(engine))}
        return call_each(commands, work.limit, self.execute, self.stopper(work))

    def find_ended(
        self, marks: Sequence[Mark], endings: Sequence[NodeEnding], standing: Collection[Place]
    ) -> set[Place]:
        """Marks of this change that stand for nothing: not asked, or refused and all is as before. An answer that did
        not come, and an earlier change that is still in force, keep theirs."""
        by_node = {one.node: one.ending for one in endings}
        new = [mark for mark in marks if (mark.node, mark.what) not in standing]
        ended = {(mark.node, mark.what) for mark in new if mark.node not in by_node}
        # A load has ended when it is over, also that of an earlier one.
        ended |= {(mark.node, LOAD) for mark in marks if mark.what == LOAD and by_node.get(mark.node) != "unknown"}
        refused = [mark for mark in new if by_node.get(mark.node) == "refused"]
        for what in {mark.what for mark in refused}:
            nodes = {mark.node for mark in refused}
            found = self.look(what, [engine for engine in self.engines.found if engine.node in nodes])
            ended |= {(mark.node, what) for mark in refused if mark.what == what and is_as_before(mark, found)}
        return ended

    def put_back_overdue(self) -> tuple[PutBack, ...]:
        """What was to be put back by now, by whomever it was done. A mark stays where that was refused."""
        overdue = self.engines.overdue
        back = list[PutBack]()
        for what in KINDS:
            asked = {one.node: one for one in self.engines.found if one.address}
            if what == LOAD:
                asked = {node: Engine(node, self.engines.acting, address="") for node, kind in overdue if kind == LOAD}
            late = {one: overdue[node, what] for node, one in asked.items() if (node, what) in overdue}
            back += self.put_back(what, late) if late else ()
        return tuple(back)

    def put_back(self, what: str, late: Mapping[Engine, Mark]) -> tuple[PutBack, ...]:
        found = self.look(what, [*late])
        weighed = {engine: weigh(mark, found) for engine, mark in late.items()}
        commands = {
            one: remove_pods_command(one.node) if what == LOAD else one.command(WORDS[what](late[one].former))
            for one in late
            if weighed[one] is None
        }
        replies = {one.node: one for one in call_each(commands, execute=self.execute)} if commands else {}
        self.audit([*replies.values()])
        after = self.look(what, [*commands]) if commands else None
        back = list[PutBack]()
        for engine, mark in late.items():
            one = weighed[engine]
            if one is None:
                answer = judge(replies[engine.node])
                done = answer.ending == "done"
                one = check_former(mark, after) if done else PutBack(mark.node, what, answer.ending, answer.why)
            if one.why:
                self.report(
                    Event("note" if one.ending in GONE else "failed", one.node, f"{KINDS[what]}, overdue: {one.why}")
                )
            back.append(one)
        self.remove_marks({one.place for one in back if one.ending in GONE})
        return tuple(back)

    def look(self, what: str, engines: Sequence[Engine]) -> Listing | None:
        """What is in force; None for what has no values."""
        if what in WITHOUT_VALUES:
            return None
        return list_all(replace(self.engines, found=tuple(engines)), SHOWN[what], self.execute)

    def write_marks(self, marks: Sequence[Mark], standing: Collection[Place]) -> None:
        if fault := self.on_acting(write_commands(marks, standing)).fault:
            raise RolloutError(
                "change-not-marked", "Nothing was changed.", f"{UNMARKED}: {fault}", Command("gpustack", "verify")
            )

    def remove_marks(self, places: Collection[Place]) -> None:
        """One that stays is looked at again when it is overdue: all is as before, so it goes then."""
        if places and (fault := self.on_acting(remove_commands(sorted(places))).fault):
            self.report(Event("failed", "", f"the mark of a temporary change could not be removed: {fault}"))

    def stopper(self, work: Work) -> Callable[[], object]:
        """Called every second: stops the work once, on all engines, when there is a reason."""
        sent = list[bool]()

        def stop() -> None:
            if work.stoppable and not sent and self.cancelled():
                sent.append(True)
                for engine in self.engines.found:
                    reply(engine.node, engine.via, engine.stop_command, LIMIT, self.execute)

        return stop

    def audit(self, replies: Sequence[Reply]) -> None:
        """A line for each node, in the run's record and in the journal of the control plane: journalctl -t gpustack."""
        if not replies:
            return
        lines = [f"{self.who}: {one.node}: {one.command}: {one.fault or 'done'}" for one in replies]
        for one, line in zip(replies, lines, strict=True):
            self.report(Event("failed" if one.fault else "changed", one.node, line))
        self.on_acting("\n".join(f"logger -t gpustack -- {shlex.quote(line[:900])}" for line in lines))

    def on_acting(self, command: str) -> Reply:
        return reply(self.engines.acting.name, self.engines.acting, command, LIMIT, self.execute)


def list_lasting(work: Work, endings: Sequence[NodeEnding], standing: Collection[Place]) -> set[Place]:
    """Marks of what was set to stay."""
    done = {one.node for one in endings if one.ending == "done"}
    return {(node, what) for node, what in standing if node in done and what in work.kinds}
