"""The directory of a bundle, brought to the composition file by file. Files that no build wrote stay."""

import dataclasses
import hashlib
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from gpustack.bundle import manifest, verify
from gpustack.bundle.manifest import Entry, Manifest, hash_file
from gpustack.command import Command
from gpustack.errors import BundleError
from gpustack.files.write import write_file
from gpustack_lab.bundle import oci, ownership
from gpustack_lab.bundle.compose import Composition, PlacedFile
from gpustack_lab.bundle.signing import Signer

CHUNK = 2**20


def prepare(directory: Path) -> None:
    """Refuse a directory with files that no build of this user wrote, before anything is compiled."""
    if directory.exists():
        ownership.refuse_foreign_files(directory, ownership.find_owned_files(directory))


def write(directory: Path, composition: Composition, key: str, draft: Manifest, signer: Signer) -> Manifest | None:
    """Write the files of a composition, and remove those of earlier builds that it has not. Return the manifest to
    write, or None if the present one is still true. Raise BundleError for files of others, which stay."""
    directory.mkdir(parents=True, exist_ok=True)
    owned_files = ownership.find_owned_files(directory)
    ownership.refuse_foreign_files(directory, owned_files)
    texts = {**_make_layout(composition), manifest.KEY: key.encode()}
    expected_files = {placed_file.path: placed_file.sha256 for placed_file in composition.files}
    expected_files |= {path: hashlib.sha256(text).hexdigest() for path, text in texts.items()}
    if not is_complete(directory, owned_files, expected_files):
        ownership.record_building(directory, owned_files, expected_files, signer)
    entries = [_put_file(directory, placed_file, owned_files) for placed_file in composition.files]
    for path, text in texts.items():
        name = "mirror key" if path == manifest.KEY else "image layout"
        _write_own_file(directory, path, expected_files[path], owned_files, (text,))
        entries.append(Entry(path, expected_files[path], len(text), name, draft.set, "gpustack", "Apache-2.0"))
    draft = dataclasses.replace(draft, files=tuple(sorted(entries, key=lambda entry: entry.path)))
    _refuse_changed_files(directory, ownership.remove_former_files(directory, owned_files, expected_files))
    try:
        current_manifest = manifest.load(directory)
        verify.read_fingerprint(directory)
        if dataclasses.replace(current_manifest, created_at="") == draft:
            return None
    except (FileNotFoundError, ValueError, BundleError):
        pass  # no manifest, or not a good one: it is written anew
    return dataclasses.replace(draft, created_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def _make_layout(composition: Composition) -> dict[str, bytes]:
    """Return the texts that make a folder of images an OCI layout, by path below the bundle."""
    with tempfile.TemporaryDirectory(prefix="gpustack-") as scratch:
        oci.write_layout(composition.images, Path(scratch))
        return {f"images/{path.name}": path.read_bytes() for path in sorted(Path(scratch).iterdir())}


def is_complete(directory: Path, owned_files: ownership.OwnedFiles, expected_files: dict[str, str]) -> bool:
    """Tell whether a signed manifest lists all expected files and no others: then nothing is written."""
    recorded_digests = {path: digests for path, digests in owned_files.files.items() if path not in ownership.RECORDS}
    is_same = recorded_digests == {path: frozenset({digest}) for path, digest in expected_files.items()}
    return is_same and all(owned_files.holds(directory, path) for path in expected_files)


def _put_file(directory: Path, placed_file: PlacedFile, owned_files: ownership.OwnedFiles) -> Entry:
    """Copy a file into the bundle. It is no link, since a change of the bundle must not change the cache."""
    if hash_file(placed_file.source) != placed_file.sha256:
        raise BundleError(
            "bundle-cache-damaged",
            "a file in the cache is not what was built",
            str(placed_file.source),
            Command("rm", "-r", str(placed_file.source.parents[1])),
        )
    target = _write_own_file(directory, placed_file.path, placed_file.sha256, owned_files, _read(placed_file.source))
    target.chmod(placed_file.source.stat().st_mode)
    return Entry(
        placed_file.path,
        placed_file.sha256,
        target.stat().st_size,
        placed_file.name,
        placed_file.version,
        placed_file.origin,
        placed_file.licence,
        placed_file.note,
    )


def _read(source: Path) -> Iterator[bytes]:
    with source.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _write_own_file(
    directory: Path,
    path: str,
    digest: str,
    owned_files: ownership.OwnedFiles,
    content: Iterator[bytes] | tuple[bytes, ...],
) -> Path:
    """Write a file where it differs. Raise BundleError for one that another program put there meanwhile."""
    target = directory / path
    if not target.is_symlink() and target.is_file() and hash_file(target) == digest:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_file(target, content, readers="umask", new=path not in owned_files.files)
    except OSError as error:
        raise _build_foreign_error(directory, f"{path}: {error.strerror or error}") from error
    return target


def _refuse_changed_files(directory: Path, changed_files: list[str]) -> None:
    if changed_files:
        raise _build_foreign_error(
            directory, "\n".join(f"{path}: changed since a build wrote it" for path in changed_files)
        )


def _build_foreign_error(directory: Path, reason: str) -> BundleError:
    message = f"{directory} holds what a build did not write; it stays as it is."
    return BundleError("bundle-directory-used", message, reason, Command("ls", "-la", str(directory)))
