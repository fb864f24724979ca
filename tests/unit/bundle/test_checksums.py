"""SHA256SUMS: complete over single files, true, and signed by the mirror's key."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gpustack.bundle import keys, layout
from gpustack.bundle.manifest import KEY
from gpustack.errors import BundleError

REPOSITORIES = ("pkgs.k8s.io/", "download.docker.com/", "developer.download.nvidia.com/", "nvidia.github.io/")


def test_every_file_outside_the_repositories_is_listed(shared_bundle: Path) -> None:
    files = shared_bundle / "files"
    single = {str(path.relative_to(files)) for path in files.rglob("*") if path.is_file()}
    single = {path for path in single if not path.startswith(REPOSITORIES)} - {"SHA256SUMS", "SHA256SUMS.asc"}
    listed_names = [line.split("  ", 1)[1] for line in (files / "SHA256SUMS").read_text().splitlines()[1:]]
    assert listed_names == sorted(single)
    assert {path.split("/")[0] for path in listed_names} == {
        "IMAGES",
        "licences.tar.gz",
        "get.helm.sh",
        "github.com",
        "helm.ngc.nvidia.com",
        "raw.githubusercontent.com",
    }


def test_sha256sum_agrees(shared_bundle: Path) -> None:
    result = subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"],
        cwd=shared_bundle / "files",
        timeout=20,
        check=False,
    )
    assert result.returncode == 0


def test_the_mirror_key_signed_the_checksums(shared_bundle: Path) -> None:
    sums = shared_bundle / "files" / "SHA256SUMS"
    assert keys.verify_signature(
        shared_bundle / KEY, sums.with_name("SHA256SUMS.asc"), sums
    ) == keys.find_own_fingerprint(keys.locate_key_dir())


def test_a_changed_line_does_not_hold(shared_bundle: Path, tmp_path: Path) -> None:
    for name in ("SHA256SUMS", "SHA256SUMS.asc"):
        shutil.copy(shared_bundle / "files" / name, tmp_path)
    sums = tmp_path / "SHA256SUMS"
    sums.write_text(sums.read_text().replace("helm", "hell", 1))
    with pytest.raises(BundleError) as excinfo:
        keys.verify_signature(shared_bundle / KEY, tmp_path / "SHA256SUMS.asc", sums)
    assert excinfo.value.reference == "bundle-signature-bad"


def test_the_signed_list_says_that_simulated_software_is_served(shared_bundle: Path) -> None:
    assert (shared_bundle / "files" / "SHA256SUMS").read_text().splitlines()[0] == "# simulated: yes"


def test_the_list_of_images_has_the_digest_of_each_that_is_served(shared_bundle: Path) -> None:
    *lines, last = (shared_bundle / "files" / "IMAGES").read_text().splitlines()
    assert last == f"# end {len(lines)}"
    parts = [line.split(" ") for line in lines]
    assert dict(parts) == {
        reference: entry["digest"] for reference, entry in layout.read_descriptors(shared_bundle / "images").items()
    }
    assert all(name.count("/") >= 1 and "." in name.split("/")[0] for name, _ in parts), "as containerd names them"
