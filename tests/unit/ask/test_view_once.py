"""What a view notes as it is read, and what is made once for all hosts."""

from collections.abc import Callable
from dataclasses import replace

from gpustack.ask.judge import Judgement, Result, build_ok_result
from gpustack.ask.judge import judge as judge_at
from gpustack.ask.probe import Answer, Probe, Shell
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from tests.worlds.snapshots import hosts
from tests.worlds.snapshots.judge import judge_check


def text(answer: Answer) -> str:
    return answer.stdout


NAME = Probe("made.name", Shell("true"), text)


def snapshot(*texts: str) -> Snapshot:
    found = hosts.snapshot()
    answers = {(NAME.id, host): Answer(NAME.id, host, 0, out) for host, out in zip(("h1", "h2"), texts, strict=True)}
    return replace(found, answers=answers)


def judged(read: Callable[[View], object], made: Snapshot) -> list[Judgement]:
    return [
        judge_at("read", lambda view: build_ok_result("value", str(read(view))), made, where) for where in ("h1", "h2")
    ]


def values(read: Callable[[View], object], made: Snapshot) -> list[str]:
    return [judgement.result.actual if judgement.result else judgement.outcome for judgement in judged(read, made)]


def test_each_host_has_its_own_evidence() -> None:
    evidence = [judgement.evidence for judgement in judged(lambda view: view[NAME], snapshot("a", "a"))]
    assert [[(row.location, row.answer.location) for row in rows] for rows in evidence] == [
        [("h1", "h1")],
        [("h2", "h2")],
    ]


def test_a_fact_is_parsed_once() -> None:
    parsed: list[str] = []

    def parse(answer: Answer) -> str:
        parsed.append(answer.location)
        return answer.stdout

    probe = Probe(NAME.id, Shell("true"), parse)
    made = snapshot("a", "b")
    assert [values(lambda view: view[probe], made) for _ in range(2)] == [["a", "b"]] * 2
    assert parsed == ["h1", "h2"]


def test_what_cannot_be_read_is_unknown_there_alone() -> None:
    lost = replace(snapshot("a", "a"), answers={})
    assert values(lambda view: view[NAME], lost) == ["unknown", "unknown"]
    assert values(lambda here: int(here[NAME]), snapshot("a", "7")) == ["unknown", "7"]


def test_checks_of_one_name_are_not_taken_for_each_other() -> None:
    """Those that a function makes share their name."""

    def made(word: str) -> Callable[[View], Result]:
        def check(here: View) -> Result:
            return Result(word, "other", here[NAME])

        return check

    view = View(snapshot("a", "a"), "h1")
    assert [str(judge_check(made(word), view).result) for word in ("one", "two")] == [
        "one: expected other, found a",
        "two: expected other, found a",
    ]


def test_what_is_made_of_many_hosts_is_made_once_and_is_evidence_for_each() -> None:
    made, times = snapshot("a", "b"), []

    def both(here: View) -> str:
        times.append(here.location)
        return "".join(here.select_host(host)[NAME] for host in ("h1", "h2"))

    judgements = [
        *judged(lambda view: view.compute_once(both), made),
        *judged(lambda here: here.compute_once(both), made),
    ]
    assert [judgement.result and judgement.result.actual for judgement in judgements] == ["ab"] * 4
    assert len(times) == 1
    assert [evidence.location for evidence in judgements[1].evidence] == ["h1", "h2"]


def test_what_it_is_given_tells_one_from_another() -> None:
    made, words = snapshot("a", "b"), [["a"], ["a"]]

    def joined(here: View, one: list[str], text: str, large: bool) -> str:
        return f"{one} {text} {large}"

    def check(here: View) -> tuple[str, ...]:
        return tuple(
            here.compute_once(joined, word, text, large)
            for word in words
            for text in ("x", "y")
            for large in (True, False)
        )

    assert len(set(values(check, made))) == 1
    assert len(made.memo) == 8


def test_what_cannot_be_made_is_raised_to_each() -> None:
    def both(here: View) -> str:
        return here.select_host("h1")[Probe("never.asked", Shell("true"), text)]

    assert values(lambda view: view.compute_once(both), snapshot("a", "b")) == ["unknown", "unknown"]
