"""Variables and functions of shell scripts follow the rules for names of CONTRIBUTING.md."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack.ask.probe import Shell
from tests.contract.sources import PRODUCT, ROOT
from tests.contract.test_names import is_bare
from tests.worlds.snapshots.answers import list_all_probes

# Another text would be a difference on every host that has it.
INSTALLED_PROGRAM = ROOT / "playbooks/roles/containerd/files/image-verifier.sh"
SCRIPTS = sorted(
    path for folder in (PRODUCT, ROOT / "playbooks") for path in folder.rglob("*.sh") if path != INSTALLED_PROGRAM
)
TASKS = sorted((ROOT / "playbooks").rglob("*.yml"))
PROBES = [probe for probe in list_all_probes() if isinstance(probe.question, Shell)]
COMMENT = re.compile(r"^\s*#.*", re.MULTILINE)
ASSIGNMENT = re.compile(r"(?:^|[\s;{&|])([A-Za-z_]\w*)=(?=[\"'$\w/\s;]|$)", re.MULTILINE)
READ = re.compile(r"\bread -r ((?:[A-Za-z_]\w* ?)+)")
LOOP = re.compile(r"\bfor ([A-Za-z_]\w*)(?: in\b|;)")
FUNCTION = re.compile(r"^\s*([A-Za-z_]\w*)\(\)", re.MULTILINE)


def find_names(script: str) -> Iterator[str]:
    """Find the names that a script defines: of variables, of functions, and of those given to awk."""
    text = COMMENT.sub("", script)
    yield from (name for pattern in (ASSIGNMENT, LOOP, FUNCTION) for name in pattern.findall(text))
    yield from (name for names in READ.findall(text) for name in names.split())


def test_names_of_each_kind_are_found() -> None:
    script = "kept=1\nfound() { :; }\nfor one; do :; done\nwhile read -r there left <file; do :; done\nawk -v own=1 ''"
    assert set(find_names(script)) == {"kept", "found", "one", "there", "left", "own"}
    assert all(map(is_bare, find_names(script)))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_script_has_no_bare_name(path: Path) -> None:
    assert sorted(name for name in find_names(path.read_text()) if is_bare(name)) == []


def test_no_probe_and_no_task_has_a_bare_name() -> None:
    scripts = {probe.id: probe.question.script for probe in PROBES if isinstance(probe.question, Shell)}
    scripts |= {str(path.relative_to(ROOT)): path.read_text() for path in TASKS}
    names = {place: sorted(filter(is_bare, find_names(script))) for place, script in scripts.items()}
    assert {place: words for place, words in names.items() if words} == {}
