"""Recordings as fixtures: a healthy one of each lab, and of each fault only the answers that differ from it.

The first line of a fixture is that of its recording, with the name of the healthy one in `base` and, in `gone`, which
answers that one has and this has not.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from gpustack import lab
from scripts.accuracy.cases import Case
from scripts.accuracy.results import ROOT

FOLDER = ROOT / "tests" / "snapshots"
Key = tuple[str, str]


def healthy(made: lab.Lab) -> Path:
    """The file of a lab's healthy recording: labs have other machine-ids, certificates and tokens."""
    mark = hashlib.sha256(made.ssh_config.read_bytes() + made.record.boot.encode()).hexdigest()[:8]
    return FOLDER / f"healthy-{mark}.jsonl"


def keep_healthy(made: lab.Lab, recording: Path) -> None:
    FOLDER.mkdir(exist_ok=True)
    healthy(made).write_text(recording.read_text())


def keep(made: lab.Lab, case: Case, recording: Path) -> None:
    """What took how long is no difference."""
    base = healthy(made)
    known, now = answers(base), answers(recording)
    first: dict[str, Any] = json.loads(recording.read_text().partition("\n")[0])
    first |= {"base": base.name, "gone": [list(key) for key in known if key not in now]}
    different = [answer for key, answer in now.items() if known.get(key) != answer]
    lines = [json.dumps(one, ensure_ascii=False) for one in (first, *different)]
    name = case.name.replace("/", "--").replace(" ", "")
    (FOLDER / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))


def answers(recording: Path) -> dict[Key, dict[str, Any]]:
    """By probe and where."""
    found = {}
    for line in recording.read_text().splitlines()[1:]:
        said = json.loads(line)
        said.pop("took", None)
        found[said["probe"], said["where"]] = said
    return found


def whole(fixture: Path) -> str:
    """The recording that a fixture stands for."""
    head, _, rest = fixture.read_text().partition("\n")
    first = json.loads(head)
    merged = answers(fixture.parent / first.pop("base"))
    for key in first.pop("gone"):
        merged.pop(tuple(key), None)
    for line in rest.splitlines():
        said = json.loads(line)
        merged[said["probe"], said["where"]] = said
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in (first, *merged.values()))
