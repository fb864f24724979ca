"""Tests of the lab never see the labs of who runs them."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
