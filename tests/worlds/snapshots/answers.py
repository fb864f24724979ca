"""Answers of probes: those recorded in tests/cases, and written ones."""

import json
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import gpustack.probes
from gpustack.ask.probe import Answer, Probe

CASES = Path(__file__).parents[2] / "cases"

USUAL = "usual"


@cache
def list_all_probes() -> tuple[Probe[Any], ...]:
    """List the probes of all modules. One that a module imports from another counts once."""
    folder = Path(gpustack.probes.__path__[0])
    paths = [path.relative_to(folder).with_suffix("").parts for path in sorted(folder.rglob("[a-z]*.py"))]
    modules = [import_module(".".join(("gpustack.probes", *parts))) for parts in paths]
    values = [value for module in modules for value in vars(module).values() if isinstance(value, Probe)]
    return tuple({id(value): value for value in values}.values())


@cache
def index_probes() -> dict[str, Probe[Any]]:
    return {probe.id: probe for probe in list_all_probes()}


def read_case(probe: str, case: str, *edits: tuple[str, str], location: str = "") -> Answer:
    """Read the answer of a case file, with words replaced; each must be there."""
    loads = json.loads((CASES / probe / f"{case}.json").read_text())["answer"]
    stdout = loads["stdout"]
    for old, new in edits:
        assert old in stdout, f"{probe}/{case} has no {old}"
        stdout = stdout.replace(old, new)
    return Answer(probe, location, loads["rc"], stdout, loads["stderr"])


def find_case(probe: str, *names: str) -> str:
    """Find the first of these cases, or `usual`, which a probe has that answers alike on all hosts; empty for none."""
    return next((name for name in (*names, USUAL) if (CASES / probe / f"{name}.json").exists()), "")


def make_answer(probe: str, stdout: str, rc: int = 0) -> Answer:
    return Answer(probe, "", rc, stdout)


def make_list(probe: str, items: Iterable[Any]) -> Answer:
    """Make the answer of the API that lists these objects."""
    return make_answer(probe, json.dumps({"items": list(items)}))


def place_answers(location: str, *answers: Answer) -> dict[tuple[str, str], Answer]:
    return {(answer.probe, location): answer for answer in answers}
