"""Whatever hosts and other people say, only printable text, newlines and our own colours are shown."""

import io
import json as stdlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpustack.ask.probe import Answer
from gpustack.ask.redact.printable import clean_text, is_printable
from gpustack.ask.snapshot import Reach
from gpustack.command import Command
from gpustack.errors import GpustackError
from gpustack.events import Event
from gpustack.report import human, json, junit
from gpustack.report.error import render_error
from gpustack.report.guard import ALLOWED_SEQUENCES, GuardedStream
from gpustack.report.progress import build_progress_reporter, clear_live_lines
from gpustack.report.terminal import Terminal
from gpustack.rollout.plan import Outcome, Plan, TaskFailure, Verification
from tests.unit.hostile.answers import ESCAPES
from tests.unit.hostile.profile import STEP_CASES
from tests.worlds.results import plans
from tests.worlds.results.plans import RUNTIME, SWAP

WORST = "".join(f"<{escape}>" for escape in ESCAPES) + "\ud800\U000e0041\ufeff\u200b\ue000\x1b]0;never ends\nnext line"
TEXTS = st.lists(st.sampled_from(ESCAPES) | st.text(max_size=5), min_size=1, max_size=8).map("".join)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def find_odd_characters(output: str) -> set[str]:
    """Find the characters that no output may have, our own colours left out."""
    return {char for char in ALLOWED_SEQUENCES.sub("", output) if not is_printable(char)}


def build_plan(text: str) -> Plan:
    """Build a plan in which everything that can come from elsewhere says the text: host names, answers, reasons,
    hints."""
    name = f"kube1{text}"
    answers = [
        Answer(SWAP.id, name, 1, text, text),
        Answer(RUNTIME.id, name, 0, f"{text}\n"),
        *plans.make_answers("kube2"),
    ]
    plan = plans.make_plan([name, "kube2", "kube3"], answers)
    reach = dict(plan.snapshot.reach) | {"kube3": Reach("kube3", "host-ssh-unreachable", text, Command(text))}
    return replace(plan, snapshot=replace(plan.snapshot, reach=MappingProxyType(reach)))


def build_outcome(text: str) -> Outcome:
    bad = TaskFailure(f"kube1{text}", text, text, text)
    run = plans.make_run("ground", (f"kube1{text}",), (), [bad])
    return Outcome(
        build_plan(text), (run,), Verification(build_plan(text), 0.1, 3), ((text, "ground"),), 1.0, stop_reason=text
    )


def draw_text(draw: Callable[[Terminal], None], **settings: str) -> str:
    stream = Screen()
    draw(Terminal(stream, width=80, **settings))
    return stream.getvalue()


RENDERERS: dict[str, Callable[[str], str]] = {
    "plan": lambda text: draw_text(
        lambda to: human.render_plan(to, build_plan(text), verbose=True), color_system="standard"
    ),
    "verify": lambda text: draw_text(
        lambda to: human.render_verification(to, Verification(build_plan(text), 1.0, 3), verbose=True),
        color_system="standard",
    ),
    "install": lambda text: draw_text(
        lambda to: human.render_outcome(to, build_outcome(text), verbose=True, evidence=text), color_system="standard"
    ),
    "plan json": lambda text: json.render_plan(build_plan(text), verbose=True),
    "install json": lambda text: json.render_outcome(build_outcome(text), verbose=True, evidence=text),
    "plan junit": lambda text: junit.render_plan(build_plan(text)),
    "install junit": lambda text: junit.render_outcome(build_outcome(text)),
    "error": lambda text: render_error(GpustackError("locked", text, text, Command(text))),
    "progress, a log": lambda text: report_text(text, io.StringIO()),
    "progress, a terminal": lambda text: report_text(text, Screen()),
}
renderers = pytest.mark.parametrize("name", RENDERERS)


def report_text(text: str, stream: io.StringIO) -> str:
    report = build_progress_reporter(stream)
    for kind in ("ask", "asked", "note", "step", "task", "changed", "waiting", "failed", "done"):
        report(Event(kind, text, text, 1.0))
    clear_live_lines()
    return stream.getvalue()


