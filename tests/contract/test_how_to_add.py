"""docs/how-to-add.md names what classes demand, and paths that exist."""

import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from gpustack.ask.judge import Result
from gpustack.ask.probe import Probe
from gpustack.doctor.entry import Fault, State
from gpustack.report.rendering import Rendering
from gpustack.steps.step import Step

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to-add.md").read_text()
# The name of the file is the layer.
DERIVED_FIELDS = {"layer"}
FOLDERS = ("gpustack/", "lab/", "playbooks/", "tests/", "scripts/", "values/", "docs/")


def describe_keys(kind: type) -> str:
    known_fields = [field for field in fields(kind) if field.name not in DERIVED_FIELDS]
    demanded_names = [
        field.name for field in known_fields if field.default is MISSING and field.default_factory is MISSING
    ]
    optional_names = [field.name for field in known_fields if field.name not in demanded_names]
    optional = f" Optional: {', '.join(f'`{name}`' for name in optional_names)}." if optional_names else ""
    return f"A `{kind.__name__}` demands {', '.join(f'`{name}`' for name in demanded_names)}.{optional}"


@pytest.mark.parametrize("kind", [Probe, Step, Result, Fault, State, Rendering], ids=lambda kind: kind.__name__)
def test_the_page_names_the_keys_of_each_class(kind: type) -> None:
    assert describe_keys(kind) in " ".join(PAGE.split()), "write this sentence into docs/how-to-add.md"


def test_every_path_of_the_page_exists() -> None:
    """A name in angle brackets stands for any."""
    paths = {path for path in re.findall(r"`([^`\s]+)`", PAGE) if path.startswith(FOLDERS)}
    missing = [path for path in paths if not any(ROOT.glob(re.sub(r"<[^>]+>", "*", path).rstrip("/")))]
    assert sorted(missing) == []
