"""A case file is an answer as it was recorded (or constructed after its source) and the fact it must become. A case is
tests/cases/<probe-id>/<name>.json with `answer` {rc, stdout, stderr}, `fact` and `source`. A fact of {"unavailable":
true} is an answer whose shape the parser must not know."""

import json
from dataclasses import asdict, is_dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.probe import Answer, FactUnavailable
from tests.worlds.snapshots.answers import CASES, index_probes

FILES = sorted(CASES.glob("*/*.json"))


def convert_fact(value: Any) -> Any:
    """Convert a fact to what JSON would have."""
    if is_dataclass(value) and not isinstance(value, type):
        return convert_fact(asdict(value))
    if isinstance(value, dict):
        return {str(key): convert_fact(entry) for key, entry in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(convert_fact(entry) for entry in value)
    if isinstance(value, (list, tuple)):
        return [convert_fact(entry) for entry in value]
    return value.isoformat() if isinstance(value, datetime) else value


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recorded_answer_parses_to_its_fact(path: Path) -> None:
    case = json.loads(path.read_text())
    assert set(case) == {"answer", "fact", "source"}
    assert case["source"].startswith(("recorded on ", "constructed: ")), "say where the answer comes from"
    probe = index_probes()[path.parent.name]
    answer = Answer(probe.id, "host1", **case["answer"])
    if case["fact"] == {"unavailable": True}:
        with pytest.raises(FactUnavailable):
            probe.extract_fact(answer)
    else:
        assert convert_fact(probe.extract_fact(answer)) == case["fact"]


@pytest.mark.parametrize("path", [path for path in FILES if index_probes()[path.parent.name].pruner], ids=str)
def test_what_is_kept_of_an_answer_says_the_same(path: Path) -> None:
    case = json.loads(path.read_text())
    probe = index_probes()[path.parent.name]
    answer = Answer(probe.id, "host1", **case["answer"])
    if answer.rc == 0:
        answer = replace(answer, stdout=probe.prune_output(answer.stdout))
        assert probe.prune_output(answer.stdout) == answer.stdout
    if case["fact"] == {"unavailable": True}:
        with pytest.raises(FactUnavailable):
            probe.extract_fact(answer)
    else:
        assert convert_fact(probe.extract_fact(answer)) == case["fact"]


def test_every_folder_is_a_probe() -> None:
    assert sorted({path.parent.name for path in FILES} - set(index_probes())) == []
