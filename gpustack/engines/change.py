"""The one module that changes GPUs, in the order of `doctor --fix`.

Overdue changes of a killed gpustack are reverted, the commands are shown and confirmed, a mark with a deadline and the
former values is written, the change is made, and the control plane gets a line of audit. The caller holds the lock of
the cluster.
"""

import shlex
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from gpustack.ask.transport.execute import run_script
from gpustack.command import Command
from gpustack.engines.call import LIMIT, Reply, Run, call_each, run_command
from gpustack.engines.endings import NodeEnding, check_settings, judge_reply
from gpustack.engines.engine import Engine, Engines
from gpustack.engines.listings import TOPIC_BY_KIND, Listing, list_topic
from gpustack.engines.marks import Place, build_mark_commands, build_pod_removal, build_unmark_commands
from gpustack.engines.revert import FINAL_ENDINGS, Revert, check_former, is_as_before, judge_mark
from gpustack.engines.values import WORDS, extract_values, find_former
from gpustack.errors import RolloutError
from gpustack.events import INTERRUPTION, Event, Reporter, format_count
from gpustack.exit_status import ExitStatus, select_status
from gpustack.probes.gpu.temporary_changes import KINDS, LOAD, WITHOUT_VALUES, Mark

Line = tuple[str, ...]
MARK_FAILURE = "the mark with its deadline could not be written on the nodes"


@dataclass(frozen=True)
class Operation:
    """Describe a change. `lines` are the words for dcgmi, run one line after the other until one is refused; `by_node`
    has them by node where they differ. `notes` are shown before the confirmation: they name the losses and the settings
    that stay. `limit` is in seconds. `kinds` are the values that it sets, by kind of temporary change: they are
    reverted after `keep` seconds, and without that they are no longer temporary. `pods` names the program that pods run
    in place of dcgmi. `expected_settings` are checked afterwards: DCGM also accepts a setting of a GPU that has no such
    setting, or is lost (DcgmConfigManager.cpp); an empty value is one that only comes into force later."""

    name: str
    lines: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()
    limit: float = LIMIT
    kinds: Mapping[str, str] = field(default_factory=dict)
    keep: float = 0.0
    stoppable: bool = False
    by_node: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    expected_settings: Mapping[str, str] = field(default_factory=dict)
    pods: str = ""

    def build_command(self, engine: Engine) -> str:
        if self.pods:
            return f"{format_count(engine.free, 'pod')} with a GPU each, of {self.pods}"
        return " && ".join(map(engine.build_command, self.by_node.get(engine.node, self.lines)))


@dataclass(frozen=True)
class Preview:
    """Show a change before it is made: a command for each engine and the host that runs it; `marks` have the values
    that are reverted later."""

    operation: Operation
    engines: Engines
    deadline: datetime | None
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class ChangeResult:
    """Hold the result of a change. `reverts` are overdue changes, which came first; `marks` are the changes that now
    last until a deadline."""

    operation: Operation
    endings: tuple[NodeEnding, ...]
    deadline: datetime | None = None
    reverts: tuple[Revert, ...] = ()
    stop_reason: str = ""
    seconds: float = 0.0
    marks: tuple[Mark, ...] = ()

    @property
    def exit_status(self) -> ExitStatus:
        endings = {ending.ending for ending in self.endings} | {revert.ending for revert in self.reverts}
        return select_status(
            interrupted=self.stop_reason == INTERRUPTION, failed="refused" in endings, unknown="unknown" in endings
        )


