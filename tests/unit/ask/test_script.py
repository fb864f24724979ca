"""The script that asks, run by a real shell on this machine."""

import subprocess
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.ask.answers import MAX_STDOUT, parse_answers
from gpustack.ask.probe import Answer, FactUnavailable, Probe, Shell
from gpustack.ask.script import build_last_line, render_script
from gpustack.ask.transport.execute import run_script
from gpustack.config.host import Host

MARK = "0123456789abcdef"
LOCAL_HOST = Host("here", "127.0.0.1", connection="local")


def extract_text(answer: Answer) -> str:
    return answer.stdout


def run_probes(*probes: Probe[Any], before: str = "", **environment: str) -> dict[str, Answer]:
    script = before + render_script(probes, MARK, environment)
    process = subprocess.run(["sh"], input=script.encode(), capture_output=True, timeout=30, check=True)
    output_lines = [*process.stdout.split(b"\n"), *process.stderr.split(b"\n")]
    lines = [line.decode(errors="replace") for line in output_lines]
    assert lines.count(build_last_line(MARK)) == 2
    return {answer.probe: answer for answer in parse_answers(lines, MARK, "h1", {p.id: p for p in probes})}


def test_output_status_and_errors_arrive_exactly() -> None:
    answer = run_probes(Probe("a", Shell("printf 'one\\ntwo'; echo bad >&2; exit 3"), extract_text))["a"]
    assert (answer.rc, answer.stdout, answer.stderr, answer.location, answer.cut) == (
        3,
        "one\ntwo",
        "bad\n",
        "h1",
        False,
    )


def test_a_hanging_probe_is_cut_at_its_limit_and_the_next_is_asked() -> None:
    start = time.monotonic()
    answers = run_probes(
        Probe("hang", Shell("sleep 20"), extract_text, limit=1), Probe("next", Shell("echo here"), extract_text)
    )
    assert answers["hang"].rc == 124
    assert answers["next"].stdout == "here\n"
    assert time.monotonic() - start < 10
    with pytest.raises(FactUnavailable, match="within 1 s"):
        Probe("hang", Shell(""), extract_text, limit=1).extract_fact(answers["hang"])


def test_a_probe_that_eats_stdin_does_not_eat_the_script() -> None:
    answers = run_probes(Probe("eat", Shell("cat"), extract_text), Probe("next", Shell("echo here"), extract_text))
    assert answers["eat"].stdout == ""
    assert answers["next"].stdout == "here\n"


@pytest.mark.parametrize(
    "redirection", ["(sleep 0.5; echo stray) &", "sh -c 'kill -9 $PPID; sleep 0.5; echo stray'; :"]
)
def test_what_a_probe_left_behind_does_not_talk_into_the_next_answer(redirection: str) -> None:
    answers = run_probes(
        Probe("left", Shell(redirection), extract_text), Probe("next", Shell("sleep 1; echo here"), extract_text)
    )
    assert answers["next"].stdout == "here\n"


def test_more_than_is_kept_is_marked_cut_and_never_a_fact() -> None:
    probe = Probe("big", Shell(f"head -c {MAX_STDOUT + 100} /dev/zero | tr '\\0' x"), extract_text)
    answer = run_probes(probe)["big"]
    assert answer.cut
    with pytest.raises(FactUnavailable, match="longer"):
        probe.extract_fact(answer)


def test_exactly_what_is_kept_is_not_cut() -> None:
    answer = run_probes(Probe("full", Shell(f"head -c {MAX_STDOUT} /dev/zero | tr '\\0' x"), extract_text))["full"]
    assert not answer.cut
    assert len(answer.stdout) == MAX_STDOUT


def test_binary_output_and_a_talkative_shell_confuse_nothing() -> None:
    probe = Probe("nul", Shell("printf 'a\\000\\377b'"), extract_text)
    answers = run_probes(probe, before=f"echo welcome; echo '{MARK}'; echo '{MARK} . x y';\n")
    assert answers["nul"].stdout == "a\x00�b"


def test_exported_values_are_quoted() -> None:
    answers = run_probes(Probe("v", Shell('printf %s "$ODD"'), extract_text), ODD="a 'b' $(echo c); d")
    assert answers["v"].stdout == "a 'b' $(echo c); d"


def test_an_answer_broken_off_is_lost() -> None:
    probe = Probe("a", Shell("echo hi"), extract_text)
    (answer,) = parse_answers([f"{MARK} a 1.00", "hi"], MARK, "h1", {"a": probe})
    with pytest.raises(FactUnavailable, match="truncated"):
        probe.extract_fact(answer)


def test_a_child_left_behind_keeps_nobody_waiting() -> None:
    start = time.monotonic()
    marker = "fedcba9876543210"
    probes = [
        Probe("stray", Shell("sleep 20 & echo gone"), extract_text),
        Probe("next", Shell("echo here"), extract_text),
    ]
    script = render_script(probes, marker, {})
    lines = run_script(LOCAL_HOST, script, last=build_last_line(marker))
    answers = list(parse_answers(lines, marker, "h1", {probe.id: probe for probe in probes}))
    assert [answer.stdout for answer in answers] == ["gone\n", "here\n"]
    assert time.monotonic() - start < 10


@given(st.lists(st.text()))
def test_no_text_of_a_host_breaks_the_reading(lines: list[str]) -> None:
    probe = Probe("a", Shell(""), extract_text)
    for answer in parse_answers([f"{MARK} {line}" for line in lines] + lines, MARK, "h1", {"a": probe}):
        assert answer.missing_reason or answer.probe == "a"


def test_kubectl_keeps_no_cache_on_the_host() -> None:
    answer = run_probes(Probe("a", Shell('echo "$KUBECACHEDIR"'), extract_text), before="KUBECACHEDIR=/root/x\n")["a"]
    assert answer.stdout == "/dev/null\n"
