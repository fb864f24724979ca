"""Markers are in pyproject.toml. Tests marked `lab` are skipped, with the lab's own sentence, where it cannot run."""

import gc
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gpustack.errors import LabError

ROOT = Path(__file__).parents[1]
# Seconds for one lab test with its fixtures: bringing hosts up and a whole installation are in it.
LAB_LIMIT = 1800
VM_LIMIT = 7200
# Cases of one test function that `make quick` runs, spread over its table of parameters; `make test` runs all.
QUICK_CASES = 3

# Programs of the development lock (shellcheck) are found where `.venv/bin/pytest` is typed in full, too.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

# The same cases in every run, however busy the machine is: no draw fails `make test`. `make fuzz` draws others.
settings.register_profile(
    "fixed", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("fixed"), max_examples=10)
settings.register_profile("hostile", settings.get_profile("fixed"), max_examples=10_000)
settings.register_profile("fuzz", settings.get_profile("fixed"), derandomize=False, max_examples=1_000)
settings.load_profile("fixed")


@cache
def find_lab_refusal(*, vm: bool = False) -> str:
    """Return why no lab can be on this machine, or an empty text when one can. `vm` asks about virtual machines."""
    from gpustack_lab.lab.capabilities import require

    try:
        require(vm=vm)
    except LabError as error:
        return f"{error.message}: {error.reason}" if error.reason else error.message
    return ""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--hypothesis-profile") == "quick":
        select_cases(config, items)
    for item in items:
        for marker, limit in (("lab", LAB_LIMIT), ("vm", VM_LIMIT)):
            if item.get_closest_marker(marker) and not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(limit))


def pytest_collection_finish() -> None:
    # What was imported and collected lives until the end: each look of the garbage collector at it is for nothing.
    gc.collect()
    gc.freeze()


def select_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the cases of each test function beyond QUICK_CASES, at even distances in the order of its parameters."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    sample = {
        cases[number * len(cases) // QUICK_CASES] for cases in functions.values() for number in range(QUICK_CASES)
    }
    config.hook.pytest_deselected(items=[item for item in items if item not in sample])
    items[:] = [item for item in items if item in sample]


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("lab") and (refusal := find_lab_refusal()):
        pytest.skip(refusal)
    if item.get_closest_marker("vm") and (refusal := find_lab_refusal(vm=True)):
        pytest.skip(refusal)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout with the locked build backend."""
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def lab_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(ROOT / "lab", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def logs_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(ROOT / "logs", tmp_path_factory.mktemp("wheel"))


def build_wheel(project: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    process = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, process.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel
