"""What a view notes as it is read, and what is made once for all hosts."""

from collections.abc import Callable
from dataclasses import replace

from gpustack.ask.judge import Mismatch, run
from gpustack.ask.probe import Answer, FactUnavailable, Probe, Shell
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from tests.unit.judging import judge
from tests.unit.steps import recorded_hosts as hosts


def text(answer: Answer) -> str:
    return answer.out


NAME = Probe("made.name", Shell("true"), text)


def snapshot(*said: str) -> Snapshot:
    found = hosts.snapshot({}, {})
    answers = {(NAME.id, host): Answer(NAME.id, host, 0, out) for host, out in zip(("h1", "h2"), said, strict=True)}
    return replace(found, answers=answers)


def results(check: Callable[[View], object], made: Snapshot) -> list[object]:
    return [run(check, made, where)[0] for where in ("h1", "h2")]


def test_each_host_has_its_own_evidence() -> None:
    made = snapshot("a", "a")
    evidence = [run(lambda here: here[NAME], made, where)[1] for where in ("h1", "h2")]
    assert [[(one.where, one.answer.where) for one in rows] for rows in evidence] == [[("h1", "h1")], [("h2", "h2")]]


def test_a_fact_is_parsed_once() -> None:
    parsed: list[str] = []

    def parse(answer: Answer) -> str:
        parsed.append(answer.where)
        return answer.out

    probe = Probe(NAME.id, Shell("true"), parse)
    made = snapshot("a", "b")
    assert [results(lambda here: here[probe], made) for _ in range(2)] == [["a", "b"]] * 2
    assert parsed == ["h1", "h2"]


def test_what_cannot_be_read_is_returned() -> None:
    lost = replace(snapshot("a", "a"), answers={})
    assert [type(one) for one in results(lambda here: here[NAME], lost)] == [FactUnavailable, FactUnavailable]
    assert [type(one) for one in results(lambda here: int(here[NAME]), snapshot("a", "7"))] == [ValueError, int]


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


def test_what_is_made_of_many_hosts_is_made_once_and_is_evidence_for_each() -> None:
    made, times = snapshot("a", "b"), []

    def both(here: View) -> str:
        times.append(here.where)
        return "".join(here.on(host)[NAME] for host in ("h1", "h2"))

    found = [run(lambda here: here.once(both), made, where) for where in ("h1", "h2", "h2")]
    assert [text for text, _ in found] == ["ab"] * 3
    assert len(times) == 1
    assert [one.where for one in found[1][1]] == ["h1", "h2"]


def test_what_it_is_given_tells_one_from_another() -> None:
    made, words = snapshot("a", "b"), [["a"], ["a"]]

    def joined(here: View, one: list[str], text: str, large: bool) -> str:
        return f"{one} {text} {large}"

    def check(here: View) -> tuple[str, ...]:
        return tuple(
            here.once(joined, one, text, large) for one in words for text in ("x", "y") for large in (True, False)
        )

    assert len(set(results(check, made))) == 1
    assert len(made.memo) == 8


def test_what_cannot_be_made_is_raised_to_each() -> None:
    def both(here: View) -> str:
        return here.on("h1")[Probe("never.asked", Shell("true"), text)]

    found = results(lambda here: here.once(both), snapshot("a", "b"))
    assert [type(one) for one in found] == [FactUnavailable, FactUnavailable]
