"""What changed from one diagnosis to the next."""

from gpustack.doctor.watch import Change, Line, changes
from tests.worlds.diagnoses import diagnosed, healthy, ufw, unexplained

OFF = {"host-ip-forward-off@gpu1": "!0"}


def test_nothing_changed() -> None:
    assert changes(ufw(), ufw()) == ()


def test_a_fault_comes_and_goes() -> None:
    line = Line("root", "host-ip-forward-off", ("gpu1",), "certain")
    assert changes(healthy(), diagnosed(OFF)) == (Change("new", line),)
    assert changes(diagnosed(OFF), healthy()) == (Change("resolved", line),)


def test_a_fault_spreads() -> None:
    both = diagnosed(OFF | {"host-ip-forward-off@gpu2": "!0"})
    line = Line("root", "host-ip-forward-off", ("gpu1", "gpu2"), "certain")
    assert changes(diagnosed(OFF), both) == (Change("changed", line),)


def test_what_could_not_be_told_is_no_recovery() -> None:
    found = changes(diagnosed(OFF), diagnosed({"host-ip-forward-off@gpu1": "?cut"}))
    assert [(one.turn, one.line.kind) for one in found] == [("resolved", "root"), ("new", "unknown")]


def test_every_kind_is_watched() -> None:
    kinds = {one.line.kind for one in changes(healthy(), unexplained())}
    assert kinds == {"unexplained", "drift", "unknown"}
