"""Alike hosts are judged once, and each says what it would have said alone."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask import ahead, alike
from gpustack.ask.judge import Mismatch
from gpustack.ask.probe import Answer, FactUnavailable, Probe, Shell
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.doctor.diagnose import diagnose
from scripts.fleet.made import fleet
from tests.unit.judging import judge
from tests.unit.steps import recorded_hosts as hosts


class Personal(View):
    """As if every check looked at the host itself."""

    __slots__ = ()

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.personal = True


def text(answer: Answer) -> str:
    return answer.out


NAME = Probe("made.name", Shell("true"), text)


def snapshot(*said: str) -> Snapshot:
    found = hosts.snapshot({}, {})
    answers = {(NAME.id, host): Answer(NAME.id, host, 0, out) for host, out in zip(("h1", "h2"), said, strict=True)}
    return replace(found, answers=answers)


def judged(check: Callable[[View], object], made: Snapshot) -> list[object]:
    return [heard.said for heard in alike.everywhere(check, made, ("h1", "h2")).values()]


@pytest.mark.parametrize(("said", "times"), [(("a", "a"), 1), (("a", "b"), 2)])
def test_the_same_facts_are_judged_once(said: tuple[str, str], times: int) -> None:
    asked: list[str] = []

    def check(here: View) -> str:
        asked.append(here[NAME])
        return f"{here[NAME]}!"

    assert judged(check, snapshot(*said)) == [f"{one}!" for one in said]
    assert len(asked) == times


def test_what_looks_at_the_host_itself_is_judged_there() -> None:
    assert judged(lambda here: f"{here[NAME]} {here.where}", snapshot("a", "a")) == ["a h1", "a h2"]
    assert judged(lambda here: here.host.address, snapshot("a", "a")) == ["10.77.1.11", "10.77.1.12"]


def test_each_has_its_own_evidence() -> None:
    made = snapshot("a", "a")

    def check(here: View) -> str:
        return here[NAME]

    heard = alike.everywhere(check, made, ("h1", "h2"))
    seen = [alike.Seen(made, host, one.read) for host, one in heard.items()]
    assert [[one.answer.where for one in evidence] for evidence in seen] == [["h1"], ["h2"]]
    assert [evidence.asked for evidence in seen] == [{(NAME.id, "h1")}, {(NAME.id, "h2")}]


def test_what_cannot_be_read_is_returned() -> None:
    lost = replace(snapshot("a", "a"), answers={})
    assert all(isinstance(one, FactUnavailable) for one in judged(lambda here: here[NAME], lost))


def test_what_cannot_be_read_is_judged_once_too() -> None:
    asked: list[str] = []

    def check(here: View) -> int:
        asked.append(here[NAME])
        return int(here[NAME])

    assert [type(one) for one in judged(check, snapshot("a", "a"))] == [ValueError, ValueError]
    assert asked == ["a"]


def test_many_hosts_are_told_what_each_alone_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(made: Snapshot) -> dict[tuple[str, str], tuple[str, str]]:
        return {place: (one.outcome, str(one.told or one.why)) for place, one in diagnose(made).judged.items()}

    made = fleet(110)
    quick = told(made)
    with monkeypatch.context() as in_two:
        in_two.setattr(ahead, "MANY", 100)
        in_two.setattr(os, "sched_getaffinity", lambda _: {0, 1})
        assert quick == told(replace(made, parsed={}))
    monkeypatch.setattr(alike, "View", Personal)
    assert quick == told(replace(made, parsed={}))
    assert quick["host-ip-forward-off", "k100"][0] == "confirmed"
    assert quick["host-ip-forward-off", "k99"][0] == "refuted"


def test_checks_of_one_name_are_not_taken_for_each_other() -> None:
    """Those that a function makes share their name."""

    def made(word: str) -> Callable[[View], Mismatch]:
        def check(here: View) -> Mismatch:
            return Mismatch(word, "other", here[NAME])

        return check

    here = View(snapshot("a", "a"), "h1")
    assert [str(judge(made(word), here).mismatch) for word in ("one", "two")] == [
        "one: expected other, found a",
        "two: expected other, found a",
    ]


def test_what_is_made_of_many_hosts_is_made_once_and_is_everybodys_evidence() -> None:
    made, times = snapshot("a", "b"), []

    def both(here: View) -> str:
        times.append(here.where)
        return "".join(here.on(host)[NAME] for host in ("h1", "h2"))

    found = [alike.everywhere(lambda here: here.once(both), made, ("h1", "h2")) for _ in range(2)]
    assert [heard.said for rows in found for heard in rows.values()] == ["ab"] * 4
    assert len(times) == 1
    assert [seen.where for seen in alike.Seen(made, "h2", found[1]["h2"].read)] == ["h1", "h2"]


def test_what_cannot_be_made_is_raised_to_everybody() -> None:
    def both(here: View) -> str:
        return here.on("h1")[Probe("never.asked", Shell("true"), text)]

    found = judged(lambda here: here.once(both), snapshot("a", "b"))
    assert [type(said) for said in found] == [FactUnavailable, FactUnavailable]
