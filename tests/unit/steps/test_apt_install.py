"""apt-install.sh with an apt and a dpkg that are put before it: what it asks of them, and what it says of a lock."""

import os
import subprocess
from pathlib import Path

import pytest

from gpustack.config.resources import locate_playbooks

SCRIPT = (locate_playbooks() / "files" / "apt-install.sh").read_text()
DPKG_QUERY = '#!/bin/sh\nfor name; do :; done\ncat "$WORLD/$name" 2>/dev/null\n'
APT_GET = """#!/bin/sh
echo "apt-get $*" >>"$WORLD/asked"
case "$* " in
  *" update "*) exit 0 ;;
  *--fix-broken*) rm -f "$WORLD/unmet"; exit 0 ;;
esac
[ ! -e "$WORLD/locked" ] || { cat "$WORLD/locked" >&2; exit 100; }
[ ! -e "$WORLD/broken" ] || { echo "E: dpkg was interrupted" >&2; exit 100; }
[ ! -e "$WORLD/unmet" ] || { echo "E: Unmet dependencies" >&2; exit 100; }
for package; do printf 'install installed 1.0' >"$WORLD/$package"; done
"""
DPKG = """#!/bin/sh
echo "dpkg $*" >>"$WORLD/asked"
case $* in --audit) cat "$WORLD/broken" 2>/dev/null; exit 0 ;; esac
rm -f "$WORLD/broken"
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """Programs of that name, and a file per package that is there."""
    for name, text in {"dpkg-query": DPKG_QUERY, "apt-get": APT_GET, "dpkg": DPKG, "apt-mark": "#!/bin/sh\n"}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "updates").mkdir()
    return tmp_path


def run(world: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    script = SCRIPT.replace("/run/gpustack-apt.lock", f"{world}/lock").replace(
        "/var/lib/dpkg/updates", f"{world}/updates"
    )
    given_variables = {"PACKAGES": "socat", "HOLD": "", "SOURCES": "", "WORLD": str(world)}
    env = given_variables | variables | {"PATH": f"{world}:{os.environ['PATH']}"}
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=env, check=False, timeout=60)


def read_calls(world: Path) -> list[str]:
    path = world / "asked"
    return path.read_text().splitlines() if path.exists() else []


def test_what_is_there_is_not_asked_for(world: Path) -> None:
    (world / "socat").write_text("install installed 1.0")
    assert run(world).stdout == ""
    assert read_calls(world) == []


def test_nothing_of_others_is_removed(world: Path) -> None:
    assert run(world).stdout == "changed: installed socat\n"
    assert all("--no-remove" in line for line in read_calls(world) if "install socat" in line)


@pytest.mark.parametrize(
    "text",
    [
        "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process {pid} (python3)\nN: Be aware",
        "E: Could not get lock /var/lib/apt/lists/lock. It is held by process {pid} (apt-get)",
        "dpkg: error: dpkg frontend lock was locked by another process with pid {pid}\nNote: removing",
    ],
)
def test_a_lock_is_reported_with_its_holder(world: Path, text: str) -> None:
    (world / "locked").write_text(text.format(pid=os.getpid()))
    process = run(world)
    assert process.returncode == 75
    (line,) = process.stderr.splitlines()
    assert line.startswith(f"apt is locked by process {os.getpid()}: ")
    assert "python" in line or "pytest" in line
    assert line.endswith("(gpustack explain apt-locked)")


def test_a_holder_with_lines_in_its_arguments_is_reported_in_one(world: Path) -> None:
    with subprocess.Popen(["sh", "-c", "read x\n: end"], stdin=subprocess.PIPE) as holder:
        (world / "locked").write_text(f"E: Could not get lock /x. It is held by process {holder.pid} (sh)")
        process = run(world)
        holder.kill()
    assert (
        process.stderr == f"apt is locked by process {holder.pid}: sh -c read x : end  (gpustack explain apt-locked)\n"
    )


def test_a_holder_that_is_gone_or_unknown_is_a_lock_all_the_same(world: Path) -> None:
    (world / "locked").write_text("E: Could not get lock /var/lib/dpkg/lock - open (11: Resource unavailable)")
    process = run(world)
    assert (process.returncode, process.stdout) == (75, "")
    assert "a process that has ended or cannot be seen" in process.stderr


def test_one_of_our_own_that_outlived_its_installation_is_waited_for(world: Path) -> None:
    with subprocess.Popen(
        ["flock", str(world / "lock"), "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as second_world:
        assert second_world.stdin
        assert second_world.stdout
        second_world.stdin.write(b"held\n")
        second_world.stdin.flush()
        second_world.stdout.readline()
        process = run(world)
        second_world.stdin.close()
    assert process.returncode == 75
    assert "is still running on this host" in process.stderr
    assert run(world).returncode == 0


def test_a_dpkg_that_was_killed_is_taken_up_again(world: Path) -> None:
    (world / "broken").write_text("socat half-configured\n")
    assert run(world).stdout == "changed: installed socat\n"
    assert any("--configure -a" in line for line in read_calls(world))


def test_what_a_killed_dpkg_left_without_its_dependencies_is_completed(world: Path) -> None:
    (world / "broken").write_text("socat half-installed\n")
    (world / "unmet").touch()
    assert run(world).stdout == "changed: installed socat\n"
    assert any("--fix-broken" in line and "--no-remove" in line for line in read_calls(world))


def test_an_error_of_apt_is_shown(world: Path) -> None:
    (world / "unmet").touch()
    process = run(world)
    assert process.returncode == 1
    assert "E: Unmet dependencies" in process.stderr
