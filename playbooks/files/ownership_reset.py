"""Tell what is still as a step left it, restore what it changed, and forget what is gone.

Last part of a program for hosts: follows ownership_record.py, and runs one of COMMANDS.
"""


def print_unchanged():
    """Print what was agreed on and is as it was then. Data of a cluster is marked first: its CA goes with it."""
    agreed = json.load(sys.stdin)
    records, cluster, printed, marked = load_records(), find_cluster(), [], False
    for path, one in agreed.items():
        record = records.get(path, build_empty_record(one["kind"]))
        state = format_state(path, record, find_state(path, record["kind"]), cluster)
        # Programs that end take what they wrote with them.
        if state != one["state"] and not (state == EMPTY and one["state"].startswith("present of ")):
            print("left: %s was changed since it was shown" % path, file=sys.stderr)
            continue
        if record["kind"] == "data" and path in records and not record.get("removing"):
            marked, record["removing"] = True, identify(path)
        printed.append("%s %s" % ("rmdir" if state == EMPTY else one["action"], path))
    if marked:
        save_records(records)
    print("\n".join(printed))


def print_removable(*paths):
    """Print `remove PATH` for what was not there before gpustack and is as a step left it, or holds nothing.

    A power cut leaves files that hold nothing. What somebody changed is named and stays.
    """
    records = load_records()
    for path in paths:
        record = records.get(path, build_empty_record("file"))
        state = find_state(path, record["kind"])
        if record["before"] != ABSENT or state == ABSENT:
            continue
        if state == record["after"] or (state.startswith("file ") and not read_bytes(path).strip(b"\0")):
            print("remove " + path)
        else:
            print("left: %s is not as gpustack left it" % path, file=sys.stderr)


def restore(path):
    """Write a file again as it was before the first step that changed it."""
    record = load_records()[path]
    if find_state(path, record["kind"]) != record["after"]:
        raise Unusable(path + " was changed since it was shown")
    _, mode, owner, digest = record["before"].split()
    content = read_bytes(locate_copy(path), 1 << 30)
    if hashlib.sha256(content).hexdigest() != digest:
        raise Unusable(locate_copy(path) + " is not the file that was copied")
    write_whole(path, content, int(mode, 8), tuple(map(int, owner.split(":"))))
    print("changed: restored " + path)


def is_over(path, record):
    """Tell whether nothing is left that the record is about."""
    return find_state(path, record["kind"]) in (ABSENT, record["before"])


def is_folder(path):
    status = look_up(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def list_copies():
    """List copies by the form of their names; whatever else is in the folder, or behind a link, is not gpustack's."""
    names = os.listdir(ROOT + COPIES) if is_folder(COPIES) else ()
    return [name for name in names if re.match("[0-9a-f]{16}-", name)]


def clear():
    """Forget what is gone or as it was before. The record goes when nothing but folders would stay in it."""
    records = load_records()
    for path in [path for path, record in records.items() if is_over(path, record)]:
        forget(records, path)
    if any(record["kind"] != "folder" for record in records.values()):
        save_records(records)
        return
    for name in list_copies():
        os.unlink(ROOT + COPIES + "/" + name)
    if os.path.lexists(ROOT + RECORD):
        os.unlink(ROOT + RECORD)
    for folder in (COPIES, HOME):
        if is_folder(folder) and not os.listdir(ROOT + folder):
            os.rmdir(ROOT + folder)


def drop_record(path):
    """Forget a thing of which nothing of ours is left."""
    records = load_records()
    if path in records:
        forget(records, path)
        save_records(records)


# What kubeadm has written of a new cluster when this is called.
AUTHORITY = (SERVED, "/etc/kubernetes/pki/ca.key")


def name_cluster(digest):
    """Record of which cluster the data is that the step is about to write: of this host's CA, or of the one given."""
    things, _, _ = read_request()
    records, cluster = load_records(), digest if digest != "-" else find_cluster()
    if not cluster:
        raise Unusable("the CA of the cluster cannot be read")
    for path in things:
        record = records.get(path, {})
        if record.get("before") != ABSENT:
            continue
        if record["kind"] == "file" and not record["after"]:
            # Written by this step a moment ago, and too soon for `finish`.
            state = find_state(path, "file")
            record["after"] = state if state != ABSENT and is_written_by_us(path, record, []) else ""
        if record["kind"] != "data":
            continue
        if find_state(path, "data") == ABSENT or (path in AUTHORITY and not record["cluster"]):
            record["cluster"] = cluster
        elif not record["cluster"]:
            # Somebody else's: it came before the first byte of ours.
            record["before"] = PRESENT
    save_records(records)


def is_remnant(path, record):
    """Tell whether a file is of the cluster that is recorded, or holds nothing, as after a power cut.

    What cannot be read is not known to be of it: kubeadm writes no link.
    """
    if record.get("kind") != "data" or record["before"] != ABSENT or not record["cluster"] or look_up(path) is None:
        return False
    try:
        return not read_bytes(path).strip(b"\0") or find_digests(path) == {record["cluster"]}
    except (OSError, ValueError):
        return False


def print_remnants(*paths):
    """Print which of these files a join of this host left. What others put there names another cluster, or none."""
    records = load_records()
    print("".join(path + "\n" for path in paths if is_remnant(path, records.get(path, {}))), end="")


COMMANDS = {
    "begin": begin, "finish": finish, "cluster": name_cluster, "read": read, "still": print_unchanged,
    "restore": restore, "clear": clear, "forget": drop_record, "remnants": print_remnants, "removable": print_removable,
}  # fmt: skip

run(COMMANDS, *sys.argv[1:])
