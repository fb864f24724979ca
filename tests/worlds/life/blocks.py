"""Tracks as a block of a real Prometheus, written by its own library: promtool's writer takes no stale markers, without
which a series is seen for five minutes after its end. The program is compiled in the bundle's module, so that there is
one version of Prometheus."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpustack_lab.bundle.modules import SOURCES, build_go_environment
from tests.worlds.life.samples import Track

PROGRAM = Path(__file__).with_name("blocks.go")
LIMIT = 1200


def find_go() -> str | None:
    """Find the path of Go's program."""
    return shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")


def build(folder: Path) -> Path:
    """The program. Raises subprocess.CalledProcessError, with Go's words, where modules cannot be had."""
    go, blocks = find_go(), folder / "blocks"
    assert go, "no Go"
    command = [go, "build", "-o", str(blocks), str(PROGRAM)]
    env = {**os.environ, **build_go_environment(cgo=False)}
    sources = SOURCES / "prometheus"
    subprocess.run(command, cwd=sources, env=env, check=True, capture_output=True, text=True, timeout=LIMIT)
    return blocks


def render_samples(tracks: Iterable[Track]) -> Iterator[str]:
    """Render what the program reads, samples in the order of time."""
    for track in tracks:
        yield f"{json.dumps(dict(track.labels))}\n"
        runs = [(int(first), track.step, count, repr(value)) for first, count, value in track.runs]
        runs += [(int(moment), track.step, 1, "stale") for moment in track.stale]
        yield from (f"{' '.join(map(str, run))}\n" for run in sorted(runs))


def write(program: Path, folder: Path, tracks: Iterable[Track], days: int) -> None:
    """Write one block into the folder, which is Prometheus' --storage.tsdb.path. Its retention must be longer than the
    age of the data."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(program), str(folder), str(days * 24)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stderr
        try:
            process.stdin.writelines(render_samples(tracks))
            process.stdin.close()
        except BrokenPipeError:
            pass  # it says why in what follows
        reason = process.stderr.read()
    assert process.returncode == 0, reason
