"""Where playbooks, values and the text about alerts are: at the top of a checkout, inside the installed package."""

from functools import cache
from pathlib import Path
from typing import Any

from gpustack.files.yaml_text import parse_shipped

PACKAGE = Path(__file__).parent.parent


def playbooks() -> Path:
    """The folder of site.yml, `<step-id>.yml` and `roles/`."""
    return shipped("playbooks")


def values() -> Path:
    """The folder of `<release>.yaml`."""
    return shipped("values")


@cache
def own_counters() -> str:
    """What dcgm-exporter reads for us, in its CSV."""
    return (values() / "dcgm" / "counters.csv").read_text()


def docs() -> Path:
    """The folder of alerts.md, which `gpustack explain` reads; the other documents are not shipped."""
    return shipped("docs")


def shipped(name: str, package: Path = PACKAGE) -> Path:
    """Raises FileNotFoundError when the installation lacks it, which is a defect of the wheel."""
    places = (package / "_data" / name, package.parent / name)
    found = next((place for place in places if place.is_dir()), None)
    if found is None:
        raise FileNotFoundError(f"gpustack is not completely installed: no {places[0]}")
    return found


def shipped_yaml(path: Path) -> dict[str, Any]:
    """A mapping of ours, read by libyaml where PyYAML has it: ten times as fast, and every run reads some."""
    found: dict[str, Any] = parse_shipped(path.read_text())
    return found
