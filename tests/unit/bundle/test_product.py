"""The image of `gpustack serve`: what is in it, and that it is enough."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path
from urllib.request import urlopen

import pytest

from gpustack.events import ignore_event
from gpustack_lab.bundle import product
from gpustack_lab.bundle.cache import BuiltPart, Cache
from gpustack_lab.bundle.oci import Link
from tests.worlds.programs.web import make_prometheus, serve_answers
from tests.worlds.prometheus.moments import make_served_series

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def itself(tmp_path_factory: pytest.TempPathFactory) -> BuiltPart:
    return Cache(tmp_path_factory.mktemp("parts")).ensure_part(product.declare_product(), ignore_event)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the libraries of the lock, and of no others."""
    folder = tmp_path_factory.mktemp("libraries")
    for line in product.locate_lock().read_text().splitlines():
        if (match := re.match(r"([a-z0-9-]+)==", line)) and "win32" not in line:
            files = distribution(match[1]).files or ()
            for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
                (folder / top).symlink_to(str(distribution(match[1]).locate_file(top)))
    return folder


def test_the_product_is_in_it_and_the_lab_is_not(itself: BuiltPart) -> None:
    assert {"gpustack/cli/app.py", "gpustack/serve/server.py", "gpustack/versions/xid.csv"} < set(itself.files)
    assert {Path(path).parts[0] for path in itself.files} == {"gpustack"}
    assert not [path for path in itself.files if "__pycache__" in path or "/_data/" in path]


@contextmanager
def serve_product(app: Path, libraries: Path, prometheus: str) -> Iterator[str]:
    """Run `gpustack serve` and yield its address. Nothing that is installed here can be imported but the libraries."""
    words = ["serve", "--prometheus", prometheus, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [sys.executable, "-S", "-m", "gpustack.cli.app", *words],
        cwd="/",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{app}:{libraries}", "PYTHONDONTWRITEBYTECODE": "1"},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr
            line = process.stderr.readline()
            match = re.match(r"serving (\S+);", line)
            assert match, line + process.stderr.read()
            yield match[1]
        finally:
            process.terminate()


def test_serve_needs_no_more_than_the_lock_has(itself: BuiltPart, libraries: Path) -> None:
    with (
        serve_answers(make_prometheus(make_served_series())) as prometheus,
        serve_product(itself.directory, libraries, prometheus) as url,
        urlopen(f"{url}/v1/pods", timeout=30) as response,
    ):
        assert json.load(response)["pods"]


def test_python_comes_with_the_libraries_that_it_and_its_own_need(tmp_path: Path) -> None:
    """/bin/ls is the program and a library's part in C; what ldd names of this machine is what they need."""
    output = subprocess.run(["ldd", "/bin/ls"], capture_output=True, text=True, timeout=10, check=True).stdout
    root = tmp_path / "root"
    native = {"usr/bin/python3.11": "/bin/ls", "app/core/core.so": "/bin/ls", "usr/lib/python3.11/x.so": "/bin/ls"}
    native |= {f"usr/lib/{Path(path).name}": path for path in re.findall(r"(/\S+) \(0x", output)}
    texts = {"usr/lib/python3.11/os.py", "app/core/__init__.py", "usr/share/doc/python3/README"}
    for place, source in [*native.items(), *((text, __file__) for text in texts)]:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, root / place)
    files = {f"root/{path}": "" for path in (*native, *texts)}
    content = product.collect_interpreter(BuiltPart("python", tmp_path, files, fresh=False))
    # Not the documents; the loader besides, where programs look for it.
    expected_files = {f"/{path}" for path in (*native, *texts)} - {"/usr/share/doc/python3/README"}
    extra = {path for path in set(content) - expected_files if "ld-linux" not in path}
    assert (expected_files - set(content), extra) == (set(), {"/usr/bin/python3"})
    assert content["/usr/bin/python3"] == Link("python3.11")
