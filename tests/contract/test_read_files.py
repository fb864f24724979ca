"""Files and YAML of others are read by gpustack/files alone, which has bounds for both."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "gpustack"
READERS = "files/"
# Files that are part of this program, and /proc.
SHIPPED_FILES = {
    "ask/script_file.py", "cli/lab_distribution.py", "config/chart_keys.py", "config/dashboards/files.py",
    "config/resources.py", "config/versions.py", "doctor/catalogue.py", "gpus/dependents.py",
    "probes/host/declaration.py",
    "probes/host/ownership.py", "process.py", "remedy/copies.py",
    "report/explain/alerts.py", "report/explain/pages.py", "rollout/reaper.py", "rollout/watcher.py",
    "steps/containerd/images.py", "steps/dashboards.py", "steps/monitoring/notification.py",
    "vocabulary/recorded_series.py",
}  # fmt: skip
YAML = {"load", "load_all", "safe_load", "safe_load_all", "full_load", "unsafe_load", "compose", "compose_all", "parse"}
LOADERS = {"Loader", "SafeLoader", "CSafeLoader", "CLoader", "FullLoader", "UnsafeLoader", "BaseLoader", "CBaseLoader"}


def find_reads(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr="read_text" | "read_bytes" as name)):
                yield name
            case ast.Call(func=ast.Name(id="open")):
                yield "open"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="json"), attr="load")):
                yield "json.load"
            case ast.Attribute(value=ast.Name(id="yaml"), attr=name) if name in YAML | LOADERS:
                yield f"yaml.{name}"
            case ast.ImportFrom(module="yaml", names=names):
                yield from (f"yaml.{alias.name}" for alias in names if alias.name in YAML | LOADERS)


def list_reads() -> dict[str, set[str]]:
    files = {str(path.relative_to(PRODUCT)): path for path in sorted(PRODUCT.rglob("*.py"))}
    reads = {name: set(find_reads(path.read_text())) for name, path in files.items() if not name.startswith(READERS)}
    return {name: read for name, read in reads.items() if read}


def test_files_of_others_are_read_in_one_place() -> None:
    readers = {name for name, calls in list_reads().items() if calls & {"read_text", "read_bytes", "open"}}
    assert readers == SHIPPED_FILES


def test_yaml_is_parsed_in_one_place() -> None:
    odd = {
        name: calls for name, calls in list_reads().items() if any(word.startswith(("yaml", "json")) for word in calls)
    }
    assert odd == {}


@pytest.mark.parametrize(
    "source",
    [
        "path.read_text()", "Path('f').read_bytes()", "open('f')", "json.load(file)", "yaml.safe_load(text)",
        "yaml.load(text, Loader=yaml.CSafeLoader)", "class Mine(yaml.SafeLoader): ...", "from yaml import safe_load",
    ],
)  # fmt: skip
def test_reads_are_found(source: str) -> None:
    assert list(find_reads(source))
