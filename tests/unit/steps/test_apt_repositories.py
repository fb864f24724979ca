"""apt-repositories.sh with the real gpg and apt of this machine, on a root of its own; only the fetching is played."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpustack.config.resources import locate_playbooks
from tests.worlds.programs.signing_keys import Vendor

SCRIPT = (locate_playbooks() / "files" / "apt-repositories.sh").read_text()
FETCH = (
    'fetch() { echo "$1" >>"$WORLD/fetched"; cp "$WORLD/served" "$2" || { echo "$1 was not fetched" >&2; return 1; }; }'
)
PLACE = "https://pkgs.example.org/deb/"
pytestmark = pytest.mark.skipif(not shutil.which("apt-get") or not shutil.which("gpg"), reason="needs apt and gpg")

Make = Callable[..., Vendor]


@pytest.fixture
def vendor(tmp_path: Path) -> Iterator[Make]:
    vendors: list[Vendor] = []

    def make(ends: str, **how: bool) -> Vendor:
        vendors.append(Vendor(tmp_path / f"vendor{len(vendors)}", ends, **how))
        return vendors[-1]

    yield make
    for vendor in vendors:
        vendor.end()


@pytest.fixture
def world(tmp_path: Path) -> Path:
    (tmp_path / "apt" / "sources.list.d").mkdir(parents=True)
    (tmp_path / "apt.conf").write_text(f'Dir::Etc "{tmp_path}/apt"; Dir::State "{tmp_path}"; Dir::Cache "{tmp_path}";')
    return tmp_path


def run(
    world: Path, fingerprint: str, file: str = "", end: int = 0, packages: str = "-"
) -> "subprocess.CompletedProcess[str]":
    script = f"{FETCH}\n{SCRIPT}".replace("/etc/apt", f"{world}/apt")
    env = {
        "PATH": os.environ["PATH"],
        "WORLD": str(world),
        "APT_CONFIG": str(world / "apt.conf"),
        "ARCH": "amd64",
        "REPOSITORIES": f"kubernetes {PLACE} / - https://pkgs.example.org/key {fingerprint} {end} {packages} {file}",
    }
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=env, check=False, timeout=60)


def locate_keyring(world: Path) -> Path:
    return world / "apt" / "keyrings" / "gpustack-kubernetes.gpg"


def locate_source(world: Path) -> Path:
    return world / "apt" / "sources.list.d" / "gpustack-kubernetes.sources"


def serve_key(world: Path, key: bytes) -> None:
    (world / "served").write_bytes(key)


def count_fetches(world: Path) -> int:
    path = world / "fetched"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.parametrize("armour", [True, False])
def test_a_key_and_a_source_are_put_in_place_once(world: Path, vendor: Make, armour: bool) -> None:
    vendor_key = vendor("2y", armour=armour)
    serve_key(world, vendor_key.public)
    first = run(world, vendor_key.fingerprint)
    assert (first.returncode, first.stdout.splitlines()) == (
        0, [f"changed: key {vendor_key.fingerprint}", f"changed: {locate_source(world)}"]
    )  # fmt: skip
    assert run(world, vendor_key.fingerprint).stdout == ""
    assert count_fetches(world) == 1


@pytest.mark.parametrize("had", ["seconds=1", "40d"], ids=["ended", "ends-soon"])
def test_a_prolonged_key_of_the_same_fingerprint_is_taken_over(world: Path, vendor: Make, had: str) -> None:
    """The key of pkgs.k8s.io ended in 2024 and was prolonged by its owner; it ends again on 2026-12-29."""
    vendor_key = vendor(had)
    locate_keyring(world).parent.mkdir()
    locate_keyring(world).write_bytes(vendor_key.run_gpg("--export"))
    if had.startswith("seconds"):
        time.sleep(2)
    vendor_key.extend_key("2y")
    serve_key(world, vendor_key.public)
    end = 0 if had.startswith("seconds") else int(time.time()) + 700 * 86400
    process = run(world, vendor_key.fingerprint, end=end)
    assert process.returncode == 0, process.stderr
    assert f"changed: key {vendor_key.fingerprint}" in process.stdout
    assert locate_keyring(world).read_bytes() == vendor_key.run_gpg("--export")
    assert run(world, vendor_key.fingerprint, end=end).stdout == ""
    assert count_fetches(world) == 1


def test_a_key_that_is_not_known_to_be_prolonged_is_left_alone(world: Path, vendor: Make) -> None:
    vendor_key = vendor("40d")
    serve_key(world, vendor_key.public)
    assert "changed: key" in run(world, vendor_key.fingerprint).stdout
    vendor_key.extend_key("2y")
    serve_key(world, vendor_key.public)
    assert run(world, vendor_key.fingerprint, end=int(time.time())).stdout == ""
    assert count_fetches(world) == 1


def test_an_ended_key_is_refused_with_its_page(world: Path, vendor: Make) -> None:
    vendor_key = vendor("seconds=1")
    time.sleep(2)
    serve_key(world, vendor_key.public)
    process = run(world, vendor_key.fingerprint)
    assert process.returncode == 1
    assert f"actual expired:{vendor_key.fingerprint}" in process.stderr
    assert process.stderr.rstrip().endswith("(gpustack explain repository-key-refused)")
    assert not locate_source(world).exists()


def test_a_key_of_another_fingerprint_is_refused_with_its_page(world: Path, vendor: Make) -> None:
    """The old key may have ended, and the vendor may show another in its place."""
    old, new = vendor("seconds=1"), vendor("2y")
    locate_keyring(world).parent.mkdir()
    locate_keyring(world).write_bytes(old.run_gpg("--export"))
    time.sleep(2)
    serve_key(world, new.public)
    process = run(world, old.fingerprint)
    assert process.returncode == 1
    assert f"expected the key {old.fingerprint} and no other, actual {new.fingerprint}" in process.stderr
    assert "(gpustack explain repository-key-refused)" in process.stderr
    assert locate_keyring(world).read_bytes() == old.run_gpg("--export")


def test_two_keys_are_one_too_many(world: Path, vendor: Make) -> None:
    first_vendor, second_vendor = vendor("2y", armour=False), vendor("2y", armour=False)
    serve_key(world, first_vendor.public + second_vendor.public)
    process = run(world, first_vendor.fingerprint)
    assert process.returncode == 1
    assert f"actual {first_vendor.fingerprint} {second_vendor.fingerprint}" in process.stderr


def test_a_source_that_would_break_apt_is_taken_back(world: Path, vendor: Make) -> None:
    """Somebody else's file names the place with another keyring: apt would read none of any file."""
    vendor_key = vendor("2y")
    serve_key(world, vendor_key.public)
    (world / "apt" / "sources.list.d" / "a.list").write_text(f"deb [signed-by=/other.gpg] {PLACE} /\n")
    process = run(world, vendor_key.fingerprint)
    assert process.returncode == 1
    assert (
        "Conflicting values set for option Signed-By regarding source https://pkgs.example.org/deb/" in process.stderr
    )
    assert "(gpustack explain apt-sources-refused)" in process.stderr
    assert not locate_source(world).exists()


