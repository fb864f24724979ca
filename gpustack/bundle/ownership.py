"""Tell which files of a bundle's directory a build owns: those of a list that this user's mirror key signed.

A build signs the list of all files that it is about to write before it writes the first one, so that an interrupted
build owns what it wrote. The list goes when the manifest stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpustack.bundle import keys, manifest
from gpustack.bundle.cache import sha256
from gpustack.bundle.keys import Signer
from gpustack.command import Command
from gpustack.errors import BundleError
from gpustack.files.json_text import dump_json, parse_json
from gpustack.files.write import PART, write_file

BUILDING = "building.asc"
RECORDS = {manifest.FILE, manifest.SIGNATURE, BUILDING}
SHOWN = 10


@dataclass(frozen=True)
class Owned:
    """Digests of the files that builds wrote, or were about to write, by path below the directory."""

    files: Mapping[str, frozenset[str]]

    def holds(self, directory: Path, path: str) -> bool:
        """Say whether a regular file is there with the content that a build gave it."""
        file = directory / path
        return not file.is_symlink() and file.is_file() and sha256(file) in self.files.get(path, ())


def find_owned(directory: Path) -> Owned:
    """Return what this user's builds wrote there; nothing without a record that this user's key signed."""
    found: dict[str, set[str]] = {}
    for path, digest in [*read_manifest(directory), *read_building(directory)]:
        found.setdefault(path, set()).add(digest)
    return Owned({path: frozenset(digests) for path, digests in found.items()})


def read_manifest(directory: Path) -> list[tuple[str, str]]:
    if not keys.is_own(directory / manifest.SIGNATURE, directory / manifest.FILE):
        return []
    try:
        listed = [(entry.path, entry.sha256) for entry in manifest.load(directory).files]
    except (OSError, ValueError):
        return []
    return [*listed, (manifest.FILE, ""), (manifest.SIGNATURE, "")]


def read_building(directory: Path) -> list[tuple[str, str]]:
    """Return what an interrupted build was about to write, and the parts of files that it left."""
    text = keys.read_own(directory / BUILDING)
    if text is None:
        return []
    try:
        listed = parse_json(text)["files"].items()
        found = [(str(path), str(digest)) for path, digests in listed for digest in digests]
    except (ValueError, LookupError, TypeError, AttributeError):
        return []
    parts = [path for path in list_files(directory) if PART.fullmatch(Path(path).name)]
    left = [(path, sha256(directory / path)) for path in parts if not (directory / path).is_symlink()]
    return [*found, *left, *((name, "") for name in RECORDS)]


def list_files(directory: Path) -> list[str]:
    """Return all that is no folder, links to folders among it."""
    found = (path for path in directory.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(str(path.relative_to(directory)) for path in found)


def refuse_foreign(directory: Path, owned: Owned) -> None:
    """Raise BundleError for a directory with a file that no build of this user wrote. Empty folders are nobody's."""
    foreign = [path for path in list_files(directory) if path not in owned.files]
    if foreign:
        more = f"\nand {len(foreign) - SHOWN} more" if len(foreign) > SHOWN else ""
        raise BundleError(
            "bundle-directory-used",
            f"{directory} holds {len(foreign)} file(s) that are not of a bundle of yours; nothing was changed.",
            "\n".join(foreign[:SHOWN]) + more,
            Command("gpustack", "bundle", "build", "EMPTY_DIRECTORY"),
        )


def record_building(directory: Path, owned: Owned, wanted: Mapping[str, str], signer: Signer) -> None:
    """Sign the list of what is there and of what will be, before anything is written."""
    files = {path: sorted(digests - {""}) for path, digests in owned.files.items() if path not in RECORDS}
    for path, digest in wanted.items():
        files[path] = sorted({*files.get(path, ()), digest})
    text = dump_json({"files": files}, indent=1, sort_keys=True)
    write_file(directory / BUILDING, keys.sign_text(signer, text), readers="umask")


def forget_building(directory: Path) -> None:
    (directory / BUILDING).unlink(missing_ok=True)


def remove_former(directory: Path, owned: Owned, wanted: Mapping[str, str]) -> list[str]:
    """Remove what builds wrote and the new bundle has not, and return what stays because somebody changed it. A folder
    goes with its last file."""
    left = []
    for path in sorted(owned.files.keys() - wanted.keys() - RECORDS):
        file = directory / path
        if not file.exists() and not file.is_symlink():
            continue
        if not owned.holds(directory, path):
            left.append(path)
            continue
        file.unlink()
        for folder in file.parents:
            if folder == directory or any(folder.iterdir()):
                break
            folder.rmdir()
    return left
