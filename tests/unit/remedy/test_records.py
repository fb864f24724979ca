"""Check that any answer of a host about its record is judged."""

import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpustack.doctor.graph import load_graph
from gpustack.errors import RolloutError
from gpustack.ownership.decision import Decision
from gpustack.ownership.record import Record
from gpustack.remedy.objects import build_replacements, compare_objects
from gpustack.remedy.records import HostRecord, judge_resource, keep_declared, order_changes, parse_record
from gpustack.remedy.scope import SYSCTL_FILE, matches_pattern
from gpustack.remedy.step_scope import declare_fault, may_change_objects, require_path

WORD = st.sampled_from(
    ["thing", "id", "state", "unreadable", "file", "key", "absent", "-", "unknown", "", "\x1b[2J", "é"]
)
LINES = st.lists(st.lists(WORD, max_size=8).map("\t".join), max_size=6)
A, B, C = (f"file 644 0 0 {letter * 64}" for letter in "abc")


@given(LINES)
@example(["id\t..", "state\tfinished"])
@example(["id\t1", "thing\tfile\t/etc/shadow\tabsent\t-\t-"])
@example(["unreadable\t/x\twhy"])
@example([""])
def test_a_record_of_any_shape_is_read_or_refused(lines: list[str]) -> None:
    try:
        record = parse_record("h1", lines)
    except RolloutError as error:
        if error.reference not in ("fix-copies", "undo-record-unreadable"):
            raise
        return
    for change in keep_declared(record, declare_fault(load_graph().faults["host-ip-forward-off"])).changes:
        assert not change.is_restorable or change.record.name in (SYSCTL_FILE, "net.ipv4.ip_forward")


TEXTS = st.sampled_from(
    ["", "{", "[]", "NaN", '{"kind": "List"}', '{"kind": "List", "items": [[]]}', "[" * 100_000, '"x"']
)


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_objects_of_any_shape_are_read_or_refused(texts: list[str]) -> None:
    with suppress(RolloutError):
        assert compare_objects("h1", texts, finished=True) == ()


def test_managed_fields_of_any_shape_are_refused() -> None:
    def render_object(fields: object, data: str) -> str:
        metadata = {"name": "a", "namespace": "n", "resourceVersion": "1", "uid": "u", "managedFields": fields}
        return json.dumps({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"a": data}})

    shapes: list[object] = [
        [1],
        [{}],
        {"a": 1},
        [{"manager": "gpustack", "operation": "Apply", "fieldsV1": {"k:x": {}}}],
        3,
    ]
    for fields in shapes:
        with pytest.raises(RolloutError):
            compare_objects(
                "h1",
                [render_object(fields, "1"), render_object(fields, "2"), render_object(fields, "2")],
                finished=True,
            )


@pytest.mark.parametrize(
    ("before", "after", "actual", "possible", "decision"),
    [
        ("absent", A, A, (), Decision.REMOVE),
        (B, A, A, (), Decision.RESTORE),
        (B, A, B, (), Decision.FORGET),
        (B, A, C, (), Decision.LATER_CHANGE),
        (B, A, "unknown", (), Decision.UNKNOWN),
        # The fix left it as it was: what became of it is no matter of its.
        (B, B, C, (), Decision.FORGET),
        # What the remedy writes is known, and it is not this.
        (B, C, C, (A,), Decision.LATER_CHANGE),
        (B, A, A, (A,), Decision.RESTORE),
        # No role removes a file of the host, and none makes a link.
        (B, "absent", "absent", ("present",), Decision.LATER_CHANGE),
        (B, "absent", "absent", (), Decision.RESTORE),
        ("absent", "link 0 0 /x", "link 0 0 /x", (), Decision.LATER_CHANGE),
        # Interrupted.
        (B, "", A, (A,), Decision.RESTORE),
        ("absent", "", A, (A,), Decision.REMOVE),
        (B, "", C, (A,), Decision.INTERRUPTION),
        (B, "", C, (), Decision.INTERRUPTION),
        (B, "", B, (), Decision.FORGET),
    ],
)
def test_a_resource_is_restored_only_as_the_fix_left_it(
    before: str, after: str, actual: str, possible: tuple[str, ...], decision: Decision
) -> None:
    assert judge_resource("h1", Record("file", "/etc/x", before, after), actual, possible).decision == decision


def test_a_folder_comes_back_only_for_a_file_and_goes_after_its_files() -> None:
    def judge(kind: str, name: str, before: str, after: str) -> object:
        return judge_resource("h1", Record(kind, name, before, after), after)

    folder = "folder 755 0 0"
    changes = [
        judge("folder", "/etc/new", "absent", folder), judge("file", "/etc/new/file", "absent", A),
        judge("folder", "/etc/gone", folder, "absent"), judge("file", "/etc/gone/file", A, "absent"),
        judge("folder", "/etc/empty", folder, "absent"),
    ]  # fmt: skip
    names = [change.record.name for change in order_changes(changes)]  # type: ignore[arg-type]
    assert names == ["/etc/gone", "/etc/new/file", "/etc/gone/file", "/etc/new"]


@pytest.mark.parametrize(
    ("path", "matches"),
    [("/a/x-1", True), ("/a/x-", True), ("/a/x-/etc/shadow", False), ("/a/x", False), ("/b/x-1", False)],
)
def test_a_pattern_never_leaves_its_folder(path: str, matches: bool) -> None:
    assert matches_pattern("/a/x-*", path) == matches


@pytest.mark.parametrize("name", ["../shadow", "conf.d/../../shadow.toml", "/etc/shadow", "x.toml\n", "conf.d/x.sh"])
def test_a_host_cannot_name_a_file_elsewhere(name: str) -> None:
    with pytest.raises(Exception, match="is no file of containerd"):
        require_path(name)


def test_objects_belong_to_remedies_of_the_cluster() -> None:
    faults = load_graph().faults
    assert may_change_objects(faults["mon-selector-nil-uses-helm-values"])
    assert not may_change_objects(faults["host-ip-forward-off"])
    assert not may_change_objects(None)
    assert declare_fault(None).resources == ()
    assert build_replacements(()) == {"REPLACE": "", "DELETE": ""}


def test_what_the_fix_changed_is_named() -> None:
    things = (
        Record("file", "/etc/x", "absent", A),
        Record("key", "a.b", "0", "1"),
        Record("unit", "u", "active", "active"),
    )
    changes = tuple(judge_resource("h1", record, record.after) for record in things)
    record = HostRecord("h1", "1", "f", ("h1",), changes=changes)
    assert (record.files, record.keys, record.units) == (("/etc/x",), ("a.b 0 -> 1",), ())
