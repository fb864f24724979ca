"""A recording that was damaged anywhere is refused with its reference, or judged; it never ends in a traceback."""

import io
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings

from gpustack.ask.recording import read_recording, render_lines
from gpustack.errors import UsageError
from gpustack.report import human, json, junit
from gpustack.report.terminal import Terminal
from gpustack.rollout.plan import plan
from gpustack.steps import STEPS
from tests.unit.hostile.answers import ALL_SPOILS, build_hostile_answer, change_shape, generate_binary, spoil_text
from tests.unit.hostile.profile import LIMIT, SEED, STEP_CASES
from tests.worlds.snapshots.passing_steps import list_passing_steps

pytestmark = pytest.mark.timeout(LIMIT)


@cache
def render_recording() -> tuple[str, ...]:
    """Render a recording of the hosts of the step prereqs, two of them."""
    return tuple(render_lines(list_passing_steps()[0].snapshot))


def spoil_recording(random: Random) -> str:
    """Spoil one line or the whole; often the header, on which all depends."""
    lines = list(render_recording())
    if random.random() < 0.2:
        return spoil_text(random, "".join(lines))
    position = random.choice((0, 0, random.randrange(len(lines))))
    lines[position] = random.choice(
        (spoil_text, lambda random, text: change_shape(random, text) + "\n", generate_binary)
    )(random, lines[position])
    return "".join(lines)


@settings(STEP_CASES)
@given(seed=SEED)
def test_a_damaged_recording_is_refused_or_judged(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.jsonl"
    path.write_bytes(spoil_recording(Random(seed)).encode(errors="surrogatepass"))
    try:
        snapshot = read_recording(path)
    except UsageError as refusal:
        assert refusal.reference == "recording-unreadable"  # noqa: PT017 - a recording that can be read is as good
        return
    made_plan = plan(snapshot, STEPS[:1])
    human.render_plan(Terminal(io.StringIO()), made_plan, verbose=True)
    json.render_plan(made_plan, verbose=True)
    junit.render_plan(made_plan)


def test_it_can_be_read_undamaged(tmp_path: Path) -> None:
    (tmp_path / "whole.jsonl").write_text("".join(render_recording()))
    assert plan(read_recording(tmp_path / "whole.jsonl"), STEPS[:1], ("h1",)).converged


def test_the_cases_are_not_all_refused() -> None:
    assert {build_hostile_answer("system.os", seed).rc for seed in range(50)} > {0, 1}
    assert len({spoil_recording(Random(seed)) for seed in range(50)}) > 45
    assert len(ALL_SPOILS) > 10
