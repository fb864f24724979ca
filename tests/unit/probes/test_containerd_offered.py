"""The real script of containerd.candidates before a server that plays the vendor."""

import functools
import gzip
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gpustack.ask.probe import Answer, FactUnavailable
from gpustack.ask.script import format_command
from gpustack.probes.containerd.candidates import CONTAINERD_OFFERS, Offer

ARCH = "amd64"
POOL = f"dists/bookworm/pool/stable/{ARCH}"
pytestmark = pytest.mark.skipif(not shutil.which("dpkg-query"), reason="needs dpkg")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


def format_stanza(package: str, version: str) -> str:
    return f"Package: {package}\nArchitecture: {ARCH}\nVersion: {version}\nFilename: {POOL}/{package}_{version}.deb\n"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """Folder, and the address that `{os}` is part of."""
    served_folder = tmp_path / "linux" / "debian"
    (served_folder / POOL).mkdir(parents=True)
    (served_folder / f"dists/bookworm/stable/binary-{ARCH}").mkdir(parents=True)
    (tmp_path / "dpkg").mkdir()
    (tmp_path / "dpkg" / "status").touch()
    (tmp_path / "os-release").write_text('ID=debian\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian 12"\n')
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield tmp_path, f"http://127.0.0.1:{server.server_port}/linux/{{os}}"
    server.shutdown()
    server.server_close()


def offer(folder: Path, *versions: str, absent_versions: tuple[str, ...] = ()) -> None:
    served_folder = folder / "linux" / "debian"
    text = "\n".join(
        [format_stanza("docker-ce", "5:29.8.2-1"), *(format_stanza("containerd.io", version) for version in versions)]
    )
    (served_folder / f"dists/bookworm/stable/binary-{ARCH}/Packages.gz").write_bytes(gzip.compress(text.encode()))
    for version in set(versions) - set(absent_versions):
        (served_folder / POOL / f"containerd.io_{version}.deb").touch()


def list_offers(world: tuple[Path, str], version: str = "2.3") -> tuple[Offer, ...]:
    folder, root = world
    script = (
        format_command(CONTAINERD_OFFERS)
        .replace("/etc/os-release", f"{folder}/os-release")
        .replace("/etc/gpustack-cluster", str(folder))
    )
    script = script.replace("$(dpkg --print-architecture)", ARCH)
    env = {"PATH": os.environ["PATH"], "CONTAINERD": version, "CONTAINERD_ROOT": root,
           "DPKG_ADMINDIR": f"{folder}/dpkg", "LC_ALL": "C", "no_proxy": "127.0.0.1"}  # fmt: skip
    process = subprocess.run(
        ["/bin/sh", "-uc", script], capture_output=True, text=True, env=env, check=False, timeout=60
    )
    return CONTAINERD_OFFERS.extract_fact(
        Answer(CONTAINERD_OFFERS.id, "h1", rc=process.returncode, stdout=process.stdout, stderr=process.stderr)
    )


def test_the_newest_patch_of_the_line_is_offered(world: tuple[Path, str]) -> None:
    offer(world[0], "2.2.5-1", "2.3.10-1", "2.3.9-1", "2.3.11~rc.1-1", "2.4.0-1", "2.30.0-1")
    assert list_offers(world) == (Offer("2.3.10", available=True),)
    assert list_offers(world, "2.2") == (Offer("2.2.5", available=True),)
    assert list_offers(world, "2.5") == ()


def test_a_missing_file_is_not_offered(world: tuple[Path, str]) -> None:
    offer(world[0], "2.3.5-1", "2.3.6-1", "2.3.7-1", absent_versions=("2.3.7-1",))
    assert list_offers(world) == (Offer("2.3.7", available=False), Offer("2.3.6", available=True))


def test_nothing_is_fetched_where_it_is_known_already(world: tuple[Path, str]) -> None:
    """The spec has a full version, or containerd.io is there: the server has no index here."""
    assert list_offers(world, "2.3.7") == ()
    (world[0] / "dpkg" / "status").write_text(
        "Package: containerd.io\nStatus: hold ok installed\nVersion: 2.3.4-1\nArchitecture: amd64\n"
        "Maintainer: x <x@example.org>\nDescription: x\n"
    )
    assert list_offers(world) == ()


def test_no_index_is_no_answer(world: tuple[Path, str]) -> None:
    with pytest.raises(FactUnavailable):
        list_offers(world)
