"""The bundle directory: brought to what was composed, file by file. What no build wrote is not touched."""

import dataclasses
import hashlib
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from gpustack.bundle import manifest, oci, ownership, verify
from gpustack.bundle.cache import sha256
from gpustack.bundle.compose import Composed, Placed
from gpustack.bundle.keys import Signer
from gpustack.bundle.manifest import Entry, Manifest
from gpustack.command import Command
from gpustack.errors import BundleError
from gpustack.files.write import write_file

CHUNK = 2**20


def prepare(directory: Path) -> None:
    """Refuse a directory with files that no build of this user wrote, before anything is compiled."""
    if directory.exists():
        ownership.refuse_foreign(directory, ownership.find_owned(directory))


def write(directory: Path, composed: Composed, key: str, described: Manifest, signer: Signer) -> Manifest | None:
    """Bring the files in and take those out that earlier builds wrote. Return the manifest to write, or None if the one
    there is still true. Raise BundleError for files of others, which stay."""
    directory.mkdir(parents=True, exist_ok=True)
    owned = ownership.find_owned(directory)
    ownership.refuse_foreign(directory, owned)
    texts = {**_make_layout(composed), manifest.KEY: key.encode()}
    wanted = {placed.path: placed.sha256 for placed in composed.files}
    wanted |= {path: hashlib.sha256(text).hexdigest() for path, text in texts.items()}
    if not is_complete(directory, owned, wanted):
        ownership.record_building(directory, owned, wanted, signer)
    entries = [_put(directory, placed, owned) for placed in composed.files]
    for path, text in texts.items():
        name = "mirror key" if path == manifest.KEY else "image layout"
        _write_own(directory, path, wanted[path], owned, (text,))
        entries.append(Entry(path, wanted[path], len(text), name, described.set, "gpustack", "Apache-2.0"))
    described = dataclasses.replace(described, files=tuple(sorted(entries, key=lambda entry: entry.path)))
    _refuse_left(directory, ownership.remove_former(directory, owned, wanted))
    try:
        there = manifest.load(directory)
        verify.fingerprint(directory)
        if dataclasses.replace(there, made="") == described:
            return None
    except (FileNotFoundError, ValueError, BundleError):
        pass  # no manifest, or not a good one: it is written anew
    return dataclasses.replace(described, made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def _make_layout(composed: Composed) -> dict[str, bytes]:
    """Return the texts that make a folder of images an OCI layout, by path below the bundle."""
    with tempfile.TemporaryDirectory(prefix="gpustack-") as scratch:
        oci.layout(composed.images, Path(scratch))
        return {f"images/{path.name}": path.read_bytes() for path in sorted(Path(scratch).iterdir())}


def is_complete(directory: Path, owned: ownership.Owned, wanted: dict[str, str]) -> bool:
    """Say whether a signed manifest lists all that is wanted, and nothing else: then nothing will be written."""
    listed = {path: digests for path, digests in owned.files.items() if path not in ownership.RECORDS}
    same = listed == {path: frozenset({digest}) for path, digest in wanted.items()}
    return same and all(owned.holds(directory, path) for path in wanted)


def _put(directory: Path, placed: Placed, owned: ownership.Owned) -> Entry:
    """Copied, not linked: who changes a bundle must not change the cache."""
    if sha256(placed.source) != placed.sha256:
        raise BundleError(
            "bundle-cache-damaged",
            "a file in the cache is not what was built",
            str(placed.source),
            Command("rm", "-r", str(placed.source.parents[1])),
        )
    target = _write_own(directory, placed.path, placed.sha256, owned, _read(placed.source))
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


def _read(source: Path) -> Iterator[bytes]:
    with source.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _write_own(
    directory: Path, path: str, digest: str, owned: ownership.Owned, content: Iterator[bytes] | tuple[bytes, ...]
) -> Path:
    """Write a file where it differs. Raise BundleError for one that another put there meanwhile."""
    target = directory / path
    if not target.is_symlink() and target.is_file() and sha256(target) == digest:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_file(target, content, readers="umask", new=path not in owned.files)
    except OSError as error:
        raise _foreign(directory, f"{path}: {error.strerror or error}") from error
    return target


def _refuse_left(directory: Path, left: list[str]) -> None:
    if left:
        raise _foreign(directory, "\n".join(f"{path}: changed since a build wrote it" for path in left))


def _foreign(directory: Path, why: str) -> BundleError:
    message = f"{directory} holds what a build did not write; it stays as it is."
    return BundleError("bundle-directory-used", message, why, Command("ls", "-la", str(directory)))
