"""Image layouts: addressed by content, the same for the same files, and in the shape that the registry reads."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

from gpustack.bundle import layout
from gpustack.bundle.storage import prepare_storage
from gpustack.bundle.verify import verify
from gpustack_lab.bundle import oci


def hash_bytes(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def test_blobs_are_named_by_their_digest(shared_bundle: Path) -> None:
    blobs = list((shared_bundle / "images" / "blobs" / "sha256").iterdir())
    assert blobs
    assert all(hash_bytes(blob.read_bytes()) == f"sha256:{blob.name}" for blob in blobs)


def test_a_layout_leads_to_every_file_of_an_image(shared_bundle: Path) -> None:
    images = shared_bundle / "images"
    assert json.loads((images / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    descriptor = layout.read_descriptors(images)["registry.k8s.io/pause:3.10.2"]
    manifest = json.loads(layout.locate_blob(images, descriptor["digest"]).read_bytes())
    config = json.loads(layout.locate_blob(images, manifest["config"]["digest"]).read_bytes())
    (layer,) = manifest["layers"]
    packed_bytes = layout.locate_blob(images, layer["digest"]).read_bytes()
    assert (len(packed_bytes), config["rootfs"]["diff_ids"]) == (
        layer["size"],
        [hash_bytes(gzip.decompress(packed_bytes))],
    )
    assert config["config"]["Entrypoint"] == ["/pause"]
    with tarfile.open(fileobj=io.BytesIO(packed_bytes)) as tar:
        assert {entry.name: entry.mode for entry in tar} == {"pause": 0o755}


def test_labels_say_what_an_image_is_for(shared_bundle: Path) -> None:
    for reference, descriptor in layout.read_descriptors(shared_bundle / "images").items():
        manifest = json.loads(layout.locate_blob(shared_bundle / "images", descriptor["digest"]).read_bytes())
        config = json.loads(layout.locate_blob(shared_bundle / "images", manifest["config"]["digest"]).read_bytes())
        labels = config["config"]["Labels"]
        assert labels["gpustack.bundle.purpose"] == "for labs and tests, not for production", reference
        assert labels["gpustack.bundle.differs"], reference


def test_the_manifest_lists_the_images_of_the_layout(shared_bundle: Path) -> None:
    listed_digests = {image.reference: image.digest for image in verify(shared_bundle).images}
    assert listed_digests == {
        name: entry["digest"] for name, entry in layout.read_descriptors(shared_bundle / "images").items()
    }
    assert {
        "registry.k8s.io/etcd:3.6.8-0",
        "ghcr.io/flannel-io/flannel:v0.28.9",
        "docker.io/library/busybox:stable",
    } < set(listed_digests)


def test_the_same_files_make_the_same_layer(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("x")
    files: dict[str, Path | bytes | oci.Link] = {
        "/usr/bin/b": program,
        "/etc/a": b"a",
        "/bin": oci.Link("usr/bin"),
        "/tmp/.keep": b"",
    }
    layer = oci.write_layer(files, tmp_path / "one")
    program.touch()
    assert oci.write_layer(dict(reversed(files.items())), tmp_path / "two") == layer
    assert (tmp_path / "one" / layer.digest.removeprefix("sha256:")).read_bytes()[4:8] == bytes(4)  # gzip's time
    with tarfile.open(tmp_path / "one" / layer.digest.removeprefix("sha256:")) as tar:
        modes = {entry.name: entry.mode for entry in tar}
        assert tar.getmember("bin").linkname == "usr/bin"
    assert (modes["usr/bin/b"], modes["etc/a"], modes["tmp"], modes["usr/bin"]) == (0o755, 0o644, 0o1777, 0o755)


def test_the_registry_finds_every_tag_and_blob(shared_bundle: Path) -> None:
    v2 = prepare_storage(shared_bundle) / "docker" / "registry" / "v2"
    for reference, descriptor in layout.read_descriptors(shared_bundle / "images").items():
        name, tag = reference.rsplit(":", 1)
        repository = v2 / "repositories" / name
        digest = (repository / "_manifests" / "tags" / tag / "current" / "link").read_text()
        assert digest == descriptor["digest"]
        for blob in [digest, *layout.list_blob_digests(shared_bundle / "images", digest)]:
            value = blob.removeprefix("sha256:")
            assert hash_bytes((v2 / "blobs" / "sha256" / value[:2] / value / "data").read_bytes()) == blob
            assert (repository / "_layers" / "sha256" / value / "link").is_file() or blob == digest
