"""The file manifest.yaml: the content of a bundle, file by file. Its signature is manifest.yaml.asc."""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from gpustack.files.document import YAML_TEXT_LIMIT
from gpustack.files.read import read_text
from gpustack.files.yaml_text import parse_yaml

FILE = "manifest.yaml"
SIGNATURE = "manifest.yaml.asc"
KEY = "mirror-key.asc"
SCHEMA = 3


@dataclass(frozen=True)
class Entry:
    """Describe one file: `path` below the bundle, `size` in bytes, `origin` as a Go module, `debian` or `gpustack`."""

    path: str
    sha256: str
    size: int
    name: str
    version: str
    origin: str
    licence: str
    note: str = ""


@dataclass(frozen=True)
class Image:
    """Describe one image. `digest` is of its manifest; `differs` says how it is not as its vendor's."""

    reference: str
    digest: str
    differs: str


@dataclass(frozen=True)
class Manifest:
    """Describe a bundle. `simulated` tells whether simulated software is in it; `fingerprint` is of the key that signs
    it; `created_at` is UTC; `debian` are the packages inside images."""

    set: str
    source: str
    simulated: bool
    architecture: str
    kubernetes: tuple[str, ...]
    created_at: str
    fingerprint: str
    images: tuple[Image, ...]
    debian: tuple[dict[str, str], ...]
    files: tuple[Entry, ...]


def hash_file(path: Path) -> str:
    """Compute the sha256 of a file, as an entry has it."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def dump(manifest: Manifest) -> str:
    document: dict[str, Any] = {"schema": SCHEMA, **asdict(manifest)}
    document["kubernetes"] = list(manifest.kubernetes)
    document["images"] = [asdict(image) for image in manifest.images]
    document["debian"] = list(manifest.debian)
    document["files"] = [
        {key: value for key, value in asdict(entry).items() if value != ""} for entry in manifest.files
    ]
    return yaml.safe_dump(document, sort_keys=False, width=120)


def load(directory: Path) -> Manifest:
    """Read the manifest of a bundle. Raise FileNotFoundError, and ValueError for a file that is no manifest of this
    schema."""
    document = read_document(directory)
    if (schema := document.pop("schema")) != SCHEMA:
        raise ValueError(f"it has schema {schema}, and this gpustack reads schema {SCHEMA}: build the bundle again")
    try:
        return Manifest(
            **{
                **document,
                "kubernetes": tuple(document["kubernetes"]),
                "images": tuple(Image(**image) for image in document["images"]),
                "debian": tuple(document["debian"]),
                "files": tuple(Entry(**entry) for entry in document["files"]),
            }
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a bundle manifest: {error}") from error


def read_digests(directory: Path) -> list[tuple[str, str]]:
    """Read the path and the sha256 of each file, which manifests of all schemas have. Raise OSError and ValueError."""
    try:
        return [(str(entry["path"]), str(entry["sha256"])) for entry in read_document(directory)["files"]]
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a bundle manifest: {error}") from error


def read_document(directory: Path) -> dict[str, Any]:
    """Read a manifest of any schema. Raise FileNotFoundError and ValueError."""
    document = parse_yaml(read_text(directory / FILE, YAML_TEXT_LIMIT))
    if not isinstance(document, dict) or not isinstance(document.get("schema"), int):
        raise ValueError("not a bundle manifest: it has no schema")
    return document
