"""A scratch host for the scripts of the copies."""

from pathlib import Path

import pytest

from gpustack.remedy.copies import Copies
from tests.unit.remedy.scratch_host import ScratchHost, connect_copies


@pytest.fixture
def host(tmp_path: Path) -> ScratchHost:
    return ScratchHost(tmp_path)


@pytest.fixture
def copies(host: ScratchHost) -> Copies:
    return connect_copies({"h1": host})
