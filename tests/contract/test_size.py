"""A package has at most the lines of its row in docs/decisions/0028-size.md."""

import re
from collections import Counter
from pathlib import Path

from tests.contract.sources import LOGS, ROOT, list_sources

RECORD = ROOT / "docs" / "decisions" / "0028-size.md"
MODULES = "(modules)"


def count_lines() -> Counter[str]:
    """Count the lines of all Python files by package, blank lines and comments too."""
    lines = Counter({LOGS.stem: count_file(LOGS)})
    for name, path in list_sources().items():
        distribution = "gpustack_lab/" if name.startswith("gpustack_lab/") else ""
        package, is_package, _ = name.removeprefix(distribution).partition("/")
        lines[f"{distribution}{package}" if is_package else MODULES] += count_file(path)
    return lines


def count_file(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def read_rows() -> dict[str, int]:
    return {
        name: int(limit) for name, limit in re.findall(r"^\| `(\S+)` \| (\d+) \|", RECORD.read_text(), re.MULTILINE)
    }


def test_no_package_is_larger_than_its_row() -> None:
    rows = read_rows()
    larger = {name: count for name, count in count_lines().items() if count > rows.get(name, 0)}
    assert larger == {}, "make it smaller, or raise its row and give the reason in the same commit"


def test_every_row_is_of_a_package() -> None:
    assert set(read_rows()) - set(count_lines()) == set()
