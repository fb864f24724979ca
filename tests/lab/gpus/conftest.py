"""The files of this folder share one lab: Debian 12 and 13, monitored, two simulated GPUs each, installed.

Prometheus is on the control plane, so that a test knows which node may be drained."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from gpustack_lab import lab
from tests.lab.conftest import Run, make_labs
from tests.lab.monitored import move_prometheus


@pytest.fixture(scope="package")
def two(mirror: lab.Mirror, gpustack: Run) -> Iterator[lab.Lab]:
    with make_labs(mirror) as make:
        gpu_lab = make("gpus", ["debian-12", "debian-13"], monitored=True, gpus="2")
        gpustack("install", "-i", gpu_lab.inventory, "--yes", limit=1500)
        move_prometheus(gpu_lab, "host2", "host1")
        yield gpu_lab


@pytest.fixture
def spec(two: lab.Lab) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Sets keys of the spec for a test; without words it is as it was, and so it is at the end."""
    path = two.inventory / "group_vars" / "all" / "gpustack.yml"
    before = path.read_text()

    def write_spec(changes: dict[str, Any]) -> None:
        document = yaml.safe_load(before)
        document["gpustack"] |= changes
        path.write_text(yaml.safe_dump(document))

    yield write_spec
    path.write_text(before)
