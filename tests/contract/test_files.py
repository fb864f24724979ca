"""House rules that a file listing can show: sizes, names that say something, and rooms without logic in __init__."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VAGUE = {"base", "common", "helper", "helpers", "manager", "misc", "util", "utils"}
# The two registries, each the only list of its kind.
LISTS = {"gpustack/steps/__init__.py", "gpustack/doctor/checks/__init__.py"}


def list_tracked(*patterns: str) -> list[Path]:
    """List relative paths of what is committed or about to be. Outside of a checkout the test is skipped."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    if process.returncode != 0:
        pytest.skip("not a git checkout")
    return [Path(line) for line in process.stdout.splitlines() if (ROOT / line).is_file()]


def test_no_file_is_longer_than_a_reader_holds() -> None:
    lengths = {path: len((ROOT / path).read_text().splitlines()) for path in list_tracked("*.py")}
    assert lengths
    assert {str(path): count for path, count in lengths.items() if count > 300} == {}


def test_names_say_the_thing() -> None:
    assert [
        str(path) for path in list_tracked("gpustack", "lab", "logs", "tests", "playbooks") if path.stem in VAGUE
    ] == []


def test_packages_have_no_logic_in_init() -> None:
    inits = [path for path in list_tracked("gpustack/**/__init__.py", "lab/**/__init__.py") if str(path) not in LISTS]
    assert inits
    wordy = [str(path) for path in inits if len((ROOT / path).read_text().splitlines()) > 5]
    assert wordy == []


def test_every_script_is_executable() -> None:
    scripts = [path for path in list_tracked("scripts", ".ci") if (ROOT / path).read_text().startswith("#!")]
    assert scripts
    assert [str(path) for path in scripts if not (ROOT / path).stat().st_mode & 0o111] == []


@pytest.mark.parametrize(("folder", "other_folder"), [("tests", "scripts"), ("scripts", "tests")])
def test_scripts_and_tests_do_not_import_each_other(folder: str, other_folder: str) -> None:
    """The form of fixtures is the exception, which scripts/accuracy writes and tests read."""
    imports = re.compile(rf"(?m)^\s*(?:from|import) ({other_folder}\b(?!\.snapshots)\S*)")
    files = [path for path in list_tracked(folder) if path.suffix in {".py", ""}]
    imports_by_file = {str(path): imports.findall((ROOT / path).read_text()) for path in files}
    odd = dict(imports_by_file)
    assert {path: names for path, names in odd.items() if names} == {}


def test_no_link_is_committed() -> None:
    """A link would lead somewhere else in every checkout, and git puts it in the place of what is ignored there."""
    git = subprocess.run(
        ["git", "ls-files", "--stage"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    if git.returncode != 0:
        pytest.skip("not a git checkout")
    assert [line for line in git.stdout.splitlines() if line.startswith("120000")] == []
