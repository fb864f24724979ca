"""A build touches what this user's builds wrote, proven by a signature, and nothing else, whenever it appears."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpustack.bundle import keys, manifest, serve, storage
from gpustack.bundle.verify import verify
from gpustack.errors import BundleError
from gpustack.files.write import write_file
from gpustack_lab.bundle import ownership, signing
from gpustack_lab.bundle.build import build

pytestmark = pytest.mark.long

Tree = dict[str, bytes | str]


def read_tree(directory: Path) -> Tree:
    """Read contents by path; of a link, where it leads to."""
    return {
        str(path.relative_to(directory)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in directory.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def expect_refusal(directory: Path) -> BundleError:
    with pytest.raises(BundleError) as excinfo:
        build(directory)
    assert excinfo.value.reference == "bundle-directory-used"
    return excinfo.value


@pytest.mark.parametrize(
    "names",
    [
        ("bin/mytool", "files/thesis/chapter1.tex", "images/holiday.jpg"),
        ("bin/mirror",),
        ("files/a",),
        ("images/index.json", "images/oci-layout"),
        ("images/blobs/sha256/abc",),
        (manifest.KEY,),
        (manifest.FILE,),
        (manifest.FILE, manifest.SIGNATURE, manifest.KEY),
        (ownership.BUILDING,),
        (".gpustack-0123456789abcdef",),
        (".git/config",),
    ],
)
def test_a_folder_of_others_with_such_names_survives(
    tmp_path: Path, no_compilers: None, names: tuple[str, ...]
) -> None:
    for name in names:
        (tmp_path / "used" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "used" / name).write_text("years of work")
    (tmp_path / "used" / "empty").mkdir()
    before = read_tree(tmp_path / "used")
    assert names[0] in expect_refusal(tmp_path / "used").reason
    assert read_tree(tmp_path / "used") == before
    assert (tmp_path / "used" / "empty").is_dir()


@pytest.mark.parametrize("name", ["bin/mytool", "files/more", "notes.txt", "images/blobs/sha256/more"])
def test_a_file_of_others_in_a_bundle_is_named_and_stays(bundle: Path, name: str) -> None:
    (bundle / name).write_text("mine")
    before = read_tree(bundle)
    assert expect_refusal(bundle).reason == name
    assert read_tree(bundle) == before


@pytest.mark.parametrize("name", ["files", "images", "bin"])
def test_a_folder_that_is_a_link_is_not_followed(bundle: Path, tmp_path: Path, name: str) -> None:
    (bundle / name).rename(tmp_path / "elsewhere")
    (bundle / name).symlink_to(tmp_path / "elsewhere")
    before = read_tree(tmp_path / "elsewhere")
    assert expect_refusal(bundle).reason == name
    assert read_tree(tmp_path / "elsewhere") == before


def forge_manifest(bundle: Path) -> None:
    """Forge a manifest that lists a file of somebody else as one of the bundle."""
    text = (bundle / manifest.FILE).read_text()
    (bundle / manifest.FILE).write_text(text.replace("bin/mirror", "bin/mytool"))


def sign_by_another(bundle: Path) -> None:
    with signing.open_signer(bundle.parent / "other") as other_signer:
        signing.sign(other_signer, bundle / manifest.FILE)
        (bundle / manifest.KEY).write_text(signing.export_public_key(other_signer))


def tear_manifest(bundle: Path) -> None:
    content = (bundle / manifest.FILE).read_bytes()
    (bundle / manifest.FILE).write_bytes(content[: len(content) // 2])


def break_signature(bundle: Path) -> None:
    (bundle / manifest.SIGNATURE).write_text("no signature")


@pytest.mark.parametrize("harm", [forge_manifest, sign_by_another, tear_manifest, break_signature])
def test_a_bundle_that_is_not_proven_to_be_ours_is_left(bundle: Path, harm: Callable[[Path], None]) -> None:
    harm(bundle)
    before = read_tree(bundle)
    expect_refusal(bundle)
    assert read_tree(bundle) == before


@pytest.mark.parametrize(
    "content", ["", "schema: 3\nfiles: [", "- 1", "schema: 3", "a: &a [*a]", "\x00", "schema: 3\nfiles: 7\n"]
)
def test_a_torn_manifest_is_an_error_of_its_own(bundle: Path, content: str) -> None:
    """A torn manifest is an error even when its signature holds."""
    (bundle / manifest.FILE).write_text(content)
    with signing.open_signer(keys.locate_key_dir()) as signer:
        signing.sign(signer, bundle / manifest.FILE)
    with pytest.raises(BundleError) as excinfo:
        verify(bundle)
    assert excinfo.value.reference == "bundle-damaged"
    expect_refusal(bundle)


def test_a_bundle_of_the_older_schema_is_refused_and_built_again(bundle: Path) -> None:
    """A manifest of schema 2 has the key `purpose`, and every file that it names still belongs to gpustack."""
    listing = bundle / manifest.FILE
    listing.write_text(
        listing.read_text().replace("schema: 3", "schema: 2").replace("simulated: true", "purpose: for labs")
    )
    with signing.open_signer(keys.locate_key_dir()) as signer:
        signing.sign(signer, listing)
    with pytest.raises(BundleError) as excinfo:
        verify(bundle)
    assert excinfo.value.reason == "it has schema 2, and this gpustack reads schema 3: build the bundle again"
    assert build(bundle).created_at
    assert "purpose:" not in listing.read_text()


@pytest.mark.parametrize("writes", range(9))
def test_an_interrupted_build_is_continued(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """Interrupt the build of a new bundle after so many files; at the last, all but the manifest is there."""
    calls = 0
    real = write_file

    def stop(path: Path, *arguments: Any, **options: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > writes:
            path.with_name(".gpustack-0123456789abcdef").write_text("half a f")
            raise KeyboardInterrupt
        real(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr("gpustack_lab.bundle.tree.write_file", stop)
        if writes == 8:
            patch.setattr("gpustack_lab.bundle.tree.write_file", real)
            patch.setattr("gpustack_lab.bundle.build.write_file", stop)
            calls = 8
        with pytest.raises(KeyboardInterrupt):
            build(tmp_path / "new")
    build(tmp_path / "new")
    verify(tmp_path / "new")
    assert read_tree(tmp_path / "new").keys() == read_tree(bundle).keys()


@pytest.mark.parametrize("name", ["files/mine", "bin/mirror", "mine.txt", "images/index.json"])
def test_a_file_that_appears_during_the_build_stays(
    tmp_path: Path, no_compilers: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    real = ownership.record_building

    def add_file(directory: Path, *arguments: Any) -> None:
        real(directory, *arguments)
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("mine")

    monkeypatch.setattr(ownership, "record_building", add_file)
    with pytest.raises(BundleError) as excinfo:
        build(tmp_path / "new")
    assert name in excinfo.value.reason
    assert (tmp_path / "new" / name).read_text() == "mine"


def test_what_an_earlier_build_wrote_goes_unless_it_was_changed(bundle: Path) -> None:
    build(bundle, kubernetes=("1.36.3",))
    former = [path for path in bundle.rglob("*1.36.3*") if path.is_file()]
    assert former
    former[0].write_text("mine")
    with pytest.raises(BundleError) as excinfo:
        build(bundle)
    assert str(former[0].relative_to(bundle)) in excinfo.value.reason
    assert [path for path in former if path.exists()] == [former[0]]
    former[0].unlink()
    build(bundle)
    verify(bundle)


def test_the_mirror_that_runs_is_the_one_that_was_verified(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody exchanges it the moment it was verified, and once more when it is copied."""

    def replace_mirror(directory: Path) -> Path:
        for name in ("new", "mirror"):
            (directory / "bin" / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\necho listening on x\n")
            (directory / "bin" / name).chmod(0o755)
        (directory / "bin" / "new").replace(directory / "bin" / "mirror")
        return storage.prepare_storage(directory)

    monkeypatch.setattr(serve, "prepare_storage", replace_mirror)
    serving = serve.serve(bundle, "127.0.0.1:0", log=tmp_path / "log")
    serving.stop()
    assert serving.address == "http://127.0.0.1:65000"
    assert not (tmp_path / "pwned").exists()


def test_a_mirror_exchanged_while_it_is_verified_is_refused(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verification = verify(bundle)

    def replace_mirror(directory: Path, **_: Any) -> manifest.Manifest:
        shutil.copy("/bin/true", directory / "bin" / "mirror")
        return verification

    monkeypatch.setattr("gpustack.bundle.verify.verify", replace_mirror)
    with pytest.raises(BundleError) as excinfo:
        serve.serve(bundle, "127.0.0.1:0")
    assert excinfo.value.reference == "bundle-damaged"
