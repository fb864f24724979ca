"""A recording of an older release lacks answers that checks of this one read: that is one line, not one a check."""

from gpustack.report import human
from gpustack.report.doctor import format as doctor_words
from gpustack.report.format import OLDER
from tests.worlds import diagnoses
from tests.worlds.plans import CLOCK, PODS_GOOD, made, said
from tests.worlds.screen import printed


def test_a_plan_counts_what_was_not_asked() -> None:
    answers = [
        one for one in (*said("kube1"), *said("kube2"), PODS_GOOD) if (one.probe, one.where) != (CLOCK.id, "kube2")
    ]
    text = printed(lambda out: human.plan(out, made(["kube1", "kube2"], answers)))
    assert f"1 check unknown: {OLDER}" in text
    assert "not asked of" not in text


def test_a_diagnosis_has_one_reason_for_all_of_it() -> None:
    names = ("kube-proxy-down@gpu1", "host-ip-forward-off@gpu2")
    found = diagnoses.diagnosed({name: f"?not asked of {name.partition('@')[2]}" for name in names})
    assert doctor_words.missing(found.unknown, str) == [f"{OLDER} (2)"]
