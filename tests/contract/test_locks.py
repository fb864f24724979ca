"""The locks in requirements/ pin every library of pyproject.toml by hash, and name no index."""

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
RUNTIME = [Requirement(line) for line in PROJECT["dependencies"]]
DEV = RUNTIME + [Requirement(line) for line in PROJECT["optional-dependencies"]["dev"]]
SERVE = [requirement for requirement in RUNTIME if requirement.name in PYPROJECT["dependency-groups"]["serve"]]
RELEASE = RUNTIME + [Requirement(line) for line in PROJECT["optional-dependencies"]["release"]]
PROGRAMS = {"ansible-core"}  # they are run, not imported
GO = [Requirement(line) for line in PYPROJECT["dependency-groups"]["go"]]
every_lock = pytest.mark.parametrize("name", ["runtime", "serve", "dev", "release", "uv", "go"])


def read_pins(name: str) -> list[Requirement]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return [Requirement(line.removesuffix("\\").strip()) for line in text.splitlines() if re.match(r"[a-z0-9]", line)]


@every_lock
def test_every_pin_is_exact_and_has_a_hash(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    blocks = [block for block in re.split(r"\n(?=[a-z0-9])", text) if not block.startswith("#")]
    assert blocks
    assert [block for block in blocks if "==" not in block or "--hash=sha256:" not in block] == []


@every_lock
def test_no_index_is_named(name: str) -> None:
    assert (
        re.findall(r"https?:|--(?:extra-)?index-url|--find-links", (ROOT / "requirements" / f"{name}.txt").read_text())
        == []
    )


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize(
    ("name", "requirements"), [("runtime", RUNTIME), ("serve", SERVE), ("dev", DEV), ("release", RELEASE), ("go", GO)]
)
def test_the_lock_answers_the_project_file(name: str, requirements: list[Requirement], python: str) -> None:
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    locked_versions = {
        canonicalize_name(pin.name): Version(str(pin.specifier).removeprefix("=="))
        for pin in read_pins(name)
        if not pin.marker or pin.marker.evaluate(environment)
    }
    needed_requirements = [
        requirement
        for requirement in requirements
        if not requirement.marker or requirement.marker.evaluate(environment)
    ]
    assert [
        str(requirement)
        for requirement in needed_requirements
        if locked_versions[canonicalize_name(requirement.name)] not in requirement.specifier
    ] == []


def test_all_locks_pin_the_same_versions() -> None:
    dev = {(pin.name, pin.specifier) for pin in read_pins("dev")}
    assert [
        str(pin)
        for name in ("runtime", "serve", "uv")
        for pin in read_pins(name)
        if (pin.name, pin.specifier) not in dev
    ] == []


def test_what_is_shared_by_the_release_lock_is_the_same() -> None:
    dev = {(pin.name, pin.specifier) for pin in read_pins("dev")}
    shared_pins = [pin for pin in read_pins("release") if pin.name in {name for name, _ in dev}]
    assert shared_pins
    assert [str(pin) for pin in shared_pins if (pin.name, pin.specifier) not in dev] == []


def test_every_library_has_an_upper_end() -> None:
    """An installation without the lock gets what pip resolves, on a machine that is root everywhere."""
    assert [
        str(requirement)
        for requirement in RUNTIME
        if not any(part.operator in ("<", "==") for part in requirement.specifier)
    ] == []


def test_the_builder_is_the_locked_one() -> None:
    (builder,) = (Requirement(line) for line in PYPROJECT["build-system"]["requires"])
    assert (builder.name, builder.specifier) in {(pin.name, pin.specifier) for pin in read_pins("dev")}


def test_every_library_is_imported() -> None:
    """A library that nothing imports is installed, updated and audited for nothing."""
    text = "\n".join(path.read_text() for path in (ROOT / "gpustack").rglob("*.py"))
    imported_modules = set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE))
    libraries = {
        canonicalize_name(library)
        for module, owners in packages_distributions().items()
        if module in imported_modules
        for library in owners
    }
    assert {canonicalize_name(requirement.name) for requirement in RUNTIME} - libraries == PROGRAMS


def test_the_lab_imports_libraries_of_the_product_alone() -> None:
    """The lab depends on gpustack-cluster, whose lock has the libraries."""
    text = "\n".join(path.read_text() for path in (ROOT / "lab" / "gpustack_lab").rglob("*.py"))
    imported_modules = set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE))
    libraries = {
        canonicalize_name(library)
        for module in imported_modules
        for library in packages_distributions().get(module, ())
    }
    assert libraries - {"gpustack-cluster", "gpustack-lab"} <= {
        canonicalize_name(requirement.name) for requirement in RUNTIME
    }


def test_every_library_has_its_reason() -> None:
    """docs/decisions/0001-libraries.md has a row for each."""
    text = (ROOT / "docs" / "decisions" / "0001-libraries.md").read_text()
    rows = {canonicalize_name(name) for name in re.findall(r"^\| ([\w-]+) \d", text, re.MULTILINE)}
    assert rows == {canonicalize_name(requirement.name) for requirement in RUNTIME}
