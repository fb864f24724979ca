"""Read the record of what gpustack changed on this host, and compare it with how things are.

Follows ownership_state.py. A record that cannot be read, or that another machine wrote, ends every command: what this
host holds is unknown then, and nothing may be changed.
"""

import json
import sys

HOME = "/var/lib/gpustack-cluster"
RECORD = HOME + "/owned.json"
EMPTY = "empty"


class Unusable(Exception):
    """Say why the record cannot be used, or why it cannot be written."""


def read_machine_id():
    """Read the id of this machine; an image may have it behind a link."""
    with open(ROOT + "/etc/machine-id") as file:
        return file.read(4096).strip()


def load_records():
    """Read the records by path; none where nothing was recorded yet."""
    try:
        document = json.loads(read_bytes(RECORD).decode())
        records = document["records"]
        sound = document["version"] == 1 and all(
            isinstance(value, str) for path, one in records.items() for value in (path, *one.values(), one["kind"])
        )
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unusable("%s cannot be read: %s: %s" % (RECORD, type(error).__name__, error)) from error
    if not sound:
        raise Unusable(RECORD + " has another form than this release writes")
    if document.get("machine") != read_machine_id():
        raise Unusable(RECORD + " was written on another machine: its machine-id is not this one's")
    return records


def is_private(state):
    """Tell whether a state is of a file that not everybody may read: its digest would tell a short password."""
    words = state.split()
    return words[:1] in (["file"], ["folder"]) and not int(words[1], 8) & 0o004


def identify(path):
    """Name what is at a path: what another puts there after a removal that was killed is something else."""
    status = look_up(path)
    return "yes" if status is None else "inode %d" % status.st_ino


def is_emptied(path, record, state):
    """Tell whether a folder of a cluster that was not there before is left without anything in it."""
    if (record["kind"], record["before"], state) != ("data", ABSENT, ABSENT) or "*" in path or path in EMPTIED:
        return False
    status = look_up(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def format_state(path, record, state, cluster):
    """Name a state for the operator's machine: states that are equal have one label, and no secret is in any."""
    if is_emptied(path, record, state):
        return EMPTY
    if record["kind"] == "data" and state == PRESENT:
        leaving = record["cluster"] if record.get("removing") == identify(path) else ""
        return "present of " + ("an unclear cluster" if cluster is None else cluster or leaving or "no cluster")
    known = [record["before"], record["after"], state]
    return "private %d" % known.index(state) if is_private(state) else state


def build_line(path, record, cluster):
    """Build what the operator's machine decides on; `now` is empty where the present state cannot be read."""
    line = {
        "path": path,
        "kind": record["kind"],
        "cluster": record["cluster"],
        "run": record["run"],
        "at": record["at"],
    }
    for name in ("before", "after"):
        state = record[name]
        line[name] = "private %d" % [record["before"], record["after"]].index(state) if is_private(state) else state
    try:
        line["now"] = format_state(path, record, find_state(path, record["kind"]), cluster)
    except OSError as error:
        line.update(now="", error=str(error.strerror))
    return line


def build_empty_record(kind):
    return {"kind": kind, "before": "", "after": "", "cluster": "", "run": "", "at": ""}


def read(*data):
    """Print a line with the cluster of this host, then one for each record, and for data without one that is there."""
    records, cluster = load_records(), find_cluster()
    print(json.dumps({"cluster": cluster}))
    for path in data:
        if path not in records and find_state(path, "data") != ABSENT:
            print(json.dumps(build_line(path, build_empty_record("data"), cluster), sort_keys=True))
    for path in sorted(records):
        print(json.dumps(build_line(path, records[path], cluster), sort_keys=True))


def run(commands, command, *words):
    """Run one command; end with status 1 and a sentence where the record is no help."""
    try:
        if os.path.isdir(ROOT + HOME) or command in ("begin", "read", "still"):
            commands[command](*words)
    except (Unusable, OSError, ValueError, LookupError, TypeError, RecursionError) as problem:
        sys.exit("%s; nothing was changed (gpustack explain ownership-record-unusable)" % problem)
