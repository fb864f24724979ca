"""A recording of an older release lacks answers that checks of this one read: that is one line, not one a check."""

from gpustack.report import human
from gpustack.report.doctor import format as doctor_words
from gpustack.report.doctor import text as doctor
from gpustack.report.format import OLDER_RECORDING
from tests.worlds import diagnoses
from tests.worlds.plans import CLOCK, PODS_GOOD, answers_of, made
from tests.worlds.screen import printed


def test_a_plan_counts_what_was_not_asked() -> None:
    answers = [
        answer
        for answer in (*answers_of("kube1"), *answers_of("kube2"), PODS_GOOD)
        if (answer.probe, answer.location) != (CLOCK.id, "kube2")
    ]
    text = printed(lambda out: human.render_plan(out, made(["kube1", "kube2"], answers)))
    assert f"1 check unknown: {OLDER_RECORDING}" in text
    assert "not asked of" not in text


def test_a_diagnosis_has_one_reason_for_all_of_it() -> None:
    names = ("kube-proxy-down@gpu1", "host-ip-forward-off@gpu2")
    diagnosis = diagnoses.diagnosed({name: f"?not asked of {name.partition('@')[2]}" for name in names})
    assert doctor_words.list_reason_counts(diagnosis.unknown, str) == [f"{OLDER_RECORDING} (2)"]


def test_the_checks_are_named_when_asked_for() -> None:
    diagnosis = diagnoses.diagnosed({"kube-proxy-down@gpu1": "?cut", "kube-proxy-down@gpu2": "?cut"})
    assert "kube-proxy-down (gpu1, gpu2)" in printed(lambda out: doctor.render_human(out, diagnosis, verbose=True))
    assert "2 checks unknown: cut (2); -v lists them" in printed(lambda out: doctor.render_human(out, diagnosis))
