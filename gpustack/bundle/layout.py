"""The OCI image layout of a bundle, as its reader sees it."""

from pathlib import Path
from typing import Any

from gpustack.files.json_text import parse_json
from gpustack.files.read import read_file

NAME = "org.opencontainers.image.ref.name"


def read_descriptors(directory: Path) -> dict[str, dict[str, Any]]:
    """Read the manifest descriptors of a layout by full reference."""
    index = parse_json(read_file(directory / "index.json"))
    return {entry["annotations"][NAME]: entry for entry in index["manifests"]}


def list_blob_digests(directory: Path, digest: str) -> list[str]:
    """List the digests of config and layers of the image whose manifest has this digest."""
    manifest = parse_json(read_file(locate_blob(directory, digest)))
    return [manifest["config"]["digest"], *(layer["digest"] for layer in manifest["layers"])]


def locate_blob(directory: Path, digest: str) -> Path:
    algorithm, _, value = digest.partition(":")
    return directory / "blobs" / algorithm / value
