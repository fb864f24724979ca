import time
from pathlib import Path

import pytest

from gpustack_lab.lab import cgroups

V1 = """\
tmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
cgroup2 /elsewhere cgroup2 rw 0 0
"""
V2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"


@pytest.fixture(autouse=True)
def without_systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "has_systemd", lambda: False)


@pytest.mark.parametrize(("mounts", "expected"), [(V1, 1), (V2, 2)])
def test_the_cgroup_version_is_detected(mounts: str, expected: int) -> None:
    assert cgroups.detect_version(mounts) == expected


def test_v1_has_a_directory_in_every_hierarchy_that_is_mounted_in_place() -> None:
    directories = [str(path) for path in cgroups.list_directories("gpustack-lab-x-host1", V1)]
    assert directories == [f"/sys/fs/cgroup/{name}/gpustack-lab-x-host1" for name in ("memory", "systemd", "unified")]


def test_v2_has_one_directory() -> None:
    assert cgroups.list_directories("g", V2) == [Path("/sys/fs/cgroup/g")]


def test_under_systemd_it_is_the_unit_s(monkeypatch: pytest.MonkeyPatch) -> None:
    questions: list[list[str]] = []

    class Completion:
        stdout = "/system.slice/g.service\n"

    def run_command(argv: list[str]) -> Completion:
        questions.append(argv)
        return Completion()

    monkeypatch.setattr(cgroups, "has_systemd", lambda: True)
    monkeypatch.setattr(cgroups, "try_run", run_command)
    assert cgroups.list_directories("g", V2) == [Path("/sys/fs/cgroup/system.slice/g.service")]
    assert questions[0][-1] == "g.service"


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Plain directories in place of a hierarchy: cgroup.procs is a file, so only empty groups can be removed."""
    top = tmp_path / "g"
    (top / "init.scope").mkdir(parents=True)
    (top / "runner").mkdir()
    monkeypatch.setattr(cgroups, "list_directories", lambda group: [tmp_path / group])
    return top


def test_processes_of_all_groups_below_are_listed(tree: Path) -> None:
    (tree / "cgroup.procs").write_text("12\n7\n0\n")
    (tree / "init.scope" / "cgroup.procs").write_text("99\n7\n")
    assert cgroups.list_processes("g") == [7, 12, 99]
    assert cgroups.list_processes("no-such-group") == []


def test_remove_takes_all_and_empty_leaves_what_the_runner_sits_in(tree: Path) -> None:
    cgroups.empty("g")
    assert [path.name for path in tree.iterdir()] == ["runner"]
    cgroups.remove("g")
    assert not tree.exists()
    cgroups.remove("g")


def test_what_is_frozen_is_thawed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    states = {"FROZEN": tmp_path / "a" / "b", "FREEZING": tmp_path / "c", "THAWED": tmp_path / "d"}
    for state, place in states.items():
        place.mkdir(parents=True)
        (place / "freezer.state").write_text(f"{state}\n")
    monkeypatch.setattr(cgroups, "list_directories", lambda _: [tmp_path])
    cgroups.thaw("g")
    assert {(place / "freezer.state").read_text().strip() for place in states.values()} == {"THAWED"}


def test_what_stays_frozen_is_thawed_meanwhile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "freezer.state").write_text("FROZEN\n")
    monkeypatch.setattr(cgroups, "list_directories", lambda _: [tmp_path])
    monkeypatch.setattr(cgroups, "THAW_INTERVAL", 0.01)
    with cgroups.keep_thawed("g"):
        end = time.monotonic() + 10
        while (tmp_path / "freezer.state").read_text() != "THAWED":
            assert time.monotonic() < end
            time.sleep(0.01)
