from pathlib import Path
from types import SimpleNamespace

import pytest

from gpustack.errors import LabError
from gpustack_lab.lab import pool


def test_hosts_need_room_below_the_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=2.5 * pool.GIB))
    pool.require_room(tmp_path / "cache/pool", 2)
    with pytest.raises(LabError, match=r"has 2\.5 GiB left, and 3 hosts need about 3") as excinfo:
        pool.require_room(tmp_path / "cache/pool", 3)
    assert excinfo.value.hint == f"df -h {tmp_path}"
