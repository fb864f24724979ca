"""An OCI image layout in the shape that CNCF distribution keeps on disk, built of links into the bundle."""

import hashlib
import shutil
import tempfile
from pathlib import Path

import platformdirs

from gpustack.bundle import layout, manifest


def prepare_storage(directory: Path) -> Path:
    """Prepare the storage of a bundle, and return its directory."""
    images = (directory / "images").resolve()
    root = platformdirs.user_cache_path("gpustack") / "served"
    root.mkdir(parents=True, exist_ok=True)
    inputs = f"{images} {manifest.hash_file(directory / manifest.FILE)}"
    place = root / hashlib.sha256(inputs.encode()).hexdigest()[:32]
    if place.is_dir():
        return place
    scratch = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
    v2 = scratch / "docker" / "registry" / "v2"
    for blob in (images / "blobs" / "sha256").iterdir():
        target = v2 / "blobs" / "sha256" / blob.name[:2] / blob.name / "data"
        target.parent.mkdir(parents=True)
        target.symlink_to(blob)
    for reference, descriptor in layout.read_descriptors(images).items():
        name, tag = reference.rsplit(":", 1)
        _link_repository(v2 / "repositories" / name, tag, str(descriptor["digest"]), images)
    try:
        scratch.rename(place)
    except OSError:  # another serve of the same bundle was quicker
        shutil.rmtree(scratch)
    return place


def _link_repository(repository: Path, tag: str, image_digest: str, images: Path) -> None:
    algorithm, value = image_digest.split(":")
    tag_directory = repository / "_manifests" / "tags" / tag
    revision_directory = repository / "_manifests" / "revisions" / algorithm / value
    for place in (revision_directory, tag_directory / "current", tag_directory / "index" / algorithm / value):
        _link(place, image_digest)
    for blob in layout.list_blob_digests(images, image_digest):
        _link(repository / "_layers" / "sha256" / blob.removeprefix("sha256:"), blob)


def _link(place: Path, blob_digest: str) -> None:
    place.mkdir(parents=True, exist_ok=True)
    (place / "link").write_text(blob_digest)
