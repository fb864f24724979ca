"""Results of the accuracy run, kept with the code that made them: a line of JSON for each case, by name."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from gpustack_lab.lab.faults.inject import read_functions
from scripts.accuracy.cases import Case

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "accuracy"
# Packages that judge. A case is played again after a change in them, not after a change of anything else.
JUDGING_PACKAGES = ("gpustack/ask", "gpustack/doctor", "gpustack/probes", "gpustack/steps")

# Values of `fix_outcome` for faults that only a person may fix, and for faults that cannot be fixed in a lab.
PERSON, NO_LAB_FIX = "for a person", "not in a lab"


@dataclass(frozen=True)
class Result:
    """Hold the result of a case. `faults` were injected, `roots` are the ids of all roots; `seconds` is the time to ask
    and judge; `actual` is the evidence of the first root; `folded_count` counts the impact; `unexplained_ids` are ids;
    `healed` tells whether undoing it left a healthy cluster; `fix_outcome` is the ending of `doctor --fix`, where it
    was asked."""

    name: str
    faults: list[str]
    roots: list[str]
    seconds: float
    actual: str
    folded_count: int
    unexplained_ids: list[str]
    healed: bool
    code: str
    fix_outcome: str = ""

    @property
    def exact(self) -> bool:
        if not self.faults:
            return not (self.roots or self.unexplained_ids)
        return sorted(self.roots) == sorted(self.faults)


def read_results(path: Path) -> dict[str, Result]:
    records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {record["name"]: Result(**record) for record in records}


def save_result(path: Path, result: Result) -> None:
    """Save a result beside those that another run, on another lab, has saved meanwhile."""
    results = read_results(path) | {result.name: result}
    new_file = path.with_suffix(".new")
    new_file.write_text(
        "".join(json.dumps(asdict(results[name]), ensure_ascii=False) + "\n" for name in sorted(results))
    )
    new_file.replace(path)


def compute_code(case: Case) -> str:
    """Compute sixteen hex digits of the packages that judge, and of the way the case is made."""
    return hashlib.sha256((hash_packages() + read_functions() + repr(case)).encode()).hexdigest()[:16]


@cache
def hash_packages() -> str:
    digest = hashlib.sha256()
    for package in JUDGING_PACKAGES:
        for file in sorted((ROOT / package).rglob("*")):
            if file.suffix in {".py", ".yaml"}:
                digest.update(file.read_bytes())
    return digest.hexdigest()


def has_result(results: dict[str, Result], case: Case, *, fix: bool) -> bool:
    """Tell whether there is a result of a case by this code."""
    result = results.get(case.name)
    return result is not None and result.code == compute_code(case) and bool(result.fix_outcome or not fix)
