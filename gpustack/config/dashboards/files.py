"""The JSON files of `dashboards.files`, read once and judged as a whole."""

from collections.abc import Iterator, Mapping
from glob import glob
from pathlib import Path

from gpustack.config.ansible.inventory_files import locate_inventory_dir
from gpustack.config.ansible.origins import read_origins
from gpustack.config.complaint import Complaint
from gpustack.config.dashboards.json_model import REFERENCE, Dashboard, build_complaint, read_dashboard
from gpustack.config.resources import locate_shipped_values
from gpustack.config.sections.cluster_spec import LOCAL_SPEC, locate_spec_key
from gpustack.config.spec import Spec
from gpustack.files.json_text import load_json

KEY = "gpustack.dashboards.files"
LOCAL = Path("/etc/gpustack-cluster")
FOLDER = "dashboards"
"""Beside the inventory. Of an inventory that is a folder Ansible reads all else (config/ansible/inventory_listing)."""


def read_dashboards(source: Path | None, spec: Spec) -> tuple[tuple[Dashboard, ...], list[Complaint]]:
    """Read each file once. Return the dashboards by name, and all complaints; with a complaint they are not to be used.
    `source` is the inventory, None for the local host."""
    dashboards: dict[Path, Dashboard] = {}
    wrong: list[Complaint] = []
    for file in list_files(source, spec):
        if isinstance(file, Complaint):
            wrong.append(file)
        elif file not in dashboards:
            board, complaints = read_dashboard(file)
            wrong += complaints
            if board:
                dashboards[file] = board
    wrong += find_duplicates(dashboards)
    return tuple(sorted(dashboards.values(), key=lambda board: board.name)), wrong


def find_duplicates(dashboards: Mapping[Path, Dashboard]) -> Iterator[Complaint]:
    """Find dashboards with the same name, uid or title. Grafana finds a dashboard by its uid, a reader by its title;
    its ConfigMap is named after the file."""
    first_paths: dict[tuple[str, str], Path] = {}
    if dashboards:
        for path in sorted((locate_shipped_values() / FOLDER).glob("*.json")):
            board_text = path.read_text(encoding="utf-8")
            first_paths |= {(word, load_json(board_text)[word]): path for word in ("uid", "title")}
    for path, board in dashboards.items():
        for word in ("name", "uid", "title"):
            identifier = getattr(board, word)
            if (other_path := first_paths.setdefault((word, identifier), path)) != path:
                key, description = ("", f"the file name {path.name}") if word == "name" else (word, repr(identifier))
                actual = f"{description}, as in {other_path}"
                yield build_complaint(path, key, actual, "one that no other dashboard has")


def list_files(source: Path | None, spec: Spec) -> Iterator[Path | Complaint]:
    """List the files of all patterns, or a complaint. A relative path begins at the inventory's folder."""
    base = locate_inventory_dir(source) if source else LOCAL
    for pattern in spec.dashboards.files:
        paths = sorted(Path(name) for name in glob(str(base / expand_home(pattern))))  # noqa: PTH207 - any path, never an error
        if not paths:
            rule = f"JSON files on this machine; relative paths begin at {base}"
            place = locate_spec_key(read_origins(source, {}, LOCAL_SPEC), LOCAL_SPEC, KEY)
            yield Complaint(place, KEY, f"{pattern}: no such file", rule, REFERENCE)
        for path in paths:
            if source and source.is_dir() and is_read_by_ansible(path.resolve(), source.resolve()):
                rule = f"a place outside it, or its directory {FOLDER}: Ansible reads the rest as an inventory"
                yield build_complaint(path, "", "a file in the inventory's directory", rule)
            else:
                yield path


def expand_home(pattern: str) -> Path:
    return Path.home() / pattern[2:] if pattern.startswith("~/") else Path(pattern)


def is_read_by_ansible(path: Path, inventory: Path) -> bool:
    return path.is_relative_to(inventory) and not path.is_relative_to(inventory / FOLDER)
