"""What was judged of many hosts reads like the mapping of Judged that it stands for."""

from gpustack.ask.alike import Heard
from gpustack.ask.probe import Answer, FactUnavailable, Probe, Shell
from gpustack.doctor.finding import Judged, Outcome, having, spots
from gpustack.doctor.lots import Lots
from gpustack.doctor.tells import confirmed, refuted
from tests.unit.steps import recorded_hosts as hosts


def text(answer: Answer) -> str:
    return answer.out


NAME = Probe("made.name", Shell("true"), text)
YES = Heard(confirmed("it", "not so", "so"), (NAME,))
NO = Heard(refuted("it", "not so"), (NAME,))
MUTE = Heard(FactUnavailable("nothing said"), (NAME,))
OF_STEP = Judged("both", "h2", "unknown", None, "what the step says")


def made() -> Lots:
    rows = {"one": {"h1": YES, "h2": NO}, "both": {"h1": MUTE, "h2": YES}}
    first = {one.place: one for one in (Judged("of-step", "h1", "refuted"), OF_STEP)}
    return Lots(hosts.snapshot({}, {}), first, rows)


def test_each_is_there_once_those_of_steps_first() -> None:
    found = made()
    assert list(found) == [("of-step", "h1"), ("both", "h2"), ("one", "h1"), ("one", "h2"), ("both", "h1")]
    assert len(found) == 5


def test_what_both_judge_is_as_the_check_says() -> None:
    assert made()["both", "h2"].told == YES.said


def test_one_is_made_when_looked_at_with_the_evidence_of_its_host() -> None:
    one = made()["one", "h2"]
    assert (one.id, one.where, one.outcome, one.told, one.why) == ("one", "h2", "refuted", NO.said, "")
    assert [seen.where for seen in one.evidence] == ["h2"]
    mute = made()["both", "h1"]
    assert (mute.outcome, mute.told, mute.why) == ("unknown", None, "nothing said")


def test_what_nobody_judged_is_not_there() -> None:
    found = made()
    assert ("one", "h1") in found
    assert found.get(("one", "h3")) is None
    assert ("one", "h3") not in found
    assert ("none", "h1") not in found


def test_the_places_of_an_outcome_are_those_of_the_plain_mapping() -> None:
    found = made()
    outcomes: tuple[Outcome, ...] = ("confirmed", "refuted", "unknown")
    for outcome in outcomes:
        assert list(spots(found, outcome)) == list(spots(dict(found), outcome))
        assert [one.place for one in having(found, outcome)] == list(spots(found, outcome))
    assert list(spots(found, "confirmed")) == [("both", "h2"), ("one", "h1")]
