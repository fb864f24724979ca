"""What was found, kept with the code that found it: a line of JSON for each case, by name."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from gpustack.lab.faults.inject import functions
from scripts.accuracy.cases import Case

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "accuracy"
# What a verdict comes from; a change of anything else repeats nothing.
ROOMS = ("gpustack/ask", "gpustack/doctor", "gpustack/probes", "gpustack/steps")

# Of `fixed`: no machine may fix it; none can in a lab.
PERSON, STAYS = "for a person", "not in a lab"


@dataclass(frozen=True)
class Result:
    """`faults` were made, `found` are the ids of all roots; `seconds` to ask and judge; `actual` what the first root
    rests on; `folded` how much it explains; `unexplained` ids; `healed`: whether undoing it left a healthy cluster;
    `fixed`: how `doctor --fix` ended, where it was asked."""

    name: str
    faults: list[str]
    found: list[str]
    seconds: float
    actual: str
    folded: int
    unexplained: list[str]
    healed: bool
    code: str
    fixed: str = ""

    @property
    def exact(self) -> bool:
        if not self.faults:
            return not (self.found or self.unexplained)
        return sorted(self.found) == sorted(self.faults)


def read(kept: Path) -> dict[str, Result]:
    records = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    return {one["name"]: Result(**one) for one in records}


def put(kept: Path, result: Result) -> None:
    """Beside what another run, on another lab, has put there meanwhile."""
    results = read(kept) | {result.name: result}
    fresh = kept.with_suffix(".new")
    fresh.write_text("".join(json.dumps(asdict(results[name]), ensure_ascii=False) + "\n" for name in sorted(results)))
    fresh.replace(kept)


def code(case: Case) -> str:
    """Sixteen hex digits of the rooms that judge, and of how it was made."""
    return hashlib.sha256((rooms() + functions() + repr(case)).encode()).hexdigest()[:16]


@cache
def rooms() -> str:
    found = hashlib.sha256()
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*")):
            if file.suffix in {".py", ".yaml"}:
                found.update(file.read_bytes())
    return found.hexdigest()


def kept_as(kept: dict[str, Result], case: Case, *, fix: bool) -> bool:
    """Whether there is a result of it by this code."""
    there = kept.get(case.name)
    return there is not None and there.code == code(case) and bool(there.fixed or not fix)
