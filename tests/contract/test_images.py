"""The images of a version set: each that an installation pulls, as containerd names it, with a digest or without."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.config.versions import read_version_set
from gpustack.proof.workload import IMAGE
from gpustack_lab.bundle.versions import NEWEST, load

RENDERED_CHARTS = (
    Path(os.environ.get("GPUSTACK_REFERENCE_DATA") or Path(__file__).parents[3] / "shared" / "data") / "rendered"
)
IMAGES: dict[str, str] = load().raw["images"]
# Of the operator's ClusterPolicy: what runs without a further setting.
OPERANDS = ("validator", "toolkit", "devicePlugin", "dcgmExporter", "gfd", "migManager")


def test_each_image_has_a_digest_or_says_that_it_has_none() -> None:
    assert [name for name, text in IMAGES.items() if not re.fullmatch(r"sha256:[0-9a-f]{64}|unpinned", text)] == []
    pinned_digests = [digest for digest in IMAGES.values() if digest != "unpinned"]
    assert len(pinned_digests) == len(set(pinned_digests)), "no digest is of two images"


def test_images_are_named_as_containerd_resolves_them() -> None:
    assert [
        name for name in IMAGES if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+(/[a-z0-9._-]+)+:[\w.-]+", name)
    ] == []
    assert [name for name in IMAGES if name.startswith("docker.io/") and name.count("/") < 2] == []


def test_only_pinned_images_reach_hosts() -> None:
    assert read_version_set(NEWEST).images == {name: text for name, text in IMAGES.items() if text != "unpinned"}
    assert read_version_set(NEWEST).images


def test_images_of_the_components_are_listed() -> None:
    v = load()
    expected = {
        *(f"registry.k8s.io/kube-{name}:v{v['kubernetes']}" for name in ("apiserver", "controller-manager")),
        *(f"registry.k8s.io/kube-{name}:v{v['kubernetes']}" for name in ("scheduler", "proxy")),
        f"registry.k8s.io/coredns/coredns:v{v['coredns']}",
        f"registry.k8s.io/etcd:{v['etcd']}-0",
        f"registry.k8s.io/pause:{v['pause']}",
        f"ghcr.io/flannel-io/flannel:v{v['flannel']}",
        f"ghcr.io/flannel-io/flannel-cni-plugin:v{v['flannel-cni-plugin']}",
        f"docker.io/rancher/local-path-provisioner:v{v['local-path-provisioner']}",
        f"nvcr.io/nvidia/k8s-device-plugin:v{v['k8s-device-plugin']}",
        f"nvcr.io/nvidia/k8s/dcgm-exporter:{v['dcgm-exporter']}-distroless",
        IMAGE,
    }
    assert sorted(expected - IMAGES.keys()) == []


@pytest.mark.skipif(not RENDERED_CHARTS.is_dir(), reason=f"no {RENDERED_CHARTS}: the charts as Helm renders them")
def test_images_of_the_charts_are_listed() -> None:
    images: set[str] = set()
    for path in RENDERED_CHARTS.glob("*.yaml"):
        images |= {re.sub('[" ]', "", match) for match in re.findall(r"\bimage: (\S+/\S+:\S+)", path.read_text())}
    for path in RENDERED_CHARTS.glob("gpu-operator-*.yaml"):
        images |= set(list_operands(yaml.safe_load(path.read_text())))
    assert len(images) > 12
    assert sorted(images - IMAGES.keys()) == []


def list_operands(objects: list[dict[str, Any]]) -> list[str]:
    (spec,) = (manifest["spec"] for manifest in objects if "dcgmExporter" in manifest.get("spec", {}))
    manager = spec["driver"]["manager"]
    return [
        "{repository}/{image}:{version}".format_map(image) for image in (manager, *(spec[name] for name in OPERANDS))
    ]
