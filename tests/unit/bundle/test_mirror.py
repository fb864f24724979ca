"""The real mirror answers these paths. It is taken from the user's cache: nothing is compiled here."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from gpustack.bundle import layout
from gpustack.bundle.storage import prepare_storage
from gpustack.errors import BundleError
from gpustack_lab.bundle import modules, oci
from gpustack_lab.bundle.cache import Cache
from gpustack_lab.bundle.versions import load

# Before the fixtures give the user other directories.
CACHE = Cache(platformdirs.user_cache_path("gpustack") / "parts")


@pytest.fixture
def mirror(shared_bundle: Path) -> Iterator[str]:
    """Address of the real mirror over the miniature bundle."""
    import subprocess

    try:
        (part,) = [part for part in modules.declare_parts(load(), ("1.36.4",)) if part.name == "mirror"]
    except BundleError as error:
        pytest.skip(f"no compiler: {error.message}")
    built_part = CACHE.find_part(part)
    if built_part is None:
        pytest.skip("the mirror has not been compiled yet: gpustack bundle build")
    argv: list[str | Path] = [
        built_part["mirror"],
        "-files",
        shared_bundle / "files",
        "-key",
        shared_bundle / "mirror-key.asc",
        "-images",
        prepare_storage(shared_bundle),
        "-attached",
    ]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        yield "http://" + process.stdout.readline().removeprefix("listening on ").strip()
        process.terminate()


def get(url: str, method: str = "GET") -> tuple[int, bytes]:
    request = urllib.request.Request(url, method=method, headers={"Accept": oci.MANIFEST})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_files_are_below_their_official_host(mirror: str, shared_bundle: Path) -> None:
    path = "pkgs.k8s.io/core:/stable:/v1.36/deb/InRelease"
    assert get(f"{mirror}/{path}") == (200, (shared_bundle / "files" / path).read_bytes())
    assert get(f"{mirror}/mirror-key.asc") == (200, (shared_bundle / "mirror-key.asc").read_bytes())
    assert get(f"{mirror}/manifest.yaml")[0] == get(f"{mirror}/../manifest.yaml")[0] == 404


def test_folders_are_not_listed_and_links_lead_nowhere_else(mirror: str, shared_bundle: Path, tmp_path: Path) -> None:
    folder = shared_bundle / "files/pkgs.k8s.io"
    assert [get(f"{mirror}/{path}")[0] for path in ("", "pkgs.k8s.io", "pkgs.k8s.io/", "pkgs.k8s.io//")] == [404] * 4
    (tmp_path / "secret").write_text("secret")
    links: dict[str, str | Path] = {"outside": tmp_path / "secret", "above": "../../manifest.yaml", "folder": tmp_path}
    try:
        for name, target in links.items():
            (folder / name).symlink_to(target)
        answers = [get(f"{mirror}/pkgs.k8s.io/{name}") for name in ("outside", "above", "folder/secret")]
    finally:
        for name in links:
            (folder / name).unlink(missing_ok=True)
    assert [status for status, _ in answers if status == 200] == []
    assert [body for _, body in answers if b"secret" in body] == []


def test_an_image_is_pulled_as_containerd_does(mirror: str, shared_bundle: Path) -> None:
    status, body = get(f"{mirror}/v2/coredns/coredns/manifests/v1.14.2?ns=registry.k8s.io")
    descriptor = layout.read_descriptors(shared_bundle / "images")["registry.k8s.io/coredns/coredns:v1.14.2"]
    assert (status, body) == (200, layout.locate_blob(shared_bundle / "images", descriptor["digest"]).read_bytes())
    manifest = json.loads(body)
    for blob in (manifest["config"]["digest"], manifest["layers"][0]["digest"], descriptor["digest"]):
        kind = "manifests" if blob == descriptor["digest"] else "blobs"
        path = f"v2/coredns/coredns/{kind}/{blob}?ns=registry.k8s.io"
        assert get(f"{mirror}/{path}") == (200, layout.locate_blob(shared_bundle / "images", blob).read_bytes())


def test_the_original_registry_is_part_of_the_name(mirror: str) -> None:
    assert "registry.k8s.io/pause" in json.loads(get(f"{mirror}/v2/_catalog")[1])["repositories"]
    assert get(f"{mirror}/v2/registry.k8s.io/pause/manifests/3.10.2")[0] == 200
    assert get(f"{mirror}/v2/pause/manifests/3.10.2?ns=docker.io")[0] == 404
    assert get(f"{mirror}/v2/pause/manifests/3.10.2")[0] == 404


def test_nothing_can_be_put_in_or_taken_out(mirror: str) -> None:
    assert get(f"{mirror}/v2/registry.k8s.io/pause/blobs/uploads/", "POST")[0] == 405
    assert get(f"{mirror}/v2/registry.k8s.io/pause/manifests/3.10.2", "DELETE")[0] == 405
