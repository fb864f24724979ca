"""A recording of an older release, or one that was cut off, lacks answers: that is one line, not one a check."""

from gpustack.report import human
from gpustack.report.doctor import format as doctor_words
from gpustack.report.doctor import text as doctor
from gpustack.report.format import NOT_RECORDED
from tests.unit.report.screen import print_screen
from tests.worlds.results import diagnoses
from tests.worlds.results.plans import CLOCK, PODS_GOOD, make_answers, make_plan


def test_a_plan_counts_what_was_not_asked() -> None:
    answers = [
        answer
        for answer in (*make_answers("kube1"), *make_answers("kube2"), PODS_GOOD)
        if (answer.probe, answer.location) != (CLOCK.id, "kube2")
    ]
    text = print_screen(lambda screen: human.render_plan(screen, make_plan(["kube1", "kube2"], answers)))
    assert f"1 check unknown: {NOT_RECORDED}" in " ".join(text.split())
    assert "not asked of" not in text


def test_a_diagnosis_has_one_reason_for_all_of_it() -> None:
    names = ("kube-proxy-down@gpu1", "host-ip-forward-off@gpu2")
    diagnosis = diagnoses.make_diagnosis({name: f"?not asked of {name.partition('@')[2]}" for name in names})
    assert doctor_words.list_reason_counts(diagnosis.unknown, str) == [f"{NOT_RECORDED} (2)"]


def test_the_checks_are_named_when_asked_for() -> None:
    diagnosis = diagnoses.make_diagnosis({"kube-proxy-down@gpu1": "?cut", "kube-proxy-down@gpu2": "?cut"})
    assert "kube-proxy-down (gpu1, gpu2)" in print_screen(
        lambda screen: doctor.render_human(screen, diagnosis, verbose=True)
    )
    assert "2 checks unknown: cut (2); -v lists them" in print_screen(
        lambda screen: doctor.render_human(screen, diagnosis)
    )
