"""A build makes again what changed, leaves the rest, and refuses what it does not know."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.bundle import keys, manifest
from gpustack.bundle.programs import run
from gpustack.bundle.verify import verify
from gpustack.errors import BundleError
from gpustack.events import Event
from gpustack_lab.bundle import modules
from gpustack_lab.bundle.build import build
from gpustack_lab.bundle.cache import Part
from gpustack_lab.bundle.versions import Versions, load


def list_built_parts(directory: Path, kubernetes: tuple[str, ...] = ()) -> list[str]:
    """List the names of the parts that a build makes."""
    events: list[Event] = []
    build(directory, kubernetes=kubernetes, report=events.append)
    return sorted(event.subject for event in events if event.kind == "changed")


def test_an_unchanged_bundle_is_not_built_again(bundle: Path) -> None:
    before = {path: path.stat().st_ino for path in bundle.rglob("*") if path.is_file()}
    manifest_text = (bundle / manifest.FILE).read_bytes()
    assert list_built_parts(bundle) == []
    assert (bundle / manifest.FILE).read_bytes() == manifest_text
    assert {path: path.stat().st_ino for path in bundle.rglob("*") if path.is_file()} == before


def test_another_patch_makes_kubernetes_alone(bundle: Path) -> None:
    built_parts = list_built_parts(bundle, ("1.36.3",))
    assert built_parts == sorted(
        ["apt-kubernetes-1.36", "checksums", "image-list", "kubernetes-1.36.3", "licences"]
        + [f"deb-{name}_1.36.3-1.1" for name in ("kubeadm", "kubectl", "kubelet")]
        + [
            f"image-registry.k8s.io_kube-{name}_v1.36.3"
            for name in ("apiserver", "controller-manager", "proxy", "scheduler")
        ]
    )
    verification = verify(bundle)
    assert verification.kubernetes == ("1.36.4", "1.36.3")
    assert {"registry.k8s.io/kube-proxy:v1.36.3", "registry.k8s.io/kube-proxy:v1.36.4"} < {
        image.reference for image in verification.images
    }


def test_another_program_makes_what_holds_it(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = modules.declare_parts

    def build_part(name: str) -> Part:
        def make(folder: Path) -> None:
            (folder / name).write_text("other")

        return Part(name, "other inputs", make)

    def replace_programs(versions: Versions, kubernetes: tuple[str, ...]) -> list[Part]:
        remaining_parts = [part for part in parts(versions, kubernetes) if part.name not in {"crictl", "coredns"}]
        return [*remaining_parts, build_part("crictl"), build_part("coredns")]

    monkeypatch.setattr(modules, "declare_parts", replace_programs)
    packed_names = ["crictl", "deb-cri-tools_1.36.0-1.1", "apt-kubernetes-1.36"]
    pulled_names = ["coredns", "image-registry.k8s.io_coredns_coredns_v1.14.2", "image-list", "checksums"]
    assert list_built_parts(bundle) == sorted([*packed_names, *pulled_names, "licences"])
    verify(bundle)


def test_the_same_program_compiled_anew_makes_nothing_else(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = modules.declare_parts

    def replace_inputs(versions: Versions, kubernetes: tuple[str, ...]) -> list[Part]:
        return [replace(part, inputs="another compiler, " + part.inputs) for part in parts(versions, kubernetes)]

    monkeypatch.setattr(modules, "declare_parts", replace_inputs)
    assert list_built_parts(bundle) == sorted(part.name for part in parts(load(), ("1.36.4",)))


def test_a_harmed_bundle_is_repaired(bundle: Path) -> None:
    (bundle / "bin" / "mirror").write_text("other")
    (bundle / "images" / "index.json").unlink()
    assert list_built_parts(bundle) == []
    verify(bundle)


def test_when_one_part_fails_the_others_are_ended(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> None:
        raise BundleError("bundle-program-failed", "the compiler gave up")

    def declare_slow_and_failing(_versions: Versions, _kubernetes: tuple[str, ...]) -> list[Part]:
        return [Part("slow", "a", lambda _: print(run(["sleep", "50"], limit=60))), Part("failing", "b", fail)]

    monkeypatch.setattr(modules, "declare_parts", declare_slow_and_failing)
    begin = time.monotonic()
    with pytest.raises(BundleError, match="the compiler gave up"):
        build(bundle)
    assert time.monotonic() - begin < 20


def test_a_directory_with_other_things_is_left_alone(tmp_path: Path, no_compilers: None) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BundleError) as excinfo:
        build(tmp_path)
    assert excinfo.value.reference == "bundle-directory-used"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("source", "kubernetes", "reference"),
    [
        ("official", (), "bundle-source-unknown"),
        ("modules", ("1.34.1", "1.37.0", "soon"), "bundle-version-unknown"),
        ("elsewhere", (), "bundle-source-unknown"),
    ],
)
def test_bad_requests_are_refused(
    tmp_path: Path, no_compilers: None, source: str, kubernetes: tuple[str, ...], reference: str
) -> None:
    with pytest.raises(BundleError) as excinfo:
        build(tmp_path / "new", source=source, kubernetes=kubernetes)
    assert excinfo.value.reference == reference
    assert all(version in excinfo.value.reason for version in kubernetes)


def test_the_secret_key_is_private_and_not_in_the_bundle(shared_bundle: Path) -> None:
    assert keys.locate_key_dir().stat().st_mode & 0o777 == 0o700
    assert not any(b"PRIVATE KEY" in path.read_bytes() for path in shared_bundle.rglob("*") if path.is_file())


def test_what_differs_from_the_vendors_is_reported(shared_bundle: Path) -> None:
    differs = {image.reference: image.differs for image in verify(shared_bundle).images}
    assert "tencent-vpc" in differs["ghcr.io/flannel-io/flannel:v0.28.9"]
    assert "kubeadm's Corefile" in differs["registry.k8s.io/coredns/coredns:v1.14.2"]
    assert all(differs.values())
