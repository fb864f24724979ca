"""pinned.sh with a curl and a gpg that are put before it: a file is what it was pinned to, or it is not there."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from gpustack.config.resources import locate_playbooks

FILES = locate_playbooks() / "files"
SCRIPT = f"{(FILES / 'fetch.sh').read_text()}\n{(FILES / 'pinned.sh').read_text()}\nset -eu\n"
MIRROR = "http://mirror:8480"
URL = f"{MIRROR}/get.helm.sh/helm.tar.gz"
# Serves $WORLD/www by the path of the URL; notes what was asked.
CURL = """#!/bin/sh
cat >/dev/null
while [ $# -gt 1 ]; do case $1 in -o) file=$2 ;; esac; shift; done
echo "$1" >>"$WORLD/asked"
path=$WORLD/www/${1#http://*/}
[ -e "$path" ] || { printf '000 404'; exit 22; }
cp "$path" "$file"
"""
# Good is a signature that says so.
GPG = """#!/bin/sh
while [ $# -gt 2 ]; do shift; done
grep -q '^good' "$1" || { echo "gpg: BAD signature" >&2; exit 1; }
"""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def world(tmp_path: Path) -> Path:
    for name, text in {"curl": CURL, "gpg": GPG}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    serve_file(tmp_path, "get.helm.sh/helm.tar.gz", "content")
    serve_file(tmp_path, "SHA256SUMS", f"{digest('content')} get.helm.sh/helm.tar.gz\n{digest('x')} a/helm.tar.gz\n")
    serve_file(tmp_path, "SHA256SUMS.asc", "good\n")
    return tmp_path


def serve_file(world: Path, path: str, text: str) -> None:
    file = world / "www" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def fetch_pinned(world: Path, checksum: str, url: str = URL) -> "subprocess.CompletedProcess[str]":
    env = {"WORLD": str(world), "MIRROR": MIRROR, "KEYRING": "/k", "PATH": f"{world}:{os.environ['PATH']}"}
    script = f'{SCRIPT}fetch_pinned "{url}" "{checksum}" "{world}/place/helm.tar.gz"\necho after\n'
    process = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=env, check=False, timeout=30)
    assert not (world / "place" / "helm.tar.gz.new").exists()
    return process


def place(world: Path) -> Path:
    return world / "place" / "helm.tar.gz"


def read_requests(world: Path) -> list[str]:
    path = world / "asked"
    return [line.removeprefix(f"{MIRROR}/") for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("checksum", [digest("content"), "signed"])
def test_a_file_is_fetched_once(world: Path, checksum: str) -> None:
    process = fetch_pinned(world, checksum)
    assert (process.returncode, process.stdout) == (0, "changed: fetched helm.tar.gz\nafter\n")
    assert place(world).read_text() == "content"
    assert place(world).stat().st_mode & 0o777 == 0o644
    assert fetch_pinned(world, checksum).stdout == "after\n"
    assert read_requests(world).count("get.helm.sh/helm.tar.gz") == 1


def test_what_lies_there_with_another_content_is_fetched_again(world: Path) -> None:
    fetch_pinned(world, "signed")
    place(world).write_text("half")
    assert fetch_pinned(world, "signed").stdout == "changed: fetched helm.tar.gz\nafter\n"
    assert place(world).read_text() == "content"


@pytest.mark.parametrize("checksum", [digest("content"), "signed"])
def test_another_checksum_is_refused_and_nothing_is_left(world: Path, checksum: str) -> None:
    serve_file(world, "get.helm.sh/helm.tar.gz", "evil")
    process = fetch_pinned(world, checksum)
    assert (process.returncode, process.stdout) == (1, "")
    assert f"expected SHA-256 {digest('content')}, actual {digest('evil')}" in process.stderr
    assert process.stderr.endswith("(gpustack explain wrong-checksum)\n")
    assert not place(world).exists()


def test_an_older_file_stays_when_a_fetch_fails(world: Path) -> None:
    place(world).parent.mkdir()
    place(world).write_text("older")
    serve_file(world, "get.helm.sh/helm.tar.gz", "evil")
    assert fetch_pinned(world, "signed").returncode == 1
    assert place(world).read_text() == "older"


def test_a_list_that_the_mirror_did_not_sign_is_refused(world: Path) -> None:
    serve_file(world, "SHA256SUMS.asc", "bad\n")
    process = fetch_pinned(world, "signed")
    assert (process.returncode, process.stdout) == (1, "")
    assert "SHA256SUMS is not signed with the mirror's key (gpg: BAD signature)" in process.stderr
    assert read_requests(world) == ["SHA256SUMS", "SHA256SUMS.asc"]


def test_a_list_without_the_path_is_refused(world: Path) -> None:
    """A file of the same name elsewhere is another one."""
    serve_file(
        world, "SHA256SUMS", f"{digest('content')} b/helm.tar.gz\n{digest('content')} get.helm.sh/helm.tar.gz.old\n"
    )
    process = fetch_pinned(world, "signed")
    assert (process.returncode, process.stdout) == (1, "")
    assert "get.helm.sh/helm.tar.gz: its bundle was built by another release, or without --keda" in process.stderr


@pytest.mark.parametrize("path", ["get.helm.sh/helm.tar.gz", "SHA256SUMS", "SHA256SUMS.asc"])
def test_a_file_that_the_mirror_lacks_is_named(world: Path, path: str) -> None:
    (world / "www" / path).unlink()
    process = fetch_pinned(world, "signed")
    assert (process.returncode, process.stdout) == (1, "")
    assert "mirror has no such file (404)" in process.stderr
    assert not place(world).exists()


SIMULATED_SCRIPT = locate_playbooks() / "roles" / "containerd" / "files" / "simulated.sh"


def request_purpose(world: Path, simulated: str, mirror: str = MIRROR) -> "subprocess.CompletedProcess[str]":
    env = {"WORLD": str(world), "MIRROR": mirror, "KEYRING": "/k", "SIMULATED": simulated}
    script = f"{SCRIPT}{SIMULATED_SCRIPT.read_text()}echo after\n"
    return subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, check=False, timeout=30,
        env=env | {"PATH": f"{world}:{os.environ['PATH']}"},
    )  # fmt: skip


@pytest.mark.parametrize("first", ["# simulated: yes\n", "", "# simulated: \n", f"{digest('x')}  a\n# simulated: no\n"])
def test_simulated_software_is_refused_by_what_is_signed(world: Path, first: str) -> None:
    serve_file(world, "SHA256SUMS", f"{first}{digest('content')}  get.helm.sh/helm.tar.gz\n")
    process = request_purpose(world, "refused")
    assert (process.returncode, process.stdout) == (1, "")
    reason = "serves simulated GPU software" if "yes" in first else "does not say whether its GPU software is simulated"
    assert process.stderr.startswith(f"{MIRROR} {reason}; ")
    assert process.stderr.endswith("(gpustack explain mirror-simulated)\n")
    assert request_purpose(world, "allowed").stdout == "after\n"


def test_software_of_the_vendors_is_installed_and_so_is_that_of_no_mirror(world: Path) -> None:
    serve_file(world, "SHA256SUMS", f"# simulated: no\n{digest('content')}  get.helm.sh/helm.tar.gz\n")
    assert request_purpose(world, "refused").stdout == "after\n"
    serve_file(world, "SHA256SUMS.asc", "bad\n")
    assert request_purpose(world, "refused").returncode == 1
    assert request_purpose(world, "", mirror="").stdout == "after\n"


def test_a_full_disk_is_named_by_its_folder(world: Path) -> None:
    """curl(1) ends with 23 where it cannot write; the server is not to blame."""
    (world / "curl").write_text("#!/bin/sh\nprintf '000 200'\nexit 23\n")
    process = fetch_pinned(world, digest("x"))
    assert process.returncode == 1
    assert f"could not be written; df -h {place(world).parent} on that host" in process.stderr
    assert "curl -v" not in process.stderr
