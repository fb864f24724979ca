"""Licence texts: of every module inside a program and every package, in one archive that is always the same."""

import tarfile
from pathlib import Path

import pytest

from gpustack.errors import BundleError
from gpustack_lab.bundle import licences
from gpustack_lab.bundle.cache import BuiltPart
from tests.unit.bundle import small_bundle


def read_contents(bundle: Path) -> dict[str, str]:
    with tarfile.open(bundle / "files" / "licences.tar.gz") as tar:
        assert {entry.mtime for entry in tar} == {0}
        contents = {entry.name: tar.extractfile(entry) for entry in tar}
        return {name: stream.read().decode() for name, stream in contents.items() if stream}


def test_a_bundle_has_the_licences_of_what_it_holds_of_others(shared_bundle: Path) -> None:
    contents = read_contents(shared_bundle)
    assert {name: text for name, text in contents.items() if name.startswith("go/")} == {
        "go/github.com/opencontainers/runc@v1.4.3/LICENSE": "runc",
        "go/github.com/opencontainers/runc@v1.4.3/NOTICE": "to runc",
        "go/github.com/BurntSushi/toml@v1.4.0/COPYING": "toml",
        "go/k8s.io/api@v0.36.4/LICENSE": "api",
        "go/k8s.io/api@v0.36.4/third_party/json/LICENSE-MIT.txt": "json",
    }
    assert "h1:/bq84roxG30xEICkFodXzMEVQFs7kzo4lCiZME1uKxI=" in contents["PROGRAMS"]
    assert "apt-get source" in contents["SOURCES"]


def test_every_program_is_asked(shared_bundle: Path) -> None:
    """The programs are those of modules, pause, the simulated cluster and the simulated driver."""
    assert f"one of {len(small_bundle.OUTPUTS) + 1 + 3}" in read_contents(shared_bundle)["PROGRAMS"]


def test_a_replaced_module_counts_as_its_replacement() -> None:
    assert licences.parse_modules(small_bundle.BUILT_FROM) == [
        "github.com/BurntSushi/toml@v1.4.0",
        "github.com/opencontainers/runc@v1.4.3",
        "k8s.io/api@v0.36.4",
    ]


def test_a_module_without_any_may_not_be_passed_on(tmp_path: Path) -> None:
    (tmp_path / "main.go").write_text("package main")
    with pytest.raises(BundleError) as excinfo:
        licences.collect_module_licences(tmp_path)
    assert excinfo.value.reference == "bundle-licence-missing"


def test_a_linked_debian_copyright_is_followed(tmp_path: Path) -> None:
    documents = tmp_path / "root" / "usr" / "share" / "doc"
    (documents / "gcc-12-base").mkdir(parents=True)
    (documents / "gcc-12-base" / "copyright").write_text("GPL")
    (documents / "libgcc-s1").symlink_to("gcc-12-base")
    (tmp_path / "packages.json").write_text('[{"name": "libgcc-s1", "version": "12.2.0-14", "sha256": "0"}]')
    built_part = BuiltPart("userland", tmp_path, {"packages.json": "0"}, fresh=False)
    assert licences.collect_package_licences(built_part)["debian/libgcc-s1_12.2.0-14/copyright"] == b"GPL"


def test_the_same_texts_are_the_same_archive() -> None:
    assert licences.pack_texts({"b": b"2", "a": b"1"}) == licences.pack_texts({"a": b"1", "b": b"2"})
