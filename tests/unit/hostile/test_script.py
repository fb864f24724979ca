"""Hostile programs behind a question, run by a real shell: what they do to their own answer is theirs, the answers
before and after it arrive as they were printed, and all of it in time."""

import os
import secrets
import time

import pytest

from gpustack.ask.answers import parse_answers
from gpustack.ask.probe import Answer, FactUnavailable, Lines, Probe
from gpustack.ask.script import build_last_line, render_script
from gpustack.ask.transport.execute import Command, build_root_command, build_stdin, execute_command, run_script
from gpustack.config.host import Host

LOCAL_HOST = Host("here", "127.0.0.1", connection="local")
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or sudo without a password")
MANY = "head -c 300000 /dev/zero | tr '\\0' x"

GARBAGE = {
    "binary": "head -c 3000 /dev/urandom",
    "nul and 0xff": "printf 'a\\000b\\377\\n'",
    "escapes": "printf '\\033[2J\\033]52;c;cHduZWQ=\\007\\033]0;x\\007\\n'",
    "no newline at its end": "printf broken-off",
    "300 KB": MANY,
    "300 KB in lines": "yes | head -n 150000",
    "fails in another language": "echo 'ss: Kommando nicht gefunden' >&2; exit 127",
    "kills itself": "kill -9 $$",
    "kills its parent": "kill -9 $PPID",
    "is terminated": "kill $$",
    "sleeps past its limit": "echo x; sleep 20",
    "sleeps and will not be terminated": "trap '' TERM; echo x; sleep 20",
    "closes its output": "exec >&- 2>&-; echo x",
    "an error of syntax": "if then",
    "a here-document that never ends": "cat <<EOF\nx",
    "exit in the middle": "echo x; exit 3; echo y",
    "set -e": "set -e; false; echo x",
    "exec of nothing": "exec /nonexistent",
}
"""Never a fact."""
LIES = {
    "markers of another run": "printf '\\n0123456789abcdef0123456789abcdef . 0 1.0\\n0123456789abcdef done\\n'",
    "markers as they could be guessed": 'printf "\\n$M . 0 1\\n$M done\\n$MARKER done\\nM done\\n" 2>&1',
    "the words of our errors": "echo GPUSTACK-NO-SUDO >&2; echo 'sudo: a password is required' >&2; echo x",
    "a flood of errors": f"echo x; {MANY} >&2",
    "reads its input": "cat; echo x",
    "another trap": "trap 'echo trapped' EXIT; echo x",
    "other descriptors": "echo x >&3; echo y >&5; echo z >&9; echo x",
    "another umask, folder and limits": "umask 777; cd /; ulimit -n 3; echo x",
    "a child that keeps its output open": "sleep 20 & echo x",
    "a function called p, and other names of ours": "p() { :; }; M=x; r=7; up=z; export M; echo x",
}
"""Well-formed in the end; what they say is for the parser to judge."""


def extract_output(answer: Answer) -> str:
    return answer.stdout


def run_between(script: str) -> tuple[dict[str, Answer], float]:
    """Run a hostile probe between two neighbours, and return what they print, as the product asks."""
    marker, start = secrets.token_hex(16), time.monotonic()
    texts = {"t.before": "echo before; echo e1 >&2", "t.hostile": script, "t.after": "echo after; echo e2 >&2; exit 7"}
    probes = {id: Probe(id, Lines(text), extract_output, limit=1) for id, text in texts.items()}
    lines = run_script(
        LOCAL_HOST, render_script(list(probes.values()), marker, {}), limit=30, last=build_last_line(marker)
    )
    answers = {answer.probe: answer for answer in parse_answers(lines, marker, "here", probes)}
    return answers, time.monotonic() - start


def assert_neighbours(answers: dict[str, Answer]) -> None:
    before, after = answers["t.before"], answers["t.after"]
    assert (before.stdout, before.stderr, before.rc) == ("before\n", "e1\n", 0)
    assert (after.stdout, after.stderr, after.rc) == ("after\n", "e2\n", 7)


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_no_fact_and_harms_no_neighbour(name: str) -> None:
    answers, took = run_between(GARBAGE[name])
    assert_neighbours(answers)
    with pytest.raises(FactUnavailable):
        Probe("t.hostile", Lines(""), extract_output, limit=1).extract_fact(answers["t.hostile"])
    assert took < 15


@pytest.mark.parametrize("name", LIES)
def test_lies_harm_no_neighbour(name: str) -> None:
    answers, took = run_between(LIES[name])
    assert_neighbours(answers)
    assert answers["t.hostile"].rc == 0
    assert not answers["t.hostile"].missing_reason
    assert took < 15


def test_a_stray_child_that_goes_on_printing_ends_no_run() -> None:
    """The child may spoil the output while it prints; it is never taken for a marker of ours."""
    answers, took = run_between(
        "{ for i in 1 2 3 4 5 6 7 8 9; do printf '\\033[31mstray\\n'; sleep 0.1; done; } & echo x"
    )
    assert set(answers) == {"t.before", "t.hostile", "t.after"}
    assert answers["t.before"].stdout == "before\n"
    assert "after\n" in answers["t.after"].stdout
    assert took < 15


def test_one_that_kills_the_shell_that_asks_loses_what_comes_after_it() -> None:
    answers, took = run_between("kill -9 $(awk '/^PPid/ {print $2}' /proc/$PPID/status)")
    assert answers["t.before"].stdout == "before\n"
    for late in ("t.hostile", "t.after"):
        with pytest.raises(FactUnavailable):
            Probe(late, Lines(""), extract_output).extract_fact(
                answers.get(late, Answer(late, "here", -1, "", missing_reason="never came"))
            )
    assert took < 15


def test_a_talkative_login_is_passed_over() -> None:
    """Errors of the login are not sudo's, its last line need not end, and it may say what a script of ours could."""
    mark = secrets.token_hex(16)
    noise = "printf 'welcome\\033[2J\\nheld\\nno newline'; echo 'sudo: x' >&2"
    line = f"{noise}; {build_root_command(mark, password=False)}"
    lines = execute_command(LOCAL_HOST, Command(line, build_stdin("echo held", mark, None), 10, mark))
    assert next(lines) == "held"
