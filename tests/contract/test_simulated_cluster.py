"""The simulated parts of a cluster, which are Go: their own tests, and their fields against our counters."""

import csv
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gpustack_lab.bundle import modules

ROOT = Path(__file__).parents[2]
COUNTERS = ROOT / "values" / "dcgm" / "counters.csv"
SOURCE = ROOT / "lab" / "gpustack_lab" / "simulated" / "cluster"
FIELDS = ROOT / "gpustack" / "versions" / "dcgm-fields.csv"
SHIPPED_LISTS = sorted((SOURCE / "cmd" / "dcgm-exporter" / "etc").glob("*.csv"))
# The first time everything below Kubernetes' client is compiled; later it takes seconds.
COLD = 900


def run_go(*argv: str) -> subprocess.CompletedProcess[str]:
    """Run go with the flags of the bundle, so that most of it is compiled already."""
    program = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if not program:
        pytest.skip("no Go: make go")
    env = {**os.environ, **modules.build_go_environment(cgo=False)}
    return subprocess.run(
        [program, *argv], cwd=SOURCE, env=env, capture_output=True, text=True, timeout=COLD - 5, check=False
    )


def read_rows(path: Path) -> list[list[str]]:
    """Read the cells of a CSV file with `#` comments."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return [[cell.strip() for cell in row] for row in csv.reader(lines)]


def read_fields() -> dict[str, str]:
    """Read the id of each field name in any spelling, as the simulated exporter knows them."""
    return {row[0]: row[1] for row in read_rows(SOURCE / "internal" / "fields" / "names.csv")}


def read_own_metrics() -> set[str]:
    """Read the exporter's own metrics that the simulated one knows."""
    return set(re.findall(r'"(DCGM_EXP_\w+)"', (SOURCE / "internal" / "counters" / "counters.go").read_text()))


@pytest.mark.timeout(COLD)
@pytest.mark.parametrize("argv", [("vet", "./..."), ("test", "./...")], ids=" ".join)
def test_its_own_tests_pass(argv: tuple[str, ...]) -> None:
    process = run_go(*argv)
    assert process.returncode == 0, process.stdout + process.stderr


def test_its_code_is_formatted() -> None:
    gofmt = Path(run_go("env", "GOROOT").stdout.strip()) / "bin" / "gofmt"
    process = subprocess.run([gofmt, "-l", "."], cwd=SOURCE, capture_output=True, text=True, timeout=60, check=False)
    assert (process.returncode, process.stdout) == (0, "")


def test_no_source_is_longer_than_a_reader_holds() -> None:
    lengths = {str(path): len(path.read_text().splitlines()) for path in SOURCE.rglob("*.go")}
    assert lengths
    assert {path: count for path, count in lengths.items() if count > 300} == {}


@pytest.mark.parametrize("path", [*SHIPPED_LISTS, COUNTERS], ids=lambda path: Path(path).name)
def test_the_exporter_knows_every_counter(path: Path) -> None:
    assert [row[0] for row in read_rows(path) if row[0] not in read_fields() and row[0] not in read_own_metrics()] == []


def test_ids_and_spellings_are_those_of_our_facts() -> None:
    """Fields that came after DCGM 4.6.0 have ids from 1600 on, and the exporter of 4.6.0 does not know them."""
    for name, number, _, _, canonical, *_ in read_rows(FIELDS)[1:]:
        if number.isdigit() and int(number) < 1600:
            assert read_fields().get(name) == number, name
            assert not canonical or read_fields().get(canonical) == number, canonical
        else:
            assert name not in read_fields() or read_fields()[name] != number, name
