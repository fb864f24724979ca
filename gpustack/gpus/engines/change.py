"""The one place that acts on GPUs, with the manners of `doctor --fix`: what a killed gpustack left is put back, what
is to be done is shown, a yes, a mark with a deadline, the change, and a line of audit on the control plane. Who calls
holds the lock of the cluster.
"""

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from gpustack.ask.transport.execute import run
from gpustack.errors import RolloutError
from gpustack.events import Event, Reporter
from gpustack.gpus.engines.boxes import BLANK
from gpustack.gpus.engines.call import LIMIT, Reply, Run, call_each, reply
from gpustack.gpus.engines.engine import Engine, Engines
from gpustack.gpus.engines.listings import Listing, Setting, list_all
from gpustack.gpus.engines.marks import BACK, Mark, read_mark, remove_command, write_command

Line = tuple[str, ...]
Ending = Literal["done", "refused", "unknown"]
UNMARKED = "the mark with its deadline could not be written on the nodes"


@dataclass(frozen=True)
class Work:
    """`lines` are the words for dcgmi, one line after the other until one is refused; by node in `by_node` where they
    differ. `notes` are read before the yes: what is lost, and what stays. `limit` in seconds. `what` (of BACK) is put
    back after `keep` seconds; without it the change stays. `ends` is the change of BACK that it puts back itself.
    `expected` are settings that are looked at afterwards: DCGM says yes also of a GPU that has no such setting, or is
    lost (DcgmConfigManager.cpp); an empty value is one that only comes into force later."""

    name: str
    lines: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()
    limit: float = LIMIT
    what: str = ""
    keep: float = 0.0
    ends: str = ""
    stoppable: bool = False
    by_node: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    expected: Mapping[str, str] = field(default_factory=dict)

    def command(self, engine: Engine) -> str:
        return " && ".join(map(engine.command, self.by_node.get(engine.node, self.lines)))


@dataclass(frozen=True)
class Preview:
    """What would be done: a command for each engine, and where it is typed."""

    work: Work
    engines: Engines
    until: datetime | None


@dataclass(frozen=True)
class NodeEnding:
    """`unknown`: no answer came, and it may have been done."""

    node: str
    ending: Ending
    why: str = ""


@dataclass(frozen=True)
class Changed:
    """`put_back` are nodes where an overdue change was put back first."""

    work: Work
    endings: tuple[NodeEnding, ...]
    until: datetime | None = None
    put_back: tuple[NodeEnding, ...] = ()
    stopped: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Change:
    """`who` stands in the audit; `show` and `agree` are as of a fix; `cancelled` says why to stop. The change is made
    within `around`, which says by node where it is not to be."""

    engines: Engines
    who: str
    show: Callable[[Preview], None]
    agree: Callable[[Preview], bool]
    report: Reporter
    cancelled: Callable[[], str] = lambda: ""
    execute: Run = run
    around: Callable[[], AbstractContextManager[Mapping[str, str]]] = lambda: nullcontext({})

    def make(self, work: Work) -> tuple[Changed, list[Reply]]:
        """With what dcgmi printed. Raises RolloutError where it was declined, or cannot be marked: then nothing was
        done."""
        back = self.put_back_overdue()
        until = self.engines.taken + timedelta(seconds=work.keep) if work.what else None
        preview = Preview(work, self.engines, until)
        self.show(preview)
        if self.cancelled() or not self.agree(preview):
            why = self.cancelled() or "It was declined."
            raise RolloutError("change-declined", "Nothing was changed.", why, "gpustack explain change-declined")
        if until:
            self.write_mark(Mark(work.what, until, self.who))
        self.report(Event("step", "", f"{work.name} on {', '.join(one.node for one in self.engines.found)}"))
        began = time.monotonic()
        with self.around() as kept_out:
            some = [engine for engine in self.engines.found if engine.node not in kept_out and not self.cancelled()]
            commands = {engine: line for engine in some if (line := work.command(engine))}
            replies = call_each(commands, work.limit, self.execute, self.stopper(work))
        endings = (*map(judge, replies), *(NodeEnding(node, "refused", why) for node, why in kept_out.items()))
        if over := [one.node for one in endings if self.is_over(work, one)]:
            self.on_acting(remove_command(over))
        self.audit(replies)
        if work.expected:
            endings = check_settings(endings, work.expected, list_all(self.engines, "settings", self.execute))
        left = tuple(NodeEnding(node, "unknown", why) for node, why in self.engines.unread.items())
        return Changed(work, (*endings, *left), until, back, self.cancelled(), time.monotonic() - began), replies

    def is_over(self, work: Work, one: NodeEnding) -> bool:
        """Whether its mark has no change left to stand for."""
        mark = read_mark(self.engines.marks.get(one.node, ""))
        ended = one.ending == "done" and mark is not None and mark.what == work.ends
        return ended or (bool(work.what) and one.ending == "refused" and mark is None)

    def put_back_overdue(self) -> tuple[NodeEnding, ...]:
        """What was to be put back by now, by whomever it was done. A mark stays where that was refused."""
        overdue = self.engines.overdue
        commands = {one: one.command(BACK[overdue[one.node].what]) for one in self.engines.found if one.node in overdue}
        if not commands:
            return ()
        replies = call_each(commands, execute=self.execute)
        endings = tuple(map(judge, replies))
        if done := [one.node for one in endings if one.ending == "done"]:
            self.on_acting(remove_command(done))
        self.audit(replies)
        return endings

    def write_mark(self, mark: Mark) -> None:
        command = write_command([one.node for one in self.engines.found], mark)
        if fault := self.on_acting(command).fault:
            raise RolloutError("change-not-marked", "Nothing was changed.", f"{UNMARKED}: {fault}", "gpustack verify")

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


def judge(one: Reply) -> NodeEnding:
    ending: Ending = "unknown" if one.lost else "refused" if one.fault else "done"
    return NodeEnding(one.node, ending, one.fault)


def check_settings(
    endings: Sequence[NodeEnding], expected: Mapping[str, str], found: Listing
) -> tuple[NodeEnding, ...]:
    """Those that were done, by what is in force now."""
    return tuple(check_node(one, expected, found) if one.ending == "done" else one for one in endings)


def check_node(one: NodeEnding, expected: Mapping[str, str], found: Listing) -> NodeEnding:
    rows = [row for row in found.rows if isinstance(row, Setting) and row.node == one.node]
    if not rows:
        return NodeEnding(one.node, "unknown", found.unread.get(one.node, "no GPU was named afterwards"))
    odd = [row for row in rows if row.setting in expected and not is_as_expected(row.current, expected[row.setting])]
    why = "; ".join(f"GPU {row.gpu}: {row.setting} is {row.current}" for row in odd)
    return NodeEnding(one.node, "refused", why) if odd else one


def is_as_expected(current: str, expected: str) -> bool:
    return current == expected if expected else current not in BLANK
