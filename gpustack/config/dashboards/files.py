"""The JSON files of `dashboards.files`, read once and judged whole."""

from collections.abc import Iterator, Mapping
from glob import glob
from pathlib import Path

from gpustack.config.complaint import Complaint
from gpustack.config.dashboards.json_model import REFERENCE, Dashboard, complaint, read_dashboard
from gpustack.config.resources import values
from gpustack.config.sections.cluster_spec import sibling_dir, spec_file
from gpustack.config.spec import Spec
from gpustack.files.json_text import load_json

KEY = "gpustack.dashboards.files"
LOCAL = Path("/etc/gpustack-cluster")
FOLDER = "dashboards"
"""Beside the inventory. Of an inventory that is a folder Ansible reads all else (config/ansible/inventory_listing)."""


def read_dashboards(source: Path | None, spec: Spec) -> tuple[tuple[Dashboard, ...], list[Complaint]]:
    """Each file once, by name, and all that is wrong; with a complaint they are not to be used. `source` is the
    inventory, None for the local host."""
    found: dict[Path, Dashboard] = {}
    wrong: list[Complaint] = []
    for one in list_files(source, spec):
        if isinstance(one, Complaint):
            wrong.append(one)
        elif one not in found:
            board, complaints = read_dashboard(one)
            wrong += complaints
            if board:
                found[one] = board
    wrong += find_duplicates(found)
    return tuple(sorted(found.values(), key=lambda board: board.name)), wrong


def find_duplicates(found: Mapping[Path, Dashboard]) -> Iterator[Complaint]:
    """Grafana finds a dashboard by its uid, a reader by its title; a ConfigMap of ours is named after the file."""
    first: dict[tuple[str, str], Path] = {}
    if found:
        for path in sorted((values() / FOLDER).glob("*.json")):
            first |= {(word, load_json(path.read_text())[word]): path for word in ("uid", "title")}
    for path, board in found.items():
        for word in ("name", "uid", "title"):
            value = getattr(board, word)
            if (other := first.setdefault((word, value), path)) != path:
                key, what = ("", f"the file name {path.name}") if word == "name" else (word, repr(value))
                yield complaint(path, key, f"{what}, as in {other}", "one that no other dashboard has")


def list_files(source: Path | None, spec: Spec) -> Iterator[Path | Complaint]:
    """A relative path begins at the inventory's folder."""
    base = sibling_dir(source) if source else LOCAL
    for pattern in spec.dashboards.files:
        paths = sorted(Path(name) for name in glob(str(base / home(pattern))))  # noqa: PTH207 - any path, never an error
        if not paths:
            allowed = f"JSON files on this machine; relative paths begin at {base}"
            yield Complaint(spec_file(source), KEY, f"{pattern}: no such file", allowed, REFERENCE)
        for path in paths:
            if source and source.is_dir() and read_by_ansible(path.resolve(), source.resolve()):
                allowed = f"a place outside it, or its folder {FOLDER}: Ansible reads the rest as an inventory"
                yield complaint(path, "", "a file in the inventory's folder", allowed)
            else:
                yield path


def home(pattern: str) -> Path:
    return Path.home() / pattern[2:] if pattern.startswith("~/") else Path(pattern)


def read_by_ansible(path: Path, inventory: Path) -> bool:
    return path.is_relative_to(inventory) and not path.is_relative_to(inventory / FOLDER)
