"""Nothing is removed or restored without a record that the present state confirms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.ownership.decision import MAY_CHANGE, Decision, decide, decide_data
from gpustack.ownership.record import ABSENT, Record

STATES = st.sampled_from([ABSENT, "f 0644 0 0 aa", "f 0644 0 0 bb", "f 0600 0 0 aa", "f 0644 0 0 cc"])
RECORDS = st.builds(
    Record, kind=st.just("file"), name=st.just("/etc/x"), before=STATES, after=STATES | st.just(""), cluster=st.just("")
)

ROWS = [
    (None, "f aa", "", Decision.FOREIGN),
    (None, ABSENT, "", Decision.FOREIGN),
    (Record("file", "x", ABSENT, "f aa"), "f aa", "", Decision.REMOVE),
    (Record("file", "x", "f bb", "f aa"), "f aa", "", Decision.RESTORE),
    (Record("file", "x", "f bb", "f aa"), "f bb", "", Decision.FORGET),
    (Record("file", "x", ABSENT, "f aa"), ABSENT, "", Decision.FORGET),
    (Record("file", "x", ABSENT, "f aa"), "f cc", "", Decision.LATER_CHANGE),
    (Record("file", "x", "f bb", "f aa"), ABSENT, "", Decision.LATER_CHANGE),
    (Record("file", "x", "f bb"), "f bb", "f aa", Decision.FORGET),
    (Record("file", "x", "f bb"), "f aa", "f aa", Decision.RESTORE),
    (Record("file", "x", ABSENT), "f aa", "f aa", Decision.REMOVE),
    (Record("file", "x", ABSENT), "f cc", "f aa", Decision.INTERRUPTION),
    (Record("file", "x", ABSENT), "f cc", "", Decision.INTERRUPTION),
    (Record("file", "x", ABSENT, "f aa"), None, "", Decision.UNKNOWN),
]


@pytest.mark.parametrize(("record", "actual", "rendering", "expected"), ROWS)
def test_each_row_of_the_table_has_its_decision(
    record: Record | None, actual: str | None, rendering: str, expected: Decision
) -> None:
    assert decide(record, actual, rendering) is expected


@given(record=RECORDS | st.none(), actual=STATES | st.none(), rendering=STATES | st.just(""))
def test_only_what_is_as_gpustack_left_it_may_be_changed(
    record: Record | None, actual: str | None, rendering: str
) -> None:
    decision = decide(record, actual, rendering)
    if decision in MAY_CHANGE:
        assert record is not None
        assert actual == (record.after or rendering)
        assert actual != record.before
        assert (decision is Decision.REMOVE) == (record.before == ABSENT)


@pytest.mark.parametrize(
    ("record", "cluster", "expected"),
    [
        (None, "ca1", Decision.FOREIGN),
        (None, "", Decision.FOREIGN),
        (Record("data", "/var/lib/etcd", ABSENT, cluster="ca1"), "ca1", Decision.REMOVE),
        (Record("data", "/var/lib/etcd", ABSENT, cluster="ca1"), "ca2", Decision.FOREIGN),
        (Record("data", "/var/lib/etcd", ABSENT, cluster="ca1"), "", Decision.FOREIGN),
        (Record("data", "/var/lib/etcd", ABSENT), "", Decision.FOREIGN),
        (Record("data", "/var/lib/etcd", ABSENT, cluster="ca1"), None, Decision.UNKNOWN),
        (Record("data", "/var/lib/etcd", "d 0700", cluster="ca1"), "ca1", Decision.LATER_CHANGE),
    ],
)
def test_data_is_removed_only_with_the_ca_of_the_recorded_cluster(
    record: Record | None, cluster: str | None, expected: Decision
) -> None:
    assert decide_data(record, cluster) is expected
