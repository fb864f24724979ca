"""Two diagnoses are compared, one after the other."""

from gpustack.doctor.watch import Change, Line, compare_diagnoses
from tests.worlds.results.diagnoses import (
    make_diagnosis,
    make_healthy_diagnosis,
    make_ufw_diagnosis,
    make_unexplained_diagnosis,
)

FORWARDING_OFF = {"host-ip-forward-off@gpu1": "!0"}


def test_equal_diagnoses_have_no_change() -> None:
    assert compare_diagnoses(make_ufw_diagnosis(), make_ufw_diagnosis()) == ()


def test_a_fault_comes_and_goes() -> None:
    line = Line("root", "host-ip-forward-off", ("gpu1",), "certain")
    assert compare_diagnoses(make_healthy_diagnosis(), make_diagnosis(FORWARDING_OFF)) == (Change("new", line),)
    assert compare_diagnoses(make_diagnosis(FORWARDING_OFF), make_healthy_diagnosis()) == (Change("resolved", line),)


def test_a_fault_spreads() -> None:
    diagnosis = make_diagnosis(FORWARDING_OFF | {"host-ip-forward-off@gpu2": "!0"})
    line = Line("root", "host-ip-forward-off", ("gpu1", "gpu2"), "certain")
    assert compare_diagnoses(make_diagnosis(FORWARDING_OFF), diagnosis) == (Change("changed", line),)


def test_what_is_unknown_is_no_recovery() -> None:
    diagnoses = compare_diagnoses(make_diagnosis(FORWARDING_OFF), make_diagnosis({"host-ip-forward-off@gpu1": "?cut"}))
    assert [(change.turn, change.line.kind) for change in diagnoses] == [("resolved", "root"), ("new", "unknown")]


def test_every_kind_is_watched() -> None:
    kinds = {change.line.kind for change in compare_diagnoses(make_healthy_diagnosis(), make_unexplained_diagnosis())}
    assert kinds == {"unexplained", "drift", "unknown"}
