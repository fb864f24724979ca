"""`bundle verify` against everything that somebody may do to a bundle."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack.bundle import keys, manifest
from gpustack.bundle.manifest import hash_file
from gpustack.bundle.verify import read_fingerprint, verify
from gpustack.errors import BundleError
from gpustack_lab.bundle import signing

CONTROL = "files/pkgs.k8s.io/core:/stable:/v1.36/deb/Packages"


def expect_refusal(bundle: Path, key: str | None = None) -> BundleError:
    with pytest.raises(BundleError) as excinfo:
        verify(bundle, fingerprint=key)
    return excinfo.value


def test_a_bundle_as_built_is_good(shared_bundle: Path) -> None:
    verification = verify(shared_bundle)
    assert (
        verification.fingerprint == read_fingerprint(shared_bundle) == keys.find_own_fingerprint(keys.locate_key_dir())
    )
    assert verification.simulated


def test_every_file_is_listed_with_where_it_comes_from(shared_bundle: Path) -> None:
    listed_files = verify(shared_bundle).files
    packed_files = {str(path.relative_to(shared_bundle)) for path in shared_bundle.rglob("*") if path.is_file()}
    assert {entry.path for entry in listed_files} == packed_files - {manifest.FILE, manifest.SIGNATURE}
    assert all(entry.name and entry.version and entry.origin and entry.licence for entry in listed_files)


def change_file(bundle: Path) -> None:
    (bundle / CONTROL).write_text((bundle / CONTROL).read_text().replace("kubeadm", "kubeevil"))


def change_same_size(bundle: Path) -> None:
    content = bytearray((bundle / CONTROL).read_bytes())
    content[-2] ^= 1
    (bundle / CONTROL).write_bytes(content)


def remove_file(bundle: Path) -> None:
    (bundle / CONTROL).unlink()


def link(bundle: Path) -> None:
    (bundle / CONTROL).rename(bundle.parent / "elsewhere")
    (bundle / CONTROL).symlink_to(bundle.parent / "elsewhere")


def add_file(bundle: Path) -> None:
    (bundle / "files" / "more").write_text("")


def add_dangling_link(bundle: Path) -> None:
    (bundle / "images" / "nowhere").symlink_to("/nonexistent")


@pytest.mark.parametrize(
    ("harm", "line"),
    [
        (change_file, f"changed  {CONTROL}"),
        (change_same_size, f"changed  {CONTROL}"),
        (remove_file, f"missing  {CONTROL}"),
        (link, f"extra    {CONTROL}"),
        (add_file, "extra    files/more"),
        (add_dangling_link, "extra    images/nowhere"),
    ],
)
def test_a_harmed_file_is_named(bundle: Path, harm: Callable[[Path], None], line: str) -> None:
    harm(bundle)
    error = expect_refusal(bundle)
    assert error.reference == "bundle-damaged"
    assert error.reason.splitlines() == [line]


def test_all_harm_is_listed_at_once(bundle: Path) -> None:
    change_file(bundle)
    add_file(bundle)
    (bundle / "bin" / "mirror").unlink()
    assert expect_refusal(bundle).reason.splitlines() == [
        "missing  bin/mirror",
        "extra    files/more",
        f"changed  {CONTROL}",
    ]


def forge_file(bundle: Path) -> None:
    """Change a file, and the manifest with it."""
    before = hash_file(bundle / CONTROL)
    change_same_size(bundle)
    listing = bundle / manifest.FILE
    listing.write_text(listing.read_text().replace(before, hash_file(bundle / CONTROL)))


def test_a_manifest_changed_with_its_file_is_caught(bundle: Path) -> None:
    forge_file(bundle)
    assert expect_refusal(bundle).reference == "bundle-signature-bad"


def test_a_bundle_signed_anew_by_somebody_else_is_caught(bundle: Path, tmp_path: Path) -> None:
    own_fingerprint = read_fingerprint(bundle)
    forge_file(bundle)
    with signing.open_signer(tmp_path / "other") as other_signer:
        (bundle / manifest.KEY).write_text(signing.export_public_key(other_signer))
        listing = bundle / manifest.FILE
        listing.write_text(listing.read_text().replace(own_fingerprint, other_signer.fingerprint))
        signing.sign(other_signer, listing)
    assert expect_refusal(bundle).reference == "bundle-key-unexpected"
    assert expect_refusal(bundle, own_fingerprint).reference == "bundle-key-unexpected"
    # Under the other's name, what is left to see is that the key file is not the one listed.
    assert expect_refusal(bundle, other_signer.fingerprint).reason.splitlines() == [f"changed  {manifest.KEY}"]


def test_without_a_key_of_ones_own_the_fingerprint_is_required(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_by = read_fingerprint(bundle)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "new-user"))
    assert expect_refusal(bundle).reference == "bundle-key-unknown"
    assert verify(bundle, fingerprint=" ".join([signed_by[:20].lower(), signed_by[20:]])).fingerprint == signed_by


@pytest.mark.parametrize("name", [manifest.FILE, manifest.SIGNATURE, manifest.KEY])
def test_half_a_bundle_is_none(bundle: Path, name: str) -> None:
    (bundle / name).unlink()
    error = expect_refusal(bundle)
    assert error.reference == "bundle-absent"
    assert name in error.reason


@pytest.mark.parametrize("ask", [verify, read_fingerprint])
@pytest.mark.parametrize("content", [b"", b"\0\1", b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ\n"])
def test_a_broken_key_is_named(bundle: Path, content: bytes, ask: Callable[[Path], object]) -> None:
    (bundle / manifest.KEY).write_bytes(content)
    with pytest.raises(BundleError) as excinfo:
        ask(bundle)
    assert excinfo.value.reference in ("bundle-damaged", "bundle-signature-bad")
    assert str(bundle / manifest.KEY) in f"{excinfo.value.message} {excinfo.value.hint}"
