"""`gpustack bundle build`: everything one version set needs, in one directory, signed."""

import dataclasses
import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from gpustack.bundle import keys, manifest, oci, official, verify
from gpustack.bundle.apt import Signer
from gpustack.bundle.cache import Cache, sha256
from gpustack.bundle.compose import Composed, Composer, Placed
from gpustack.bundle.images import PURPOSE
from gpustack.bundle.manifest import Entry, Manifest
from gpustack.bundle.programs import PACKAGES, need, run
from gpustack.bundle.versions import Versions, load
from gpustack.errors import BundleError
from gpustack.events import Event, Reporter, silent

SOURCES = ("modules", "official")


def build(
    directory: Path, *, source: str = "modules", kubernetes: tuple[str, ...] = (), report: Reporter = silent
) -> Manifest:
    """Makes or completes the bundle in `directory`; files of it that are right stay as they are.

    `kubernetes` are versions like `1.36.4`, instead of the version set's own. Compiling takes about 13 minutes the first
    time on two cores; a build with nothing new takes seconds. Raises BundleError.
    """
    if source == "official":
        raise official.refuse()
    if source not in SOURCES:
        raise BundleError("bundle-source-unknown", f"unknown source {source}", f"known: {', '.join(SOURCES)}", "gpustack bundle build --help")
    begin = time.monotonic()
    need(*PACKAGES)
    _own_directory(directory)
    versions = load()
    wanted = kubernetes or (versions["kubernetes"],)
    architecture = run(["dpkg", "--print-architecture"], limit=20).strip()
    cache = Cache(platformdirs.user_cache_path("gpustack") / "parts")
    with cache.held(report), keys.signing(keys.home()) as home:
        fingerprint = keys.own_fingerprint(home)
        assert fingerprint is not None  # signing() made it
        composed = Composer(cache, versions, architecture, Signer(home, fingerprint), report).compose(wanted)
        written = _write(directory, composed, keys.public(home), versions, _describe(source, wanted, architecture, fingerprint, versions, composed))
        if written is not None:
            (directory / manifest.FILE).write_text(manifest.dump(written))
            keys.sign(home, directory / manifest.FILE)
    report(Event("done", "bundle", str(directory), time.monotonic() - begin))
    return verify.verify(directory, fingerprint=fingerprint)


def fingerprint(directory: Path) -> str:
    """Of the key that signed the bundle: what an inventory says in `source: {mirror: …, fingerprint: …}`."""
    return verify.signed_by(directory)


def _describe(
    source: str, kubernetes: tuple[str, ...], architecture: str, fingerprint: str, versions: Versions, composed: Composed
) -> Manifest:
    debian = tuple(dataclasses.asdict(package) for package in composed.debian)
    return Manifest(
        versions.set, source, PURPOSE, architecture, kubernetes, "", fingerprint, tuple(composed.labels), debian, ()
    )


def _write(directory: Path, composed: Composed, key: str, versions: Versions, described: Manifest) -> Manifest | None:
    """Brings the files into the directory and takes others out; the manifest to write, or None if the one there is it."""
    entries = [_put(directory, placed) for placed in composed.files]
    images = directory / "images"
    oci.layout(composed.images, images)
    (directory / manifest.KEY).write_text(key)
    for path, name in (("images/oci-layout", "image layout"), ("images/index.json", "image layout"), (manifest.KEY, "mirror key")):
        file = directory / path
        entries.append(Entry(path, sha256(file), file.stat().st_size, name, versions.set, "gpustack", "Apache-2.0"))
    described = dataclasses.replace(described, files=tuple(sorted(entries, key=lambda entry: entry.path)))
    _remove_others(directory, described)
    try:
        there = manifest.load(directory)
        verify.signed_by(directory)
        if dataclasses.replace(there, made="") == described:
            return None
    except (FileNotFoundError, ValueError, BundleError):
        pass  # no manifest, or not a good one: it is written anew
    return dataclasses.replace(described, made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def _put(directory: Path, placed: Placed) -> Entry:
    """Copied, not linked: who changes a bundle must not change the cache."""
    target = directory / placed.path
    if target.is_symlink() or not target.is_file() or sha256(target) != placed.sha256:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(target.name + ".new")
        shutil.copy(placed.source, fresh)
        if sha256(fresh) != placed.sha256:
            raise BundleError("bundle-cache-damaged", "a file in the cache is not what was built", str(placed.source), f"rm -r {placed.source.parents[1]}")
        os.replace(fresh, target)
    return Entry(
        placed.path, placed.sha256, target.stat().st_size, placed.name, placed.version, placed.origin, placed.licence, placed.note
    )


def _remove_others(directory: Path, described: Manifest) -> None:
    keep = {entry.path for entry in described.files} | verify.NOT_LISTED
    for path in sorted(directory.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif str(path.relative_to(directory)) not in keep:
            path.unlink()


def _own_directory(directory: Path) -> None:
    """A bundle directory is swept of all that is not the bundle's: refuse one that holds anything else."""
    if directory.exists() and any(directory.iterdir()):
        known = {"files", "images", "bin", *verify.NOT_LISTED, manifest.KEY}
        strange = sorted(path.name for path in directory.iterdir() if path.name not in known)
        if strange:
            raise BundleError(
                "bundle-directory-used", f"{directory} holds things that are not of a bundle", ", ".join(strange[:10]),
                "gpustack bundle build EMPTY_DIRECTORY",
            )  # fmt: skip
    (directory / "images").mkdir(parents=True, exist_ok=True)
