"""Check that only the end of a process of this machine is certain."""

import subprocess
import sys
from pathlib import Path

import pytest

from gpustack.process import is_dead, name_process

NAME = name_process()
MACHINE, NUMBER, START = NAME.split(".")


def test_this_process_runs() -> None:
    assert not is_dead(NAME)


def test_a_process_that_ended_is_dead_and_one_of_its_number_is_another() -> None:
    script = "from gpustack.process import name_process; print(name_process())"
    name = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()
    assert name.startswith(f"{MACHINE}.")
    assert is_dead(name)
    assert is_dead(f"{MACHINE}.{NUMBER}.1")


@pytest.mark.parametrize(
    "name", ["", ".", "..", f"0123456789abcdef.{NUMBER}.1", f"{MACHINE}.x.1", f"{MACHINE}.{NUMBER}.", MACHINE, "\x00"]
)
def test_what_is_not_known_is_not_dead(name: str) -> None:
    assert not is_dead(name)


def test_without_proc_nothing_is_known(tmp_path: Path) -> None:
    assert name_process(tmp_path) == ""
    assert not is_dead(f"{MACHINE}.{NUMBER}.1", tmp_path)
