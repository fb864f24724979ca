"""Record what a step may change on this host before it does, and what it leaves.

Follows ownership_read.py. The record is one file, written beside and renamed.
"""

import fnmatch
import time

COPIES = HOME + "/before"
COPIED = {"file", "lines", "marked"}
EDITED = "edited"
MARK = b"Written by gpustack"
# A person may give root a kubeconfig while the step runs: ours is the administrator's, byte for byte.
COPY_OF = {"/root/.kube/config": "/etc/kubernetes/admin.conf"}


def sync_folder(folder):
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path, content, mode=0o600, owner=None):
    """Write a file beside its place and rename it: it is there whole or as it was."""
    place, fresh = ROOT + path, ROOT + path + ".gpustack-new"
    try:
        if os.path.lexists(fresh):
            os.unlink(fresh)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if owner is not None:
                os.fchown(descriptor, *owner)
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        os.replace(fresh, place)
        sync_folder(os.path.dirname(place))
    except OSError as error:
        if os.path.lexists(fresh):
            os.unlink(fresh)
        raise Unusable("%s cannot be written: %s" % (path, error.strerror)) from error


def ensure_folder(folder, mode):
    if not os.path.isdir(ROOT + folder):
        os.makedirs(ROOT + folder, mode)
        sync_folder(os.path.dirname(ROOT + folder))


def save_records(records):
    """Write the records, one on a line, so that a shell can look for one."""
    try:
        ensure_folder(HOME, 0o755)
    except OSError as error:
        raise Unusable("%s cannot be made: %s" % (HOME, error.strerror)) from error
    lines = ",\n".join(json.dumps(path) + ": " + json.dumps(records[path], sort_keys=True) for path in sorted(records))
    head = json.dumps({"version": 1, "machine": read_machine_id()})[:-1]
    write_whole(RECORD, ('%s, "records": {\n%s\n}}\n' % (head, lines)).encode())


def locate_copy(path):
    return COPIES + "/" + hashlib.sha256(path.encode()).hexdigest()[:16] + "-" + os.path.basename(path)


def keep_copy(path, place):
    try:
        ensure_folder(COPIES, 0o700)
        content = read_bytes(path, 1 << 30)
    except OSError as error:
        raise Unusable("%s cannot be copied: %s" % (path, error.strerror)) from error
    write_whole(place, content)


def keep_drift(path, record, state):
    """Copy a file that somebody changed since: the step may write or remove it. A reset leaves such a copy."""
    if record["kind"] in ("file", "marked") and state.startswith("file ") and state != record["before"]:
        place = "%s/changed-%s-%s" % (COPIES, state.split()[3][:16], os.path.basename(path))
        if look_up(place) is None:
            keep_copy(path, place)
            print("changed: copied %s, which is not as gpustack left it, to %s" % (path, place))


def forget(records, path):
    records.pop(path)
    if os.path.lexists(ROOT + locate_copy(path)):
        os.unlink(ROOT + locate_copy(path))


def read_request():
    """Read what a step declares: its things by kind, the paths it writes under a declared pattern, and its edits."""
    asked = json.load(sys.stdin)
    things, patterns = {}, []
    for kind, paths in asked["declared"].items():
        for path in paths:
            if "*" in path and kind not in BY_PRESENCE:
                patterns.append((path, kind))
            else:
                things[path] = kind
    for path in asked.get("written", []):
        kinds = [kind for pattern, kind in patterns if fnmatch.fnmatchcase(path, pattern)]
        if not kinds and path not in things:
            raise Unusable(path + " is written, but not declared in owned.json")
        things.setdefault(path, *kinds[:1])
    return things, patterns, asked


