"""newest-patch.sh with the real apt of this machine: a repository of small packages, some without their file."""

import functools
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gpustack.config.resources import locate_playbooks

SCRIPT = (locate_playbooks() / "roles" / "containerd" / "files" / "newest-patch.sh").read_text()
# As Docker names them; RELEASES.md of containerd has release candidates only before a minor.
VERSIONS = ("2.2.5", "2.3.4", "2.3.5", "2.3.6", "2.3.7", "2.3.8~rc.1", "2.4.0")
SUFFIX = "-1~debian.12~bookworm"
pytestmark = pytest.mark.skipif(not shutil.which("apt-get"), reason="needs apt")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


def build_deb(folder: Path, version: str) -> str:
    """Build a package, and return its stanza in the index."""
    tree, name = folder / f"tree-{version}", f"containerd.io_{version}{SUFFIX}_amd64.deb"
    (tree / "DEBIAN").mkdir(parents=True)
    control = (
        f"Package: containerd.io\nVersion: {version}{SUFFIX}\nArchitecture: amd64\nMaintainer: x <x@example.org>\n"
        "Description: x\n"
    )
    (tree / "DEBIAN" / "control").write_text(control)
    subprocess.run(["dpkg-deb", "-b", tree, folder / name], check=True, capture_output=True, timeout=60)
    digest = subprocess.run(["sha256sum", folder / name], check=True, capture_output=True, text=True).stdout.split()[0]
    return f"{control}Filename: ./{name}\nSize: {(folder / name).stat().st_size}\nSHA256: {digest}\n"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Path]:
    served_folder = tmp_path / "served"
    served_folder.mkdir()
    (served_folder / "Packages").write_text("\n".join(build_deb(served_folder, version) for version in VERSIONS))
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(served_folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for folder in ("apt/sources.list.d", "apt/apt.conf.d", "apt/preferences.d", "dpkg", "state/lists/partial",
                   "cache/archives/partial"):  # fmt: skip
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "dpkg" / "status").touch()
    (tmp_path / "apt.conf").write_text(
        f'Dir::Etc "{tmp_path}/apt"; Dir::State "{tmp_path}/state"; Dir::State::status "{tmp_path}/dpkg/status";'
        f'Dir::Cache "{tmp_path}/cache"; APT::Sandbox::User "root"; APT::Architecture "amd64"; Acquire::Retries "0";'
        'Acquire::http::Proxy "DIRECT"; Debug::NoLocking "true";'
    )
    (tmp_path / "apt" / "sources.list.d" / "gpustack-containerd.sources").write_text(
        f"Types: deb\nURIs: http://127.0.0.1:{server.server_port}/\nSuites: ./\nTrusted: yes\nArchitectures: amd64\n"
    )
    yield tmp_path
    server.shutdown()
    server.server_close()


def delete_package(world: Path, version: str) -> None:
    """Delete the file of a package, and what was fetched before."""
    (world / "served" / f"containerd.io_{version}{SUFFIX}_amd64.deb").unlink()
    for path in (world / "cache" / "archives").glob("*.deb"):
        path.unlink()


def choose_packages(world: Path, line: str = "2.3", patch: str = "", minimum: str = "") -> tuple[str, str]:
    """Choose the packages: PACKAGES, and the output. Raise CalledProcessError where the script refuses."""
    script = f'set -eu\n{SCRIPT}\necho "$PACKAGES"'.replace("/etc/apt", f"{world}/apt")
    env = {"PATH": os.environ["PATH"], "APT_CONFIG": f"{world}/apt.conf", "DPKG_ADMINDIR": f"{world}/dpkg",
           "LC_ALL": "C", "WANTED": line, "PATCH": patch, "MINIMUM": minimum}  # fmt: skip
    process = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=env, check=True, timeout=120)
    *lines, packages = process.stdout.splitlines()
    return packages, "\n".join(lines)


def format_packages(version: str) -> str:
    return f"containerd.io={version}{SUFFIX} cri-tools"


def test_the_newest_patch_of_the_line_is_chosen(world: Path) -> None:
    assert choose_packages(world) == (format_packages("2.3.7"), "")
    assert list((world / "cache" / "archives").glob("*_2.3.7-1*.deb"))


def test_a_patch_whose_file_is_missing_is_passed_over(world: Path) -> None:
    """docker/for-linux issue 1557."""
    delete_package(world, "2.3.7")
    packages, text = choose_packages(world)
    assert packages == format_packages("2.3.6")
    assert text == (
        f"changed: containerd.io 2.3.6{SUFFIX} is taken; the index names files that are not there (404): 2.3.7{SUFFIX}"
    )
    delete_package(world, "2.3.6")
    assert choose_packages(world)[0] == format_packages("2.3.5")


def test_what_the_cluster_has_is_taken_before_what_is_newer(world: Path) -> None:
    assert choose_packages(world, patch="2.3.5") == (format_packages("2.3.5"), "")
    delete_package(world, "2.3.5")
    assert choose_packages(world, patch="2.3.5")[0] == format_packages("2.3.4")
    delete_package(world, "2.3.4")
    assert choose_packages(world, patch="2.3.5")[0] == format_packages("2.3.7")
    assert choose_packages(world, patch="2.3.1")[0] == format_packages("2.3.7")


def test_none_before_the_first_good_patch_is_taken(world: Path) -> None:
    for version in ("2.3.7", "2.3.6"):
        delete_package(world, version)
    assert choose_packages(world, minimum="2.3.5")[0] == format_packages("2.3.5")
    assert choose_packages(world, patch="2.3.4", minimum="2.3.5")[0] == format_packages("2.3.5")
    delete_package(world, "2.3.5")
    assert choose_packages(world, minimum="2.3.5")[0] == "containerd.io=2.3.* cri-tools", "apt says that it is missing"


def test_a_repository_without_a_good_patch_is_refused(world: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refusal:
        choose_packages(world, minimum="2.3.10")
    assert "expected 2.3.10 or newer, offered 2.3.7" in refusal.value.stderr
    assert "(gpustack explain containerd-offered)" in refusal.value.stderr


def test_a_version_of_the_spec_is_taken_alone(world: Path) -> None:
    assert choose_packages(world, "2.3.7") == ("containerd.io=2.3.7-* cri-tools", "")
    delete_package(world, "2.3.7")
    assert choose_packages(world, "2.3.7") == ("containerd.io=2.3.7-* cri-tools", "")


def test_what_is_installed_stays(world: Path) -> None:
    (world / "dpkg" / "status").write_text(
        "Package: containerd.io\nStatus: hold ok installed\nVersion: 2.3.4-1\nArchitecture: amd64\n"
        "Maintainer: x <x@example.org>\nDescription: x\n"
    )
    assert choose_packages(world) == ("containerd.io cri-tools", "")


def test_nothing_of_the_line_or_no_repository_is_for_apt_to_say(world: Path) -> None:
    assert choose_packages(world, "2.9") == ("containerd.io=2.9.* cri-tools", "")
    for version in VERSIONS:
        delete_package(world, version)
    assert choose_packages(world)[0] == "containerd.io=2.3.* cri-tools"


def test_apt_takes_the_newest_of_a_pattern(world: Path) -> None:
    """apt-install.sh is left to this where no version could be chosen."""
    choose_packages(world)
    process = subprocess.run(
        ["apt-get", "-qq", "--yes", "--print-uris", "install", "containerd.io=2.3.*"],
        capture_output=True, text=True, check=True, timeout=60,
        env={"PATH": os.environ["PATH"], "APT_CONFIG": f"{world}/apt.conf"},
    )  # fmt: skip
    assert "containerd.io_2.3.8" in process.stdout
