"""manifest.yaml: what a bundle holds, file by file, and its signature manifest.yaml.asc."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from gpustack.files.document import YAML_TEXT
from gpustack.files.read import read_text
from gpustack.files.yaml_text import parse_yaml

FILE = "manifest.yaml"
SIGNATURE = "manifest.yaml.asc"
KEY = "mirror-key.asc"
SCHEMA = 1


@dataclass(frozen=True)
class Entry:
    """One file: `path` below the bundle, `size` in bytes, `origin` a Go module, `debian` or `gpustack`."""

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
    """`digest` is of the image's manifest; `differs` says how it is not as its vendor's."""

    reference: str
    digest: str
    differs: str


@dataclass(frozen=True)
class Manifest:
    """`fingerprint` is of the key that signs; `made` is UTC; `debian` are the packages that images hold."""

    set: str
    source: str
    purpose: str
    architecture: str
    kubernetes: tuple[str, ...]
    made: str
    fingerprint: str
    images: tuple[Image, ...]
    debian: tuple[dict[str, str], ...]
    files: tuple[Entry, ...]


def dump(manifest: Manifest) -> str:
    raw: dict[str, Any] = {"schema": SCHEMA, **asdict(manifest)}
    raw["kubernetes"] = list(manifest.kubernetes)
    raw["images"] = [asdict(image) for image in manifest.images]
    raw["debian"] = list(manifest.debian)
    raw["files"] = [{key: value for key, value in asdict(entry).items() if value != ""} for entry in manifest.files]
    return yaml.safe_dump(raw, sort_keys=False, width=120)


def load(directory: Path) -> Manifest:
    """Raises FileNotFoundError, and ValueError for a file that is no manifest of ours."""
    raw = parse_yaml(read_text(directory / FILE, YAML_TEXT))
    if not isinstance(raw, dict) or raw.pop("schema", None) != SCHEMA:
        raise ValueError(f"not a bundle manifest of schema {SCHEMA}")
    try:
        return Manifest(
            **{
                **raw,
                "kubernetes": tuple(raw["kubernetes"]),
                "images": tuple(Image(**image) for image in raw["images"]),
                "debian": tuple(raw["debian"]),
                "files": tuple(Entry(**entry) for entry in raw["files"]),
            }
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a bundle manifest: {error}") from error
