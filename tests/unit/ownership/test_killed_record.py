"""The record under kill -9: at each moment it is the old one or the new one, and no file of others is lost."""

import json
from pathlib import Path

import pytest

from tests.unit.ownership.owned_root import PROGRAM, RECORD, OwnedRoot

# Ends the process without a word before the n-th call that changes something: as kill -9, or a power cut, would.
POINTS = """
import os, sys
left = [int(sys.argv.pop())]
def die_at(module, name):
    call = getattr(module, name)
    def counted(*words, **more):
        left[0] -= 1
        if left[0] < 0:
            os._exit(137)
        return call(*words, **more)
    setattr(module, name, counted)
for name in ("open", "fsync", "fchmod", "replace", "unlink", "makedirs", "rmdir"):
    die_at(os, name)
"""
OWN_FILE, FSTAB = "/etc/modules-load.d/gpustack.conf", "/etc/fstab"
DECLARED_PATHS = {"file": [OWN_FILE], "lines": [FSTAB]}
SWAP = "/swapfile none swap sw 0 0\n"
EDITS = [{"paths": [FSTAB], "edits": [{"regexp": "^/swapfile", "replace": "# /swapfile"}]}]
KILL_COUNT = 60


def run_killed(root: OwnedRoot, command: str, point: int) -> int:
    options = {"declared": DECLARED_PATHS, "edits": EDITS}
    words = [command, *([FSTAB] if command == "restore" else [])]
    return root.run(*words, str(point), stdin_document=options, program=POINTS + PROGRAM).returncode


def prepare(path: Path, command: str) -> OwnedRoot:
    """Bring a root to where the command comes."""
    root = OwnedRoot(path)
    root.write(FSTAB, SWAP)
    if command != "begin":
        root.record("begin", DECLARED_PATHS, edits=EDITS)
        root.write(OWN_FILE, "overlay\n")
        root.write(FSTAB, f"# {SWAP}")
    if command not in {"begin", "finish"}:
        root.record("finish", DECLARED_PATHS, edits=EDITS)
    return root


@pytest.mark.long
@pytest.mark.parametrize("command", ["begin", "finish", "restore", "clear"])
def test_a_kill_at_each_call_leaves_a_record_that_can_be_read_and_everybody_s_files(
    tmp_path: Path, command: str
) -> None:
    ends = []
    for point in range(KILL_COUNT):
        root = prepare(tmp_path / str(point), command)
        files = root.read_tree()
        ends.append(run_killed(root, command, point))
        after = root.read(RECORD)
        if after is not None:
            assert json.loads(after)["version"] == 1
        fstab = root.read(FSTAB)
        assert fstab in ({SWAP, f"# {SWAP}"} if command == "restore" else {files["etc/fstab"][1].decode()})
        # What was killed is done again, to its end.
        process = root.run(
            *([command, FSTAB] if command == "restore" else [command]),
            stdin_document={"declared": DECLARED_PATHS, "edits": EDITS},
        )
        assert process.returncode == 0 or (command == "restore" and fstab == SWAP), process.stderr
        if command in {"begin", "finish"}:
            assert root.read_records()[FSTAB]["before"].startswith("file ")
            (copy,) = (
                path for path in (root.path / RECORD).parent.joinpath("before").iterdir() if "new" not in path.name
            )
            assert copy.read_text() == SWAP
        if ends[-1] == 0:
            break
    assert ends[-1] == 0
    assert ends.count(137) > 3
