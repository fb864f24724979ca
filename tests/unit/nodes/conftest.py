"""Nodes with recorded pods, and a kubectl that changes them."""

from pathlib import Path

import pytest

from gpustack.nodes import drain
from tests.worlds.programs.node_api import NodeApi


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NodeApi:
    monkeypatch.setattr(drain, "PAUSE", 0.01)
    return NodeApi(tmp_path)
