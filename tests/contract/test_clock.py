"""A clock that jumps hurts nobody: no wait and no decision reads the time of day. Its readers are listed."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "gpustack"
# The product; the lab and the bundle wait for programs of this machine.
ROOMS = (
    "ask",
    "burn",
    "cli",
    "config",
    "doctor",
    "engines",
    "gpus",
    "metrics",
    "probes",
    "profile",
    "report",
    "rollout",
    "serve",
    "steps",
)
# When answers were taken (certificates are judged by it) or recorded, whether the CA of the spec is valid, names and
# lines of records, since when a lock is held.
READERS = {
    "ask/gather.py", "config/certificate_file.py", "metrics/recording.py", "profile/scrape.py", "rollout/evidence.py",
    "rollout/lock.py",
}  # fmt: skip
CLOCK = {("time", "time"), ("time", "time_ns"), ("datetime", "now"), ("datetime", "today"), ("date", "today")}


def find_readers() -> Iterator[str]:
    for room in ROOMS:
        for path in (PACKAGE / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute) and (ast.unparse(node.value), node.attr) in CLOCK:
                    yield str(path.relative_to(PACKAGE))


def test_the_time_of_day_is_read_in_known_modules_only() -> None:
    assert set(find_readers()) == READERS


def test_scripts_of_roles_wait_by_no_clock() -> None:
    playbooks = PACKAGE.parent / "playbooks"
    asking = [path.name for path in playbooks.rglob("*") if path.is_file() and "date +%s" in path.read_text()]
    assert asking == []
