"""The bundle directory: brought to what was composed, file by file, and nothing else left in it."""

import dataclasses
import shutil
from datetime import UTC, datetime
from pathlib import Path

from gpustack.bundle import manifest, oci, verify
from gpustack.bundle.cache import sha256
from gpustack.bundle.compose import Composed, Placed
from gpustack.bundle.manifest import Entry, Manifest
from gpustack.command import Command
from gpustack.errors import BundleError


def write(directory: Path, composed: Composed, key: str, described: Manifest) -> Manifest | None:
    """Brings the files in and takes others out. The manifest to write, or None if the one there is still true."""
    entries = [_put(directory, placed) for placed in composed.files]
    images = directory / "images"
    oci.layout(composed.images, images)
    (directory / manifest.KEY).write_text(key)
    for path, name in (
        ("images/oci-layout", "image layout"),
        ("images/index.json", "image layout"),
        (manifest.KEY, "mirror key"),
    ):
        file = directory / path
        entries.append(Entry(path, sha256(file), file.stat().st_size, name, described.set, "gpustack", "Apache-2.0"))
    described = dataclasses.replace(described, files=tuple(sorted(entries, key=lambda entry: entry.path)))
    _remove_others(directory, described)
    try:
        there = manifest.load(directory)
        verify.fingerprint(directory)
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
            raise BundleError(
                "bundle-cache-damaged",
                "a file in the cache is not what was built",
                str(placed.source),
                Command("rm", "-r", str(placed.source.parents[1])),
            )
        fresh.replace(target)
    target.chmod(placed.source.stat().st_mode)
    return Entry(
        placed.path,
        placed.sha256,
        target.stat().st_size,
        placed.name,
        placed.version,
        placed.origin,
        placed.licence,
        placed.note,
    )


def _remove_others(directory: Path, described: Manifest) -> None:
    keep = {entry.path for entry in described.files} | verify.NOT_LISTED
    for path in sorted(directory.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif str(path.relative_to(directory)) not in keep:
            path.unlink()


def prepare(directory: Path) -> None:
    """A bundle directory is swept of all that is not the bundle's: refuse one that holds anything else."""
    if directory.exists() and any(directory.iterdir()):
        known = {"files", "images", "bin", *verify.NOT_LISTED, manifest.KEY}
        strange = sorted(path.name for path in directory.iterdir() if path.name not in known)
        if strange:
            raise BundleError(
                "bundle-directory-used",
                f"{directory} holds things that are not of a bundle",
                ", ".join(strange[:10]),
                Command("gpustack", "bundle", "build", "EMPTY_DIRECTORY"),
            )
    (directory / "images").mkdir(parents=True, exist_ok=True)