@dataclass(frozen=True)
class Change:
    """Apply changes. `author` is written to the audit; `show` and `agree` are those of a fix; `cancel_reason` says why
    to stop. A change is made within `context`, which names by node why it is to be left out; `act` makes it where dcgmi
    does not."""

    engines: Engines
    author: str
    show: Callable[[Preview], None]
    agree: Callable[[Preview], bool]
    report: Reporter
    cancel_reason: Callable[[], str] = lambda: ""
    execute: Run = run_script
    context: Callable[[], AbstractContextManager[Mapping[str, str]]] = lambda: nullcontext({})
    act: Callable[[Sequence[Engine]], list[Reply]] | None = None

    def apply_operation(self, operation: Operation) -> tuple[ChangeResult, list[Reply]]:
        """Apply an operation, and return the result with the output of dcgmi. Raise RolloutError where it was declined,
        cannot be reverted later, or cannot be marked: then nothing was done."""
        reverts = self.revert_overdue()
        engines = self.engines.drop_marks(
            finished_revert.place for finished_revert in reverts if finished_revert.ending in FINAL_ENDINGS
        )
        deadline = engines.taken_at + timedelta(seconds=operation.keep) if operation.keep else None
        marks = self.plan_marks(operation, engines, deadline) if deadline else ()
        preview = Preview(operation, self.engines, deadline, marks)
        self.show(preview)
        if self.cancel_reason() or not self.agree(preview):
            reason = self.cancel_reason() or "It was declined."
            raise RolloutError("change-declined", "Nothing was changed.", reason)
        if marks:
            self.write_marks(marks, engines.marks)
        self.report(
            Event("step", "", f"{operation.name} on {', '.join(engine.node for engine in self.engines.members)}")
        )
        started_at = time.monotonic()
        with self.context() as kept_out:
            members = [
                engine for engine in self.engines.members if engine.node not in kept_out and not self.cancel_reason()
            ]
            replies = self.act(members) if self.act else self.call_engines(operation, members)
        self.audit(replies)
        endings = tuple(map(judge_reply, replies))
        if operation.expected_settings:
            endings = check_settings(
                endings, operation.expected_settings, list_topic(self.engines, "settings", self.execute)
            )
        obsolete_places = (
            self.find_ended(marks, endings, engines.marks) if marks else list_lasting(operation, endings, engines.marks)
        )
        self.remove_marks(obsolete_places)
        refused_endings = (NodeEnding(node, "refused", reason) for node, reason in kept_out.items())
        unread_endings = (NodeEnding(node, "unknown", reason) for node, reason in self.engines.unread.items())
        standing_marks = tuple(mark for mark in marks if (mark.node, mark.kind) not in obsolete_places)
        all_endings = (*endings, *refused_endings, *unread_endings)
        stop_reason, seconds = self.cancel_reason(), time.monotonic() - started_at
        result = ChangeResult(operation, all_endings, deadline, reverts, stop_reason, seconds, standing_marks)
        return result, replies

    def plan_marks(self, operation: Operation, engines: Engines, deadline: datetime) -> tuple[Mark, ...]:
        """Plan the marks with the values in force, or those before an earlier temporary change. Raise RolloutError
        where a value cannot be reverted later."""
        marks, missing = list[Mark](), list[str]()
        for kind, value in operation.kinds.items():
            listing = self.list_current(kind, engines.members)
            for engine in engines.members:
                earlier = engines.standing.get((engine.node, kind))
                values = (
                    *(former_value for former_value in (earlier.values if earlier else ()) if former_value != value),
                    value,
                )
                try:
                    former = find_former(kind, extract_values(kind, listing, engine.node), earlier) if listing else ""
                except ValueError as error:
                    reason = listing.unread.get(engine.node, str(error)) if listing else str(error)
                    missing.append(f"{engine.node}: {KINDS[kind]}: {reason}")
                else:
                    marks.append(Mark(engine.node, kind, deadline, self.author, former, values))
        if missing:
            raise RolloutError("change-no-former", "Nothing was changed.", "\n".join(missing))
        return tuple(marks)

    def call_engines(self, operation: Operation, engines: Sequence[Engine]) -> list[Reply]:
        commands = {engine: line for engine in engines if (line := operation.build_command(engine))}
        return call_each(commands, operation.limit, self.execute, self.build_stopper(operation))

    def find_ended(
        self, marks: Sequence[Mark], endings: Sequence[NodeEnding], standing: Collection[Place]
    ) -> set[Place]:
        """Find the marks of this change that are not needed: nothing was sent, or it was refused and all values are the
        former ones. A missing answer, and an earlier change that is still in force, keep their marks."""
        by_node = {ending.node: ending.ending for ending in endings}
        new_marks = [mark for mark in marks if (mark.node, mark.kind) not in standing]
        places = {(mark.node, mark.kind) for mark in new_marks if mark.node not in by_node}
        # A load has ended when it is over, also that of an earlier one.
        places |= {(mark.node, LOAD) for mark in marks if mark.kind == LOAD and by_node.get(mark.node) != "unknown"}
        refused_marks = [mark for mark in new_marks if by_node.get(mark.node) == "refused"]
        for kind in {mark.kind for mark in refused_marks}:
            nodes = {mark.node for mark in refused_marks}
            listing = self.list_current(kind, [engine for engine in self.engines.members if engine.node in nodes])
            places |= {(mark.node, kind) for mark in refused_marks if mark.kind == kind and is_as_before(mark, listing)}
        return places

    def revert_overdue(self) -> tuple[Revert, ...]:
        """Revert all overdue changes, whoever made them. A mark stays where that was refused."""
        overdue = self.engines.overdue
        reverts = list[Revert]()
        for change_kind in KINDS:
            by_node = {engine.node: engine for engine in self.engines.members if engine.address}
            if change_kind == LOAD:
                by_node = {
                    node: Engine(node, self.engines.acting, address="") for node, kind in overdue if kind == LOAD
                }
            overdue_marks = {
                late_engine: overdue[node, change_kind]
                for node, late_engine in by_node.items()
                if (node, change_kind) in overdue
            }
            reverts += self.revert_changes(change_kind, overdue_marks) if overdue_marks else ()
        return tuple(reverts)

    def revert_changes(self, kind: str, overdue_marks: Mapping[Engine, Mark]) -> tuple[Revert, ...]:
        listing = self.list_current(kind, [*overdue_marks])
        decisions = {engine: judge_mark(mark, listing) for engine, mark in overdue_marks.items()}
        commands = {
            late_engine: build_pod_removal(late_engine.node)
            if kind == LOAD
            else late_engine.build_command(WORDS[kind](overdue_marks[late_engine].former))
            for late_engine in overdue_marks
            if decisions[late_engine] is None
        }
        replies = {reply.node: reply for reply in call_each(commands, execute=self.execute)} if commands else {}
        self.audit([*replies.values()])
        new_listing = self.list_current(kind, [*commands]) if commands else None
        reverts = list[Revert]()
        for engine, mark in overdue_marks.items():
            revert = decisions[engine]
            if revert is None:
                answer = judge_reply(replies[engine.node])
                revert = Revert(mark.node, kind, answer.ending, answer.reason)
                if answer.ending == "done":
                    revert = check_former(mark, new_listing)
            if revert.reason:
                self.report(
                    Event(
                        "note" if revert.ending in FINAL_ENDINGS else "failed",
                        revert.node,
                        f"{KINDS[kind]}, overdue: {revert.reason}",
                    )
                )
            reverts.append(revert)
        self.remove_marks(
            {finished_revert.place for finished_revert in reverts if finished_revert.ending in FINAL_ENDINGS}
        )
        return tuple(reverts)

    def list_current(self, kind: str, engines: Sequence[Engine]) -> Listing | None:
        """List the values in force. Return None for a kind that has no values."""
        if kind in WITHOUT_VALUES:
            return None
        return list_topic(replace(self.engines, members=tuple(engines)), TOPIC_BY_KIND[kind], self.execute)

    def write_marks(self, marks: Sequence[Mark], standing: Collection[Place]) -> None:
        if fault := self.run_on_control_plane(build_mark_commands(marks, standing)).fault:
            raise RolloutError(
                "change-not-marked", "Nothing was changed.", f"{MARK_FAILURE}: {fault}", Command("gpustack", "verify")
            )

    def remove_marks(self, places: Collection[Place]) -> None:
        """Remove marks. One that stays is checked again when it is overdue: its values are the former ones, so it is
        removed then."""
        if places and (fault := self.run_on_control_plane(build_unmark_commands(sorted(places))).fault):
            self.report(Event("failed", "", f"the mark of a temporary change could not be removed: {fault}"))

    def build_stopper(self, operation: Operation) -> Callable[[], object]:
        """Build a function that is called every second and stops the work once, on all engines, when there is a
        reason."""
        stops = list[bool]()

        def stop() -> None:
            if operation.stoppable and not stops and self.cancel_reason():
                stops.append(True)
                for engine in self.engines.members:
                    run_command(engine.node, engine.via, engine.stop_command, LIMIT, self.execute)

        return stop

    def audit(self, replies: Sequence[Reply]) -> None:
        """Write a line for each node to the run's record and to the journal of the control plane: journalctl -t
        gpustack."""
        if not replies:
            return
        lines = [f"{self.author}: {reply.node}: {reply.command}: {reply.fault or 'done'}" for reply in replies]
        for audited_reply, line in zip(replies, lines, strict=True):
            self.report(Event("failed" if audited_reply.fault else "changed", audited_reply.node, line))
        self.run_on_control_plane("\n".join(f"logger -t gpustack -- {shlex.quote(line[:900])}" for line in lines))

    def run_on_control_plane(self, command: str) -> Reply:
        return run_command(self.engines.acting.name, self.engines.acting, command, LIMIT, self.execute)


def list_lasting(operation: Operation, endings: Sequence[NodeEnding], standing: Collection[Place]) -> set[Place]:
    """List the marks of kinds that were now set to stay."""
    done_nodes = {ending.node for ending in endings if ending.ending == "done"}
    return {(node, kind) for node, kind in standing if node in done_nodes and kind in operation.kinds}
