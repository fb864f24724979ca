"""Images of monitoring and GPUs: references, users, entry points and places as the vendors' images have them."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from gpustack.bundle import layout
from gpustack.bundle.verify import verify
from gpustack.config.serve_image import format_bundled_image

PROMETHEUS = "quay.io/prometheus/prometheus:v3.14.0"
TOOLKIT = "nvcr.io/nvidia/k8s/container-toolkit:v1.20.1"
EXPORTER = "nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0-4.8.3-distroless"
# Reference: entry point, user, a program in it.
IMAGES = {
    PROMETHEUS: ("/bin/prometheus", "65534:65534", "bin/promtool"),
    "quay.io/prometheus/alertmanager:v0.31.1": ("/bin/alertmanager", "65534:65534", "bin/amtool"),
    "quay.io/prometheus/node-exporter:v1.12.1": ("/bin/node_exporter", "65534:65534", "bin/node_exporter"),
    "quay.io/prometheus-operator/prometheus-operator:v0.93.0": ("/bin/operator", "65534:65534", "bin/operator"),
    "quay.io/prometheus-operator/prometheus-config-reloader:v0.93.0": (
        "/bin/prometheus-config-reloader",
        "65534:65534",
        "bin/prometheus-config-reloader",
    ),
    "registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.20.0": (
        "/kube-state-metrics",
        "65534:65534",
        "kube-state-metrics",
    ),
    "registry.k8s.io/nfd/node-feature-discovery:v0.17.0": (None, "65534:65534", "usr/bin/nfd-worker"),
    "nvcr.io/nvidia/k8s-device-plugin:v0.19.0": ("nvidia-device-plugin", None, "usr/bin/gpu-feature-discovery"),
    TOOLKIT: ("/work/nvidia-ctk-installer", None, "work/nvidia-ctk-installer"),
    "docker.io/rancher/local-path-provisioner:v0.0.30": (None, None, "usr/bin/local-path-provisioner"),
    EXPORTER: ("/usr/bin/dcgm-exporter", None, "usr/bin/dcgm-exporter"),
    "nvcr.io/nvidia/cloud-native/dcgm:4.6.0-1-ubuntu24.04": ("/usr/bin/nv-hostengine", None, "usr/bin/nv-hostengine"),
    "nvcr.io/nvidia/gpu-operator:v26.7.0": ("/usr/bin/gpu-operator", None, "usr/bin/gpu-operator"),
    "nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.15.0": (
        "/usr/bin/nvidia-mig-manager",
        None,
        "usr/bin/nvidia-mig-manager",
    ),
    "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubuntu22.04": (
        "/cuda-samples/vectorAdd",
        None,
        "cuda-samples/vectorAdd",
    ),
    "docker.io/grafana/grafana:13.2.0": ("/usr/bin/grafana", "472:0", "usr/bin/grafana"),
    format_bundled_image(): ("python3", "65532:65532", "app/gpustack/cli/app.py"),
}
SIMULATED_IMAGES = (
    *("nvcr.io/nvidia/k8s/", "nvcr.io/nvidia/cloud-native/", "nvcr.io/nvidia/gpu-operator:", "docker.io/grafana/"),
)


def read_config(bundle: Path, reference: str) -> dict[str, Any]:
    images = bundle / "images"
    blob, *_ = layout.list_blob_digests(images, layout.read_descriptors(images)[reference]["digest"])
    read: dict[str, Any] = json.loads(layout.locate_blob(images, blob).read_bytes())
    return read["config"]  # type: ignore[no-any-return]


def read_modes(bundle: Path, reference: str) -> dict[str, int]:
    """Read the modes of all layers' files, by path."""
    images = bundle / "images"
    counts: dict[str, int] = {}
    for blob in layout.list_blob_digests(images, layout.read_descriptors(images)[reference]["digest"])[1:]:
        with tarfile.open(layout.locate_blob(images, blob)) as tar:
            counts |= {entry.name: entry.mode for entry in tar}
    return counts


@pytest.mark.parametrize("reference", IMAGES)
def test_an_image_starts_as_its_vendors_does(shared_bundle: Path, reference: str) -> None:
    entry, user, program = IMAGES[reference]
    values = read_config(shared_bundle, reference)
    assert ((values.get("Entrypoint") or [None])[0], values.get("User")) == (entry, user)
    assert read_modes(shared_bundle, reference)[program] == 0o755


def test_users_have_names_where_programs_are_alone(shared_bundle: Path) -> None:
    files = read_modes(shared_bundle, PROMETHEUS)
    assert (files["etc/passwd"], files["tmp"], read_config(shared_bundle, PROMETHEUS)["WorkingDir"]) == (
        0o644,
        0o1777,
        "/prometheus",
    )


def test_what_is_simulated_says_so_and_nothing_else_does(shared_bundle: Path) -> None:
    differences = {image.reference: image.differs for image in verify(shared_bundle).images}
    expected = {reference for reference in IMAGES if reference.startswith(SIMULATED_IMAGES) and reference != TOOLKIT}
    assert {reference for reference, differs in differences.items() if differs.startswith("SIMULATED: ")} == expected


def test_the_installer_finds_all_that_it_copies(shared_bundle: Path) -> None:
    """nvidia-ctk-installer looks for these files below /artifacts/deb (cmd/nvidia-ctk-installer/toolkit/installer)."""
    files = read_modes(shared_bundle, TOOLKIT)
    folder = "artifacts/deb/usr"
    for name in ("nvidia-ctk", "nvidia-cdi-hook", "nvidia-container-runtime", "nvidia-container-cli"):
        assert files[f"{folder}/bin/{name}"] == 0o755
    assert {f"{folder}/lib64/libnvidia-container.so.1", f"{folder}/lib64/libnvidia-container-go.so.1"} < set(files)


@pytest.mark.parametrize(
    ("reference", "devices"),
    [("nvcr.io/nvidia/k8s-device-plugin:v0.19.0", "all"), (TOOLKIT, "void"), (EXPORTER, "all")],
)
def test_an_image_asks_for_gpus(shared_bundle: Path, reference: str, devices: str) -> None:
    assert f"NVIDIA_VISIBLE_DEVICES={devices}" in read_config(shared_bundle, reference)["Env"]


def test_the_exporter_brings_its_lists_of_counters(shared_bundle: Path) -> None:
    assert read_modes(shared_bundle, EXPORTER)["etc/dcgm-exporter/default-counters.csv"] == 0o644


def test_the_shell_of_helper_pods_is_there(shared_bundle: Path) -> None:
    assert "usr/bin/busybox" in read_modes(shared_bundle, "docker.io/rancher/local-path-provisioner:v0.0.30")
