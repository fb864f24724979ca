"""Tell which files of a bundle's directory a build owns: those of a list that this user's mirror key signed.

A build signs the list of all files that it is about to write before it writes the first one, so that an interrupted
build owns what it wrote. The list is removed when the manifest is complete.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpustack.bundle import manifest
from gpustack.bundle.manifest import hash_file
from gpustack.command import Command
from gpustack.errors import BundleError
from gpustack.files.json_text import dump_json, parse_json
from gpustack.files.write import PART, write_file
from gpustack_lab.bundle import signing
from gpustack_lab.bundle.signing import Signer

BUILDING = "building.asc"
RECORDS = {manifest.FILE, manifest.SIGNATURE, BUILDING}
LIST_LIMIT = 10


@dataclass(frozen=True)
class OwnedFiles:
    """Hold the digests of the files that builds wrote, or were about to write, by path below the directory."""

    files: Mapping[str, frozenset[str]]

    def holds(self, directory: Path, path: str) -> bool:
        """Tell whether a regular file is there with the content that a build gave it."""
        file = directory / path
        return not file.is_symlink() and file.is_file() and hash_file(file) in self.files.get(path, ())


def find_owned_files(directory: Path) -> OwnedFiles:
    """Find what this user's builds wrote there. Return nothing without a record that this user's key signed."""
    digests_by_path: dict[str, set[str]] = {}
    for path, digest in [*read_manifest(directory), *read_building(directory)]:
        digests_by_path.setdefault(path, set()).add(digest)
    return OwnedFiles({path: frozenset(digests) for path, digests in digests_by_path.items()})


def read_manifest(directory: Path) -> list[tuple[str, str]]:
    """Read the files of the manifest, of any schema, that this user's key signed."""
    if not signing.is_own(directory / manifest.SIGNATURE, directory / manifest.FILE):
        return []
    try:
        recorded_files = manifest.read_digests(directory)
    except (OSError, ValueError):
        return []
    return [*recorded_files, (manifest.FILE, ""), (manifest.SIGNATURE, "")]


def read_building(directory: Path) -> list[tuple[str, str]]:
    """Read what an interrupted build was about to write, and the parts of files that it left."""
    text = signing.read_own(directory / BUILDING)
    if text is None:
        return []
    try:
        recorded_digests = parse_json(text)["files"].items()
        recorded_files = [(str(path), str(digest)) for path, digests in recorded_digests for digest in digests]
    except (ValueError, LookupError, TypeError, AttributeError):
        return []
    parts = [path for path in list_files(directory) if PART.fullmatch(Path(path).name)]
    unfinished_files = [(path, hash_file(directory / path)) for path in parts if not (directory / path).is_symlink()]
    return [*recorded_files, *unfinished_files, *((name, "") for name in RECORDS)]


def list_files(directory: Path) -> list[str]:
    """List everything but folders; links to folders are listed as well."""
    paths = (path for path in directory.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(str(path.relative_to(directory)) for path in paths)


def refuse_foreign_files(directory: Path, owned_files: OwnedFiles) -> None:
    """Raise BundleError for a directory with a file that no build of this user wrote. Empty folders are accepted."""
    foreign_paths = [path for path in list_files(directory) if path not in owned_files.files]
    if foreign_paths:
        remainder = f"\nand {len(foreign_paths) - LIST_LIMIT} more" if len(foreign_paths) > LIST_LIMIT else ""
        raise BundleError(
            "bundle-directory-used",
            f"{directory} holds {len(foreign_paths)} file(s) that are not of a bundle of yours; nothing was changed.",
            "\n".join(foreign_paths[:LIST_LIMIT]) + remainder,
            Command("gpustack", "bundle", "build", "EMPTY_DIRECTORY"),
        )


def record_building(
    directory: Path, owned_files: OwnedFiles, expected_files: Mapping[str, str], signer: Signer
) -> None:
    """Sign the list of the present and the expected files, before anything is written."""
    files = {path: sorted(digests - {""}) for path, digests in owned_files.files.items() if path not in RECORDS}
    for path, digest in expected_files.items():
        files[path] = sorted({*files.get(path, ()), digest})
    text = dump_json({"files": files}, indent=1, sort_keys=True)
    write_file(directory / BUILDING, signing.sign_text(signer, text), readers="umask")


def forget_building(directory: Path) -> None:
    (directory / BUILDING).unlink(missing_ok=True)


def remove_former_files(directory: Path, owned_files: OwnedFiles, expected_files: Mapping[str, str]) -> list[str]:
    """Remove the files of earlier builds that the new bundle has not, and return those that stay because somebody
    changed them. A folder is removed with its last file."""
    changed_files = []
    for path in sorted(owned_files.files.keys() - expected_files.keys() - RECORDS):
        file = directory / path
        if not file.exists() and not file.is_symlink():
            continue
        if not owned_files.holds(directory, path):
            changed_files.append(path)
            continue
        file.unlink()
        for folder in file.parents:
            if folder == directory or any(folder.iterdir()):
                break
            folder.rmdir()
    return changed_files
