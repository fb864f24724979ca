"""A view notes what it reads, and makes once what is the same for all hosts."""

from collections.abc import Callable
from dataclasses import replace

from gpustack.ask.judge import Judgement, Result, build_ok_result
from gpustack.ask.judge import judge as judge_at
from gpustack.ask.probe import Answer, Probe, Shell
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from tests.worlds.snapshots import hosts
from tests.worlds.snapshots.judge import judge_check


def extract_text(answer: Answer) -> str:
    return answer.stdout


NAME = Probe("made.name", Shell("true"), extract_text)


def snapshot(*texts: str) -> Snapshot:
    snapshot = hosts.build_snapshot()
    answers = {
        (NAME.id, host): Answer(NAME.id, host, 0, stdout) for host, stdout in zip(("h1", "h2"), texts, strict=True)
    }
    return replace(snapshot, answers=answers)


def judge_reads(read: Callable[[View], object], taken_snapshot: Snapshot) -> list[Judgement]:
    return [
        judge_at("read", lambda view: build_ok_result("value", str(read(view))), taken_snapshot, location)
        for location in ("h1", "h2")
    ]


def list_values(read: Callable[[View], object], taken_snapshot: Snapshot) -> list[str]:
    return [
        judgement.result.actual if judgement.result else judgement.outcome
        for judgement in judge_reads(read, taken_snapshot)
    ]


def test_each_host_has_its_own_evidence() -> None:
    evidence = [judgement.evidence for judgement in judge_reads(lambda view: view[NAME], snapshot("a", "a"))]
    assert [[(row.location, row.answer.location) for row in rows] for rows in evidence] == [
        [("h1", "h1")],
        [("h2", "h2")],
    ]


def test_a_fact_is_parsed_once() -> None:
    parsed_texts: list[str] = []

    def parse(answer: Answer) -> str:
        parsed_texts.append(answer.location)
        return answer.stdout

    probe = Probe(NAME.id, Shell("true"), parse)
    taken_snapshot = snapshot("a", "b")
    assert [list_values(lambda view: view[probe], taken_snapshot) for _ in range(2)] == [["a", "b"]] * 2
    assert parsed_texts == ["h1", "h2"]


def test_what_cannot_be_read_is_unknown_there_alone() -> None:
    lost_snapshot = replace(snapshot("a", "a"), answers={})
    assert list_values(lambda view: view[NAME], lost_snapshot) == ["unknown", "unknown"]
    assert list_values(lambda view: int(view[NAME]), snapshot("a", "7")) == ["unknown", "7"]


def test_checks_of_one_name_are_not_taken_for_each_other() -> None:
    """Checks that a function makes share their name."""

    def build_check(word: str) -> Callable[[View], Result]:
        def check(host_view: View) -> Result:
            return Result(word, "other", host_view[NAME])

        return check

    view = View(snapshot("a", "a"), "h1")
    assert [str(judge_check(build_check(word), view).result) for word in ("one", "two")] == [
        "one: expected other, actual a",
        "two: expected other, actual a",
    ]


def test_what_is_made_of_many_hosts_is_made_once_and_is_evidence_for_each() -> None:
    taken_snapshot, times = snapshot("a", "b"), []

    def join_hosts(host_view: View) -> str:
        times.append(host_view.location)
        return "".join(host_view.select_host(host)[NAME] for host in ("h1", "h2"))

    judgements = [
        *judge_reads(lambda view: view.compute_once(join_hosts), taken_snapshot),
        *judge_reads(lambda view: view.compute_once(join_hosts), taken_snapshot),
    ]
    assert [judgement.result and judgement.result.actual for judgement in judgements] == ["ab"] * 4
    assert len(times) == 1
    assert [evidence.location for evidence in judgements[1].evidence] == ["h1", "h2"]


def test_its_arguments_tell_one_value_from_another() -> None:
    taken_snapshot, words = snapshot("a", "b"), [["a"], ["a"]]

    def join_arguments(host_view: View, words: list[str], text: str, large: bool) -> str:
        return f"{words} {text} {large}"

    def check(host_view: View) -> tuple[str, ...]:
        return tuple(
            host_view.compute_once(join_arguments, word, text, large)
            for word in words
            for text in ("x", "y")
            for large in (True, False)
        )

    assert len(set(list_values(check, taken_snapshot))) == 1
    assert len(taken_snapshot.memo) == 8


def test_what_cannot_be_made_is_raised_to_each() -> None:
    def join_hosts(host_view: View) -> str:
        return host_view.select_host("h1")[Probe("never.asked", Shell("true"), extract_text)]

    assert list_values(lambda view: view.compute_once(join_hosts), snapshot("a", "b")) == ["unknown", "unknown"]