def begin():
    """Record how things are before the step changes them, with a copy of each file that others may need again."""
    things, _, asked = read_request()
    records, run, at = load_records(), asked.get("run", ""), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    before = json.dumps(records, sort_keys=True)
    for path, kind in things.items():
        state, record = find_state(path, kind), records.get(path)
        if record is None:
            if kind in COPIED and state.startswith("file "):
                keep_copy(path, locate_copy(path))
            records[path] = {"kind": kind, "before": state, "after": "", "cluster": "", "run": run, "at": at}
        elif kind in BY_PRESENCE:
            if state == record["before"]:
                record.update(after="", cluster="", run=run, at=at)
                record.pop("removing", None)
        elif not record["after"] and kind in ("file", "marked") and state not in (ABSENT, record["before"]):
            # A step was killed here. Nobody knows whether it wrote this, or somebody did since.
            record["drifted"] = state
        elif record["after"] not in ("", state):
            # Somebody changed it since. Where it holds lines of others, it is theirs from now on.
            keep_drift(path, record, state)
            record.update({"after": EDITED} if kind == "lines" else {"drifted": state})
    if json.dumps(records, sort_keys=True) != before:
        save_records(records)


def is_edited(path, edits):
    return any(path in one["paths"] for one in edits)


def compute_expected_lines(path, record, edits):
    """Compute what the edits of the step make of the file as it was; None where that is unknown."""
    edit = next((one for one in edits if path in one["paths"]), None)
    if edit is None:
        return None
    if record["before"].startswith("file "):
        text = read_bytes(locate_copy(path)).decode("utf-8", "surrogateescape")
    elif record["before"] == ABSENT:
        text = edit.get("created", "")
    else:
        return None
    for one in edit["edits"]:
        text = re.sub(one["regexp"], one["replace"], text, flags=re.MULTILINE)
    return text.encode("utf-8", "surrogateescape")


def is_written_by_us(path, record, edits):
    """Tell whether the content is what the step writes, for files that others write as well."""
    if record["kind"] == "lines":
        return read_bytes(path) == compute_expected_lines(path, record, edits)
    if path in COPY_OF:
        origin = look_up(COPY_OF[path])
        return origin is not None and read_bytes(path) == read_bytes(COPY_OF[path])
    return record["kind"] != "marked" or MARK in read_bytes(path, 200)


def remove_superseded(records, path, patterns):
    """Remove a file of an earlier run, named by its digest, that nobody changed."""
    record = records[path]
    named = any(fnmatch.fnmatchcase(path, pattern) for pattern, kind in patterns if kind == "file")
    if named and record["before"] == ABSENT and find_state(path, record["kind"]) == record["after"] != ABSENT:
        os.unlink(ROOT + path)
        print("changed: removed " + path)
        forget(records, path)


def settle(records, path, asked, cluster):
    """Record how a step left one thing. What it did not change is none of ours."""
    record, edits = records[path], asked.get("edits", [])
    kind, state = record["kind"], find_state(path, record["kind"])
    adopted = path in asked.get("adopt", []) and kind != "lines" and state == record["before"] != ABSENT
    if adopted and is_written_by_us(path, record, edits):
        # An earlier release wrote it: it is what this step writes, which did not change it.
        forget(records, path)
        records[path] = dict(record, before=ABSENT, after=state, cluster=(cluster or "") if kind == "data" else "")
    elif kind in BY_PRESENCE:
        if kind == "data" and not record["cluster"]:
            record["cluster"] = cluster or ""
        record["after"] = state
    elif state == record.pop("drifted", None):
        return
    elif state == record["before"] or (kind == "lines" and not record["after"] and not is_edited(path, edits)):
        forget(records, path)
    elif state in (ABSENT, record["after"]) or is_written_by_us(path, record, edits):
        record["after"] = state
    elif kind == "marked" or (path in COPY_OF and not record["after"]):
        forget(records, path)
    else:
        record["after"] = EDITED


def finish():
    """Record what the step leaves, and remove files of its earlier runs."""
    things, patterns, asked = read_request()
    records, cluster = load_records(), find_cluster()
    for path in list(records):
        if path in things:
            settle(records, path, asked, cluster)
        else:
            remove_superseded(records, path, patterns)
    save_records(records)