@renderers
def test_the_worst_text_is_shown_harmlessly(name: str) -> None:
    screen = RENDERERS[name](WORST)
    assert find_odd_characters(screen) == set()
    assert "next line" in screen, "a string that never ends hides nothing"
    for sequence in ("\x1b[2J", "\x1b]", "\x1b[H", "\x1bP"):
        assert sequence not in screen


@renderers
@settings(STEP_CASES)
@given(text=TEXTS)
@example(text="\ud800")
@example(text="\x1b")
def test_only_printable_text_comes_out(name: str, text: str) -> None:
    screen = RENDERERS[name](text)
    assert find_odd_characters(screen) == set()
    screen.encode()
    if name.endswith("json"):
        stdlib.loads(screen)
    if name.endswith("junit"):
        fromstring(screen)


@pytest.mark.parametrize("name", ["plan", "install", "progress, a log"])
def test_no_line_of_a_host_passes_for_one_of_ours(name: str) -> None:
    screen = RENDERERS[name]("x\nkube2: done\r3 hosts converged, nothing to do")
    assert [line for line in screen.splitlines() if line.startswith(("kube2: done", "3 hosts converged"))] == []


@settings(STEP_CASES)
@given(text=TEXTS)
def test_plain_twice_is_plain_once(text: str) -> None:
    cleaned_text = clean_text(text)
    assert find_odd_characters(cleaned_text) == set()
    assert clean_text(cleaned_text) == cleaned_text


def test_a_secret_with_an_escape_inside_is_a_secret() -> None:
    text = "it was pass\x1b[1mword=canary77"
    plan = plans.make_plan(["kube1"], [Answer(SWAP.id, "kube1", 1, text, text), Answer(RUNTIME.id, "kube1", 0, text)])
    error = GpustackError("locked", text, text, Command("rm", "password=canary77"))
    for screen in (json.render_plan(plan, verbose=True), junit.render_plan(plan), render_error(error)):
        assert "canary77" not in screen


@pytest.mark.parametrize("screen", [True, False])
def test_what_is_written_past_all_renderers_is_guarded(screen: bool) -> None:
    stream = Screen() if screen else io.StringIO()
    GuardedStream(stream).writelines([WORST, "\x1b[31mours\x1b[0m"])
    assert find_odd_characters(stream.getvalue()) == set()
    assert ("\x1b[31mours\x1b[0m" in stream.getvalue()) is screen


@pytest.mark.parametrize(
    "words", [["explain", WORST[:60]], ["plan", "-i", "/no/\x1b]0;x\x07\x1b[2J"], ["\x1b[2Jno-verb"]]
)
def test_what_was_typed_is_shown_harmlessly(words: list[str], tmp_path: Path) -> None:
    words = [word.replace("\0", "") for word in words]
    env = os.environ | {"NO_COLOR": "1", "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "gpustack.cli.app", *words]
    ran = subprocess.run(command, capture_output=True, env=env, timeout=60, check=False)
    assert ran.returncode in (2, 3)
    assert find_odd_characters((ran.stdout + ran.stderr).decode()) == set()


@pytest.mark.parametrize("coding", ["ascii", "latin-1"])
def test_a_stream_that_cannot_hold_a_character_ends_nothing(coding: str, tmp_path: Path) -> None:
    env = os.environ | {"PYTHONIOENCODING": coding, "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "gpustack.cli.app", "explain", "日本語…"]
    ran = subprocess.run(command, capture_output=True, env=env, timeout=60, check=False)
    assert ran.returncode == 2
    assert b"There is no page" in ran.stderr


@pytest.mark.parametrize(
    ("coding", "expected"),
    [
        ("ascii", "-9.1 % +/- 2 49 C ... `-failed ?"),
        ("latin-1", "-9.1 % ± 2 49 °C ... `-failed ?"),
        ("utf-8", "\N{MINUS SIGN}9.1 % ± 2 49 °C … └─✗ 日"),
    ],
)
def test_a_stream_without_a_character_gets_one_of_the_same_meaning(coding: str, expected: str) -> None:
    """A minus that became a question mark would make a loss a gain."""
    stream = io.TextIOWrapper(buffer := io.BytesIO(), encoding=coding)
    GuardedStream(stream).write("\N{MINUS SIGN}9.1 % ± 2 49 °C … └─✗ 日")
    stream.flush()
    assert buffer.getvalue().decode(coding) == expected
