"""The places of playbooks, values and alert texts: the top of a checkout, or inside the installed package."""

from functools import cache
from pathlib import Path
from typing import Any

from gpustack.files.yaml_text import parse_shipped

PACKAGE = Path(__file__).parent.parent


def locate_playbooks() -> Path:
    """Return the folder of site.yml, `<step-id>.yml` and `roles/`."""
    return locate_resource("playbooks")


def locate_shipped_values() -> Path:
    """Return the folder of `<release>.yaml`."""
    return locate_resource("values")


@cache
def read_own_counters() -> str:
    """Read the counters that gpustack has dcgm-exporter read, in its CSV."""
    return (locate_shipped_values() / "dcgm" / "counters.csv").read_text(encoding="utf-8")


def locate_docs() -> Path:
    """Return the folder of alerts.md, and of all other documents, which `gpustack explain` reads."""
    return locate_resource("docs")


def locate_resource(name: str, package: Path = PACKAGE) -> Path:
    """Return the path of a resource. Raise FileNotFoundError when the installation lacks it, which is a defect of the
    wheel."""
    places = (package / "_data" / name, package.parent / name)
    path = next((place for place in places if place.is_dir()), None)
    if path is None:
        raise FileNotFoundError(f"gpustack is not completely installed: no {places[0]}")
    return path


def read_shipped_yaml(path: Path) -> dict[str, Any]:
    """Read a mapping that is part of this program. libyaml reads it where PyYAML has it: ten times as fast, and every
    run reads some."""
    document: dict[str, Any] = parse_shipped(path.read_text(encoding="utf-8"))
    return document
