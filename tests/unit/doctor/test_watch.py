"""What changed from one diagnosis to the next."""

from gpustack.doctor.watch import Change, Line, compare_diagnoses
from tests.worlds.diagnoses import diagnosed, healthy, ufw, unexplained

OFF = {"host-ip-forward-off@gpu1": "!0"}


def test_nothing_changed() -> None:
    assert compare_diagnoses(ufw(), ufw()) == ()


def test_a_fault_comes_and_goes() -> None:
    line = Line("root", "host-ip-forward-off", ("gpu1",), "certain")
    assert compare_diagnoses(healthy(), diagnosed(OFF)) == (Change("new", line),)
    assert compare_diagnoses(diagnosed(OFF), healthy()) == (Change("resolved", line),)


def test_a_fault_spreads() -> None:
    both = diagnosed(OFF | {"host-ip-forward-off@gpu2": "!0"})
    line = Line("root", "host-ip-forward-off", ("gpu1", "gpu2"), "certain")
    assert compare_diagnoses(diagnosed(OFF), both) == (Change("changed", line),)


def test_what_is_unknown_is_no_recovery() -> None:
    found = compare_diagnoses(diagnosed(OFF), diagnosed({"host-ip-forward-off@gpu1": "?cut"}))
    assert [(change.turn, change.line.kind) for change in found] == [("resolved", "root"), ("new", "unknown")]


def test_every_kind_is_watched() -> None:
    kinds = {change.line.kind for change in compare_diagnoses(healthy(), unexplained())}
    assert kinds == {"unexplained", "drift", "unknown"}
