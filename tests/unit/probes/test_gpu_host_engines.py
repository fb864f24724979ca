"""The script that looks for host engines, run beside a process of that name."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack.ask.probe import Answer
from gpustack.probes.gpu.host_engines import HOST_ENGINES, HostEngines
from gpustack.probes.gpu.packages import ONLY_WITH_GPU


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[int]:
    """The process id of a script of that name: the kernel keeps a script's own name, not its interpreter's."""
    program = tmp_path / "nv-hostengine"
    program.write_text("#!/bin/sh\necho runs\nread -r end\n")
    program.chmod(0o755)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield process.pid
        process.kill()


def find_engines(programs: Path, listening: str) -> HostEngines:
    """Find engines on a host with a GPU, with a `ss` and a `dpkg-query` of our own."""
    programs.mkdir()
    for name, text in (
        ("ss", listening),
        (
            "dpkg-query",
            "package datacenter-gpu-manager installed 1:3.3.5\npackage datacenter-gpu-manager-4 not-installed ",
        ),
    ):
        (programs / name).write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        (programs / name).chmod(0o755)
    script = HOST_ENGINES.question.script.removeprefix(ONLY_WITH_GPU)  # type: ignore[union-attr]
    path = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    process = subprocess.run(
        ["/bin/sh", "-c", script], env=path, capture_output=True, text=True, check=True, timeout=60
    )
    return HOST_ENGINES.extract_fact(Answer(HOST_ENGINES.id, "h1", 0, process.stdout))


def test_a_process_of_that_name_is_found_with_its_address(engine: int, tmp_path: Path) -> None:
    line = 'LISTEN 0 128 {} 0.0.0.0:* users:(("{}",pid={},fd=6))'
    other_line = line.format("127.0.0.1:9400", "other", f"{engine}1")
    host_engines = find_engines(
        tmp_path / "bin", f"{other_line}\n{line.format('127.0.0.1:5555', 'nv-hostengine', engine)}"
    )
    assert "127.0.0.1:5555" in [host_engine.address for host_engine in host_engines.running]
    assert host_engines.packages == {"datacenter-gpu-manager": "3.3.5"}


def test_an_engine_without_a_port_has_no_address(engine: int, tmp_path: Path) -> None:
    assert "" in [host_engine.address for host_engine in find_engines(tmp_path / "bin", "").running]
