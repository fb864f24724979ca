"""Signed apt repositories in the shapes of the official ones: pkgs.k8s.io (flat) and download.docker.com (dists)."""

import gzip
import shutil
from pathlib import Path

from gpustack.bundle import keys
from gpustack.bundle.cache import Made, Part, digest
from gpustack.bundle.keys import Signer
from gpustack.bundle.programs import run

ORIGIN = "gpustack bundle mirror"
KEY = "Release.key"  # of a flat repository


def flat(name: str, debs: list[Made], signer: Signer) -> Part:
    """out/: Packages, InRelease, Release.key, and <architecture>/*.deb, as under https://pkgs.k8s.io/core:/stable:/v1.36/deb/."""
    return Part(name, _inputs(debs, signer, name), lambda out: _flat(debs, signer, out))


def _flat(debs: list[Made], signer: Signer, out: Path) -> None:
    for made in debs:
        for deb in made.files:
            architecture = deb.rsplit("_", 1)[1].removesuffix(".deb")
            (out / architecture).mkdir(exist_ok=True)
            shutil.copyfile(made[deb], out / architecture / deb)
    _packages(out, ".", out)
    _release(out, signer, {})
    (out / KEY).write_text(keys.public(signer))


def dists(name: str, codenames: dict[str, list[Made]], architecture: str, signer: Signer) -> Part:
    """out/: gpg and dists/<codename>/…, as under https://download.docker.com/linux/debian/. Component `stable`."""
    inputs = digest(*(_inputs(debs, signer, codename) for codename, debs in codenames.items()), architecture)
    return Part(name, inputs, lambda out: _dists(codenames, architecture, signer, out))


def _dists(codenames: dict[str, list[Made]], architecture: str, signer: Signer, out: Path) -> None:
    for codename, debs in codenames.items():
        suite = out / "dists" / codename
        pool = suite / "pool" / "stable" / architecture
        binaries = suite / "stable" / f"binary-{architecture}"
        for directory in (pool, binaries):
            directory.mkdir(parents=True)
        for made in debs:
            for deb in made.files:
                shutil.copyfile(made[deb], pool / deb)
        _packages(out, str(pool.relative_to(out)), binaries)
        _release(
            suite,
            signer,
            {
                "Suite": codename,
                "Codename": codename,
                "Components": "stable",
                "Architectures": architecture,
            },
        )
    (out / "gpg").write_text(keys.public(signer))


def _packages(root: Path, below: str, into: Path) -> None:
    index = run(["apt-ftparchive", "packages", below], cwd=root, limit=300).replace("Filename: ./", "Filename: ")
    (into / "Packages").write_text(index)
    (into / "Packages.gz").write_bytes(gzip.compress(index.encode(), 9, mtime=0))


def _release(directory: Path, signer: Signer, fields: dict[str, str]) -> None:
    options = []
    for key, value in {"Origin": ORIGIN, "Label": ORIGIN, **fields}.items():
        options += ["-o", f"APT::FTPArchive::Release::{key}={value}"]
    release = run(["apt-ftparchive", *options, "release", "."], cwd=directory, limit=120)
    (directory / "Release").write_text(release)
    keys.clearsign(signer, directory / "Release", directory / "InRelease")
    keys.sign(signer, directory / "Release").rename(directory / "Release.gpg")


def _inputs(debs: list[Made], signer: Signer, name: str) -> str:
    return digest(name, [made.contents for made in debs], signer.fingerprint, Path(__file__))
