"""Files are written by gpustack/files/write.py alone, which follows no link and leaves no torn file."""

import ast
from collections.abc import Iterator

import pytest

from tests.contract.sources import list_sources

WRITER = "files/write.py"
# The lab makes root file systems and cgroups, and the simulated hardware its /proc and /sys: as root, on machines of
# their own.
OTHER_ROOMS = ("gpustack_lab/lab/", "gpustack_lab/simulated/")
# The makers of a bundle's parts: each writes to a new folder of the cache, which has its name when it is whole.
PARTS = {
    f"gpustack_lab/bundle/{name}.py"
    for name in (
        "apt", "charts", "checksums", "crds", "debs", "files", "images", "kubernetes_module", "licences", "modules",
        "oci", "product", "simulated_images", "userland",
    )
}  # fmt: skip
# Links to the blobs of a bundle, in a new folder of the cache.
STORAGE = "bundle/storage.py"
# The pipe that ties Ansible to gpustack and the marks beside it, which are empty, in a folder of the run; a browser; a
# copy in memory.
EXCEPTIONS = {
    ("rollout/reaper.py", "os.open"), ("rollout/reaper.py", ".touch"), ("rollout/watcher.py", ".touch"),
    ("cli/commands/access.py", ".open"), ("bundle/serve.py", "os.fdopen"),
}  # fmt: skip
WRITING_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"}
WRITERS = {"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "mknod"}
MAKERS = {
    "tempfile": {"NamedTemporaryFile", "TemporaryFile", "SpooledTemporaryFile", "mkstemp"},
    "shutil": {"copy", "copy2", "copyfile", "copyfileobj", "move", "copytree"},
    "os": {"symlink", "link", "mknod", "truncate"},
}


def find_writes(source: str) -> Iterator[str]:
    """List the calls that write a file, as they stand in the source: `os.open`, `open`, `.write_text`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (name := name_of(node.func)) and is_write(name, node):
            yield name
        if isinstance(node, ast.ImportFrom) and node.module in MAKERS:
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name in MAKERS[node.module])


def name_of(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in {*MAKERS, "io"}:
            return f"{owner}.{name}"
        case ast.Attribute(attr=name):
            return f".{name}"
    return ""


def is_write(name: str, call: ast.Call) -> bool:
    owner, _, last = name.rpartition(".")
    if name == "os.open":
        return bool({node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)} & WRITING_FLAGS)
    if name == "os.fdopen" or last == "open":
        return may_write(name, call)
    return last in MAKERS.get(owner, ()) or (not owner and name.startswith(".") and last in WRITERS)


def may_write(name: str, call: ast.Call) -> bool:
    """Tell whether the mode of a call is for writing. A mode that is computed counts as one."""
    if any(word.arg == "fileobj" for word in call.keywords):
        return False  # into a stream that is open already
    given_modes = [word.value for word in call.keywords if word.arg == "mode"]
    given_modes += call.args[0 if name == ".open" else 1 :][:1]
    modes = [node.value if isinstance(node, ast.Constant) else "w" for node in given_modes]
    return any(isinstance(mode, str) and len(mode) < 5 and set(mode) & set("wax+") for mode in modes)


def test_files_are_written_in_one_place() -> None:
    writes = {
        (path, name)
        for path, file in list_sources().items()
        if path not in {WRITER, STORAGE, *PARTS} and not path.startswith(OTHER_ROOMS)
        for name in find_writes(file.read_text())
    }
    assert writes - EXCEPTIONS == set()


@pytest.mark.parametrize(
    "source",
    [
        'open("f", "w")',
        'open("f", mode="ab")',
        'path.open("x")',
        "path.open(mode)",
        'io.open("f", "r+")',
        'os.open("f", os.O_WRONLY)',
        'os.fdopen(3, "w")',
        'path.write_text("")',
        "(a / b).write_bytes(c)",
        "path.touch()",
        "tempfile.NamedTemporaryFile()",
        "from tempfile import mkstemp",
        "shutil.copyfile(a, b)",
    ],
)
def test_writes_are_found(source: str) -> None:
    assert list(find_writes(source))


@pytest.mark.parametrize(
    "source",
    [
        'open("f")',
        'path.open("rb")',
        'os.open("f", os.O_RDONLY)',
        "cluster.open()",
        'tarfile.open(fileobj=raw, mode="w")',
    ],
)
def test_reads_are_no_writes(source: str) -> None:
    assert list(find_writes(source)) == []
