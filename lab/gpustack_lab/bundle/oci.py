"""OCI images and image layouts, built from files, byte for byte the same for the same files."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gpustack.bundle.layout import NAME

TMP = "/tmp"  # noqa: S108 - of the image
CREATED = "2026-11-01T00:00:00Z"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
INDEX = "application/vnd.oci.image.index.v1+json"
CONTAINERD_NAME = "io.containerd.image.name"


@dataclass(frozen=True)
class Link:
    target: str


@dataclass(frozen=True)
class Layer:
    """Describe a layer: `digest` is of the compressed blob, `diff_id` of the tar inside."""

    digest: str
    diff_id: str
    size: int


def write_layer(files: Mapping[str, Path | bytes | Link], blobs: Path) -> Layer:
    """Write one layer into `blobs`. Keys are absolute paths; a Path becomes an executable file, bytes a plain one
    unless they are a script."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for directory in sorted(
            {str(parent) for path in files for parent in PurePosixPath(path).parents} - {"/"} - set(files)
        ):
            entry = tarfile.TarInfo(directory.lstrip("/"))
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if directory == TMP else 0o755
            tar.addfile(entry)
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(path.lstrip("/"))
            if isinstance(content, Link):
                entry.type, entry.linkname = tarfile.SYMTYPE, content.target
                tar.addfile(entry)
                continue
            data = content if isinstance(content, bytes) else content.read_bytes()
            plain = isinstance(content, bytes) and not content.startswith(b"#!")
            entry.size, entry.mode = len(data), 0o644 if plain else 0o755
            tar.addfile(entry, io.BytesIO(data))
    tarball = raw.getvalue()
    packed = gzip.compress(tarball, 2, mtime=0)
    return Layer(_write_blob(packed, blobs), _compute_digest(tarball), len(packed))


def write_image(layers: list[Layer], config: Mapping[str, Any], architecture: str, blobs: Path) -> dict[str, Any]:
    """Write config and manifest into `blobs`, and return the manifest's descriptor."""
    configuration = _encode_json(
        {
            "architecture": architecture,
            "os": "linux",
            "created": CREATED,
            "config": dict(config),
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        }
    )
    manifest = _encode_json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "digest": _write_blob(configuration, blobs), "size": len(configuration)},
            "layers": [{"mediaType": LAYER, "digest": layer.digest, "size": layer.size} for layer in layers],
        }
    )
    platform = {"architecture": architecture, "os": "linux"}
    return {"mediaType": MANIFEST, "digest": _write_blob(manifest, blobs), "size": len(manifest), "platform": platform}


def write_layout(images: Mapping[str, Mapping[str, Any]], directory: Path) -> None:
    """Write oci-layout and index.json for manifest descriptors by full reference."""
    manifests = [
        {**descriptor, "annotations": {NAME: reference, CONTAINERD_NAME: reference}}
        for reference, descriptor in sorted(images.items())
    ]
    (directory / "oci-layout").write_bytes(_encode_json({"imageLayoutVersion": "1.0.0"}))
    (directory / "index.json").write_bytes(
        _encode_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests})
    )


def _encode_json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _compute_digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _write_blob(data: bytes, blobs: Path) -> str:
    digest = _compute_digest(data)
    path = blobs / digest.removeprefix("sha256:")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return digest
