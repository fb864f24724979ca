"""Records and copies of a fix on the hosts: made before it, completed after it, and used by the roll-back.

The hosts keep them, so that a fix can be rolled back from any operator's machine. The script on the host is copies.sh.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from gpustack.ask.message import shorten_message
from gpustack.ask.script import PROXY_REMOVAL
from gpustack.ask.transport.execute import run_script
from gpustack.ask.transport.refusal import HostRefused
from gpustack.command import NO_HINT, Command
from gpustack.config.host import Host
from gpustack.config.resources import locate_playbooks
from gpustack.errors import RolloutError
from gpustack.remedy.objects import ObjectChange, build_replacements, compare_objects
from gpustack.remedy.records import EMPTY, ID, Change, HostRecord, order_changes, parse_record
from gpustack.remedy.scope import Scope

SCRIPT_FOLDER = Path(__file__).parent
SCRIPTS = (
    *(locate_playbooks() / "files" / f"{name}.sh" for name in ("limits", "containerd-files")),
    *(SCRIPT_FOLDER / f"{name}.sh" for name in ("states", "objects", "restore", "copies")),
)
LIMIT = 180
END_LINE = "done"

Run = Callable[..., Iterator[str]]
"""A function like run_script of gpustack/ask/transport/execute.py."""


@dataclass
class Copies:
    """Call the script on hosts. Its methods raise RolloutError where a host does not do what it was asked."""

    hosts: Sequence[Host]
    run: Run = field(default=run_script)

    def begin(self, id: str, fault: str, scopes: Mapping[str, Scope]) -> None:
        """Record the state of all that the fix may change, by host, before anything is changed. Where one host cannot,
        none keeps a record."""
        for number, (name, scope) in enumerate(scopes.items()):
            variables = {
                "ABOUT": f"fault\t{fault}\nhosts\t{' '.join(scopes)}",
                "THINGS": "\n".join(
                    "\t".join((resource.kind, resource.name, "|".join(resource.possible_states) or EMPTY))
                    for resource in scope.resources
                ),
                # YAML, because kubectl reads a file that begins with JSON as JSON, which has no document separator.
                "NAMES": "".join(f"---\n{target.document}\n" for target in scope.targets),
                "RELEASE": " ".join(scope.release or ()),
            }
            try:
                self.call(name, "begin", id, variables)
            except RolloutError:
                for earlier in list(scopes)[: number + 1]:
                    with suppress(RolloutError):
                        self.forget(earlier, id)
                raise

    def finish(self, id: str, names: Sequence[str]) -> tuple[HostRecord, ...]:
        """Record what the fix left, and return it."""
        return tuple(parse_record(name, self.call(name, "finish", id)) for name in names)

    def read(self, name: str, id: str = "") -> HostRecord | None:
        """Return the record of a fix, or of the newest one of a host, if it has one."""
        lines = self.call(name, "read", id)
        return parse_record(name, lines) if lines else None

    def read_objects(self, record: HostRecord) -> tuple[ObjectChange, ...]:
        """Return the objects of the cluster that differ from before the fix."""
        texts = self.call(record.host, "objects", record.id)
        return compare_objects(record.host, texts, finished=record.finished) if texts else ()

    def restore(self, record: HostRecord, changes: Sequence[Change]) -> list[str]:
        """Roll back the changes on a host, each only if nothing changed it since it was judged. Return a line for each:
        `did …`, `left KIND NAME WHY` or `kept NAME`, with tabs between the words."""
        lines = (
            "\t".join(
                (
                    change.record.kind,
                    change.record.name,
                    change.record.before,
                    str(change.actual),
                    "no" if change.is_guess else "yes",
                )
            )
            for change in order_changes(changes)
        )
        return self.call(record.host, "restore", record.id, {"CHANGES": "\n".join(lines)})

    def replace(self, record: HostRecord, changes: Sequence[ObjectChange]) -> list[ObjectChange]:
        """Roll back the changes of objects of the cluster. Return those that the API refused, since somebody changed
        the object at the same moment."""
        lines = self.call(record.host, "replace", record.id, build_replacements(changes))
        refused_numbers = {line.partition("\t")[2] for line in lines if line.startswith("refused\t")}
        return [change for number, change in enumerate(changes) if str(number) in refused_numbers]

    def close(self, name: str, id: str) -> None:
        """Keep the copies for a person, and count the fix no longer as one to roll back."""
        self.call(name, "close", id)

    def forget(self, name: str, id: str) -> None:
        self.call(name, "forget", id)

    def call(self, name: str, action: str, id: str, variables: Mapping[str, str] = MappingProxyType({})) -> list[str]:
        if id and not ID.fullmatch(id):
            raise RolloutError("fix-copies", f"{id!r} is no name of a fix.", f"{name} gave it.", NO_HINT)
        (host,) = (host for host in self.hosts if host.name == name)
        words = {"DO": action, "ID": id, "TIMEOUT_FACTOR": str(host.timeout_factor), **variables}
        assignments = "\n".join(f"{key}={shlex.quote(value)}" for key, value in words.items())
        script = PROXY_REMOVAL + "\n".join((assignments, *(path.read_text(encoding="utf-8") for path in SCRIPTS)))
        try:
            lines = list(self.run(host, script, limit=LIMIT))
        except HostRefused as refused:
            raise RolloutError("fix-copies", f"{name} could not be asked.", refused.reach.reason, NO_HINT) from refused
        if END_LINE not in lines:
            reason = shorten_message("\n".join(line for line in lines if line.strip())) or "no output"
            raise RolloutError(
                "fix-copies",
                f"The copies on {name} could not be used ({action}).",
                reason,
                Command("df", "-h", "/var/lib"),
            )
        return lines[: lines.index(END_LINE)]
