"""Records of what gpustack changed on a host, and the state of those things at the time of the question."""

import shlex
from dataclasses import dataclass, field
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.config.resources import locate_playbooks
from gpustack.files.json_text import load_json
from gpustack.ownership.record import Record
from gpustack.probes.host.declaration import find_kinds, list_declared

RECORD = "/var/lib/gpustack-cluster/owned.json"
PARTS = ("ownership_state.py", "ownership_read.py")
MAX_THINGS = 2000
FIELDS = ("path", "kind", "before", "after", "cluster", "run", "at", "now")


def read_program() -> str:
    """Read the part of the program for hosts that changes nothing."""
    text = "\n".join((locate_playbooks() / "files" / part).read_text("utf-8") for part in PARTS)
    return f'{text}\nrun({{"read": read}}, "read", *sys.argv[1:])\n'


@dataclass(frozen=True)
class Thing:
    """Hold a declared thing of a host.

    `record` is None where nothing is recorded; `actual` is its present state, None where it could not be read. Data of
    a cluster has the state `present of` and the digest of a CA.
    """

    path: str
    kind: str
    record: Record | None
    actual: str | None


@dataclass(frozen=True)
class Ownership:
    """Hold all that is recorded on a host.

    `cluster` is the digest of the CA that the files of the host name, empty without one, None where it is unclear.
    `error` says why the record cannot be used. `undeclared_paths` are paths of the record that no step declares: they
    are ignored.
    """

    cluster: str | None = ""
    things: tuple[Thing, ...] = ()
    error: str = ""
    undeclared_paths: tuple[str, ...] = field(default=())


def parse_ownership(answer: Answer) -> Ownership:
    """Parse the lines of `read`. Raise ValueError where the answer has another shape."""
    if answer.rc != 0:
        return Ownership(
            None, error=shorten_message(answer.stderr.strip()) or f"the record could not be read (rc {answer.rc})"
        )
    head, *lines = (load_json(line) for line in answer.stdout.splitlines()[: MAX_THINGS + 2])
    if len(lines) > MAX_THINGS:
        raise ValueError(f"more than {MAX_THINGS} records")
    cluster = head["cluster"]
    if cluster is not None and not isinstance(cluster, str):
        raise ValueError(cluster)
    things = [parse_thing(line) for line in lines]
    declared_things = [thing for thing in things if thing.kind in find_kinds(thing.path)]
    undeclared_paths = tuple(
        sorted({any_thing.path for any_thing in things} - {declared_thing.path for declared_thing in declared_things})
    )
    return Ownership(cluster, tuple(declared_things), undeclared_paths=undeclared_paths)


def parse_thing(line: dict[str, Any]) -> Thing:
    """Parse one line. Raise ValueError where a field is no text, KeyError where one is missing."""
    path, kind, before, after, cluster, run, recorded_at, present_state = (line[name] for name in FIELDS)
    if not all(isinstance(line[name], str) for name in FIELDS):
        raise ValueError(line)
    record = Record(kind, path, before, after, cluster, run, recorded_at) if before else None
    return Thing(path, kind, record, present_state or None)


OWNERSHIP = Probe(
    "owned.records",
    Lines(f"""if ! command -v python3 >/dev/null; then
  [ ! -e {RECORD} ] || {{ echo 'there is a record, and no python3 that could read it' >&2; exit 1; }}
  echo '{{"cluster": ""}}'
  exit 0
fi
# shellcheck disable=SC2016
python3 -I -c {shlex.quote(read_program())} {shlex.join(list_declared("data"))}"""),
    parse_ownership,
    limit=10,
    exit_codes=(0, 1),
    manual_command=f"cat {RECORD}",
)
