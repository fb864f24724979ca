"""Two processes say together what one would say alone."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask import ahead, alike
from gpustack.ask.ahead import Job
from gpustack.ask.judge import Mismatch
from gpustack.ask.probe import CLUSTER, Answer, FactUnavailable, Probe, Shell
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from tests.unit.steps import recorded_hosts as hosts

WHERES = ("h1", "h2")


def text(answer: Answer) -> str:
    return answer.out


NAME = Probe("made.name", Shell("true"), text)
MUTE = Probe("made.mute", Shell("true"), text)


def own(here: View) -> Mismatch | None:
    return None if here.where == "h1" else Mismatch("name", "h1", here[NAME])


def other(here: View) -> str:
    return here[NAME] + here.on("h1")[NAME]


def mute(here: View) -> str:
    return here[MUTE]


def wrong(here: View) -> str:
    return here[NAME].split()[5]


CHECKS = (own, other, mute, wrong)


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "MANY", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


def snapshot() -> Snapshot:
    answers = {(NAME.id, host): Answer(NAME.id, host, 0, f"I am {host}") for host in WHERES}
    return replace(hosts.snapshot({}, {}), answers=answers, parsed={})


def looks(found: dict[str, alike.Heard]) -> list[tuple[str, str, str, list[Any]]]:
    return [(where, type(one.said).__name__, str(one.said), list(one.read)) for where, one in found.items()]


def jobs(*checks: Callable[[View], object]) -> list[Job]:
    return [(check, WHERES) for check in checks]


def test_what_both_found_is_what_one_finds() -> None:
    made, alone = snapshot(), snapshot()
    ahead.ahead(jobs(*CHECKS, *CHECKS[:1]), made, (NAME, MUTE))
    assert set(alike.remembered(made)) == set(CHECKS)
    for check in CHECKS:
        assert looks(alike.everywhere(check, made, WHERES)) == looks(alike.everywhere(check, alone, WHERES))
    assert isinstance(alike.everywhere(mute, made, WHERES)["h1"].said, FactUnavailable)


def test_what_the_second_process_says_comes_back_as_it_was() -> None:
    for check in CHECKS:
        rows = alike.everywhere(check, snapshot(), WHERES)
        there = ahead.unpacked(ahead.packed(rows), WHERES, {NAME.id: NAME, MUTE.id: MUTE})
        assert looks(there) == looks(rows)


def test_nothing_is_judged_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    made = snapshot()
    ahead.ahead(jobs(*CHECKS), made, (NAME, MUTE))
    monkeypatch.setattr(alike, "hear", lambda *_: pytest.fail("judged again"))
    for check in CHECKS:
        alike.everywhere(check, made, WHERES)


def test_the_checks_of_the_cluster_are_judged_beside_those_of_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_all(here: View) -> str:
        return " and ".join(here.on(where)[NAME] for where in WHERES)

    made, alone = snapshot(), snapshot()
    ahead.ahead([*jobs(*CHECKS), (of_all, (CLUSTER,))], made, (NAME, MUTE))
    known = looks(alike.everywhere(of_all, alone, (CLUSTER,)))
    monkeypatch.setattr(alike, "hear", lambda *_: pytest.fail("judged again"))
    assert looks(alike.everywhere(of_all, made, (CLUSTER,))) == known


def test_without_the_second_process_the_first_judges_all() -> None:
    def ends(here: View) -> str:
        """As if there were no memory left, but in the first process."""
        if os.getpid() != first:
            os._exit(9)
        return here[NAME]

    first, made = os.getpid(), snapshot()
    ahead.ahead([(ends, WHERES)] * 9, made, (NAME,))
    assert [one.said for one in alike.everywhere(ends, made, WHERES).values()] == ["I am h1", "I am h2"]


def test_where_no_process_can_be_started_all_is_judged_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fork)
    made = snapshot()
    ahead.ahead(jobs(other), made, (NAME,))
    assert [one.said for one in alike.everywhere(other, made, WHERES).values()] == ["I am h1I am h1", "I am h2I am h1"]


@pytest.mark.parametrize(("cores", "many"), [({0}, 2), ({0, 1}, 3)])
def test_one_core_or_few_hosts_start_no_process(monkeypatch: pytest.MonkeyPatch, cores: set[int], many: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores)
    monkeypatch.setattr(ahead, "MANY", many)
    monkeypatch.setattr(ahead, "get_context", lambda _: pytest.fail("started one"))
    made = snapshot()
    ahead.ahead(jobs(*CHECKS), made, (NAME, MUTE))
    assert alike.remembered(made) == {}
