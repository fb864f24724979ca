"""A scratch host for the scripts of the copies."""

from pathlib import Path

import pytest

from gpustack.remedy.copies import Copies
from tests.worlds.scratch_host import ScratchHost, copies_on


@pytest.fixture
def host(tmp_path: Path) -> ScratchHost:
    return ScratchHost(tmp_path)


@pytest.fixture
def copies(host: ScratchHost) -> Copies:
    return copies_on({"h1": host})