def test_a_source_of_somebody_else_stands_for_ours(world: Path, vendor: Make) -> None:
    vendor_key = vendor("2y")
    serve_key(world, vendor_key.public)
    run(world, vendor_key.fingerprint)
    foreign_source = world / "apt" / "sources.list.d" / "kubernetes.list"
    foreign_source.write_text(f"deb [signed-by=/etc/keyrings/k.gpg] {PLACE} /\n")
    process = run(world, vendor_key.fingerprint, str(foreign_source))
    assert process.stdout.splitlines() == [
        f"changed: removed {locate_source(world)}, as {foreign_source} says the same",
        f"changed: removed {locate_keyring(world)}, as {foreign_source} says the same",
    ]
    assert run(world, vendor_key.fingerprint, str(foreign_source)).stdout == ""
    assert foreign_source.exists()


def query_policy(world: Path, package: str) -> str:
    """Ask apt which priority it gives to a package of pkgs.example.org."""
    release = "Origin: Example\nLabel: Example\nSuite: stable\nDate: Sat, 28 Nov 2026 00:00:00 UTC\n"
    lists = world / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    (lists / "pkgs.example.org_deb_InRelease").write_text(release)
    entries = [f"Package: {name}\nVersion: 9\nArchitecture: all\nFilename: x" for name in ("kubelet", "openssh-server")]
    (lists / "pkgs.example.org_deb_Packages").write_text("\n\n".join(entries) + "\n")
    env = {"PATH": os.environ["PATH"], "APT_CONFIG": str(world / "apt.conf"), "LC_ALL": "C"}
    policy_command = ["apt-cache", "policy", package]
    return subprocess.run(policy_command, capture_output=True, text=True, env=env, check=True, timeout=60).stdout


def test_apt_takes_only_the_named_packages_before_those_of_other_sources(world: Path, vendor: Make) -> None:
    vendor_key = vendor("2y")
    serve_key(world, vendor_key.public)
    preferences = world / "apt" / "preferences.d" / "gpustack-kubernetes.pref"
    assert f"changed: {preferences}" in run(world, vendor_key.fingerprint, packages="kubelet,kubeadm").stdout
    assert run(world, vendor_key.fingerprint, packages="kubelet,kubeadm").stdout == ""
    assert "\n     9 500\n" in query_policy(world, "kubelet")
    assert "\n     9 100\n" in query_policy(world, "openssh-server")
    assert f"changed: removed {preferences}" in run(world, vendor_key.fingerprint).stdout
    assert "\n     9 500\n" in query_policy(world, "openssh-server")


@pytest.mark.parametrize(
    "line", ["deb https://pkgs.example.org/debian x main", "deb http://u:p@pkgs.example.org:80/d x y"]
)
def test_a_host_that_another_source_names_gets_no_preferences(world: Path, vendor: Make, line: str) -> None:
    vendor_key = vendor("2y")
    serve_key(world, vendor_key.public)
    (world / "apt" / "sources.list").write_text(f"{line}\n")
    process = run(world, vendor_key.fingerprint, packages="kubelet")
    assert process.returncode == 0, process.stderr
    assert "preferences" not in process.stdout
    assert not (world / "apt" / "preferences.d").exists()
