"""Signed apt repositories in the shapes of the official ones: pkgs.k8s.io (flat) and download.docker.com (dists)."""

import gzip
import shutil
from pathlib import Path

from gpustack.bundle.programs import run
from gpustack_lab.bundle import signing
from gpustack_lab.bundle.cache import BuiltPart, Part, digest
from gpustack_lab.bundle.signing import Signer

ORIGIN = "gpustack bundle mirror"
KEY = "Release.key"  # of a flat repository


def declare_flat_repository(name: str, debs: list[BuiltPart], signer: Signer) -> Part:
    """Declare a flat repository as under https://pkgs.k8s.io/core:/stable:/v1.36/deb/. The part has Packages,
    InRelease, Release.key, and <architecture>/*.deb."""
    return Part(
        name, _digest_inputs(debs, signer, name), lambda output_dir: _write_flat_repository(debs, signer, output_dir)
    )


def _write_flat_repository(debs: list[BuiltPart], signer: Signer, output_dir: Path) -> None:
    for built_part in debs:
        for deb in built_part.files:
            architecture = deb.rsplit("_", 1)[1].removesuffix(".deb")
            (output_dir / architecture).mkdir(exist_ok=True)
            shutil.copyfile(built_part[deb], output_dir / architecture / deb)
    _write_package_index(output_dir, ".", output_dir)
    _write_release(output_dir, signer, {})
    (output_dir / KEY).write_text(signing.export_public_key(signer))


def declare_dists_repository(
    name: str, codenames: dict[str, list[BuiltPart]], architecture: str, signer: Signer
) -> Part:
    """Declare a repository as under https://download.docker.com/linux/debian/, of the component `stable`. The part has
    gpg and dists/<codename>/…."""
    inputs = digest(*(_digest_inputs(debs, signer, codename) for codename, debs in codenames.items()), architecture)
    return Part(name, inputs, lambda output_dir: _write_dists_repository(codenames, architecture, signer, output_dir))


def _write_dists_repository(
    codenames: dict[str, list[BuiltPart]], architecture: str, signer: Signer, output_dir: Path
) -> None:
    for codename, debs in codenames.items():
        suite = output_dir / "dists" / codename
        pool = suite / "pool" / "stable" / architecture
        binaries = suite / "stable" / f"binary-{architecture}"
        for directory in (pool, binaries):
            directory.mkdir(parents=True)
        for built_part in debs:
            for deb in built_part.files:
                shutil.copyfile(built_part[deb], pool / deb)
        _write_package_index(output_dir, str(pool.relative_to(output_dir)), binaries)
        _write_release(
            suite,
            signer,
            {
                "Suite": codename,
                "Codename": codename,
                "Components": "stable",
                "Architectures": architecture,
            },
        )
    (output_dir / "gpg").write_text(signing.export_public_key(signer))


def _write_package_index(root: Path, subfolder: str, target_dir: Path) -> None:
    index = run(["apt-ftparchive", "packages", subfolder], cwd=root, limit=300).replace("Filename: ./", "Filename: ")
    (target_dir / "Packages").write_text(index)
    (target_dir / "Packages.gz").write_bytes(gzip.compress(index.encode(), 9, mtime=0))


def _write_release(directory: Path, signer: Signer, fields: dict[str, str]) -> None:
    options = []
    for key, value in {"Origin": ORIGIN, "Label": ORIGIN, **fields}.items():
        options += ["-o", f"APT::FTPArchive::Release::{key}={value}"]
    release = run(["apt-ftparchive", *options, "release", "."], cwd=directory, limit=120)
    (directory / "Release").write_text(release)
    signing.sign_file(signer, directory / "Release", directory / "InRelease")
    signing.sign(signer, directory / "Release").rename(directory / "Release.gpg")


def _digest_inputs(debs: list[BuiltPart], signer: Signer, name: str) -> str:
    return digest(name, [built_part.contents for built_part in debs], signer.fingerprint, Path(__file__))
