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
from tests.unit.hostile.answers import ALL, binary, hostile, shape, spoiled
from tests.unit.hostile.profile import LIMIT, SEED, STEP_CASES
from tests.worlds.snapshots.passing_steps import passing_steps

pytestmark = pytest.mark.timeout(LIMIT)


@cache
def recording() -> tuple[str, ...]:
    """Of the hosts of the step prereqs, two of them."""
    return tuple(render_lines(passing_steps()[0].snapshot))


def damaged(random: Random) -> str:
    """One line or the whole is spoiled; often the header, on which all depends."""
    found = list(recording())
    if random.random() < 0.2:
        return spoiled(random, "".join(found))
    at = random.choice((0, 0, random.randrange(len(found))))
    found[at] = random.choice((spoiled, lambda random, text: shape(random, text) + "\n", binary))(random, found[at])
    return "".join(found)


@settings(STEP_CASES)
@given(seed=SEED)
def test_refused_or_judged(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.jsonl"
    path.write_bytes(damaged(Random(seed)).encode(errors="surrogatepass"))
    try:
        snapshot = read_recording(path)
    except UsageError as refused:
        assert refused.reference == "recording-unreadable"  # noqa: PT017 - a recording that can be read is as good
        return
    found = plan(snapshot, STEPS[:1])
    human.render_plan(Terminal(io.StringIO()), found, verbose=True)
    json.render_plan(found, verbose=True)
    junit.render_plan(found)


def test_it_can_be_read_undamaged(tmp_path: Path) -> None:
    (tmp_path / "whole.jsonl").write_text("".join(recording()))
    assert plan(read_recording(tmp_path / "whole.jsonl"), STEPS[:1], ("h1",)).converged


def test_the_cases_are_not_all_refused() -> None:
    assert {hostile("system.os", seed).rc for seed in range(50)} > {0, 1}
    assert len({damaged(Random(seed)) for seed in range(50)}) > 45
    assert len(ALL) > 10
