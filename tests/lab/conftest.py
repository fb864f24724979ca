"""Labs for tests: real hosts on this machine, installed from the bundle in the user's cache folder."""

import gc
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpustack.cli.bundle import find_default_directory
from gpustack_lab import lab
from tests.lab import roads

PORT = 8480
GPUSTACK = [sys.executable, "-m", "gpustack.cli.app"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_sessionfinish() -> None:
    """Collect the connections that the kubernetes client leaves: those of the last test are no error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def bundle() -> Path:
    folder = find_default_directory()
    if not (folder / "manifest.yaml").is_file():
        pytest.fail(f"there is no bundle in {folder}: make bundle")
    return folder


@pytest.fixture(scope="session")
def mirror(bundle: Path) -> lab.Mirror:
    fingerprint = subprocess.run(
        [*GPUSTACK, "bundle", "fingerprint", str(bundle)], capture_output=True, text=True, check=True
    )
    return lab.Mirror(
        command=lambda address: [*GPUSTACK, "bundle", "serve", str(bundle), "--listen", f"{address}:{PORT}"],
        port=PORT,
        fingerprint=fingerprint.stdout.strip(),
    )


def disable_monitoring(running_lab: lab.Lab) -> None:
    """Disable the monitoring: tests of hosts and of the cluster itself do without what is installed into it."""
    roads.set_spec(running_lab, monitoring={"enabled": False})


Make = Callable[..., lab.Lab]
"""`make(name, releases)` brings a lab up."""


@contextmanager
def make_labs(mirror: lab.Mirror) -> Iterator[Make]:
    """Make labs, which are down at the end."""
    labs: list[lab.Lab] = []

    def make(
        name: str,
        releases: list[str],
        *,
        served: bool = True,
        internet: bool = False,
        monitored: bool = False,
        gpus: str = "",
    ) -> lab.Lab:
        lab_name = f"t{os.getpid()}-{name}"
        lab.remove_lab(lab_name)
        labs.append(
            lab.create_lab(lab_name, releases=releases, mirror=mirror if served else None, internet=internet, gpus=gpus)
        )
        if not monitored:
            disable_monitoring(labs[-1])
        return labs[-1]

    try:
        yield make
    finally:
        for made_lab in labs:
            made_lab.kill()


@pytest.fixture(scope="module")
def make_lab(mirror: lab.Mirror) -> Iterator[Make]:
    """A function that makes a lab for one file."""
    with make_labs(mirror) as make:
        yield make


@pytest.fixture(scope="session")
def gpustack() -> Run:
    """Run the command as a user does. Output and errors are in the result and, on failure, in the test's report."""

    def run(
        *words: str | Path, limit: int = 600, code: int | None = 0, **env: str
    ) -> "subprocess.CompletedProcess[str]":
        process = subprocess.run(
            [*GPUSTACK, *map(str, words)],
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"NO_COLOR": "1"} | env,
        )
        print(f"$ gpustack {' '.join(map(str, words))}\n{process.stderr}{process.stdout}")
        assert code is None or process.returncode == code, (
            f"exit {process.returncode}\n{process.stderr[-6000:]}\n{process.stdout[-6000:]}"
        )
        return process

    return run
