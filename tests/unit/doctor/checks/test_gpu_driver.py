"""A reason that stops the driver of a host is found alone, and no other one with it."""

import pytest

from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.graph import load_graph
from tests.unit.doctor.checks.evaluation import judge_gpu_cluster, snapshot, summarize


@pytest.mark.parametrize(
    ("id", "cases", "outcome", "actual"),
    [
        ("gpu-nouveau-loaded", {}, "ok", "not loaded"),
        ("gpu-nouveau-loaded", {"gpu__driver": "nouveau"}, "failed", "loaded"),
        ("gpu-nouveau-loaded", {"gpu__driver": "short"}, "unknown", ""),
        ("gpu-nouveau-loaded", {"gpu__devices": "none"}, "ok", "the host has no GPU"),
        ("gpu-driver-not-loaded", {}, "ok", "595.91.07"),
        ("gpu-driver-not-loaded", {"gpu__driver": "nouveau"}, "ok", "nouveau is loaded"),
        ("gpu-driver-not-loaded guard", {}, "failed", "none"),
        ("gpu-driver-not-loaded guard", {"gpu__driver": "nouveau"}, "ok", "nouveau is loaded"),
        ("gpu-kernel-headers-missing", {"gpu__kernels": "no-headers"},
         "ok", "loaded"),
        ("gpu-kernel-headers-missing", {"gpu__driver": "simulated-fresh-debian-12", "gpu__kernels": "no-headers"},
         "failed", "no module built"),
        ("gpu-driver-not-loaded", {"gpu__driver": "simulated-fresh-debian-12", "gpu__kernels": "no-headers"},
         "ok", "no headers"),
        ("gpu-driver-not-loaded", {"gpu__driver": "simulated-fresh-debian-12"}, "failed", "although built"),
        ("gpu-host-driver-conflict", {"gpu__policy_settings": "driver"}, "failed", "on the host, and the operator"),
        ("gpu-leftover-driver-packages", {"gpu__packages": "two-branches"}, "failed", "470, 550"),
        ("gpu-leftover-driver-packages", {"gpu__packages": "tools-beside"}, "ok", "550"),
        ("gpu-leftover-driver-packages", {"gpu__packages": "firmware-left"}, "ok", "580"),
        ("gpu-leftover-driver-packages", {"gpu__driver": "run-installer"}, "failed", ".run installer"),
        ("gpu-leftover-driver-packages", {"gpu__packages": "no-branch"}, "ok", "nothing"),
        ("gpu-leftover-driver-packages", {"gpu__packages": "silent"}, "unknown", ""),
        ("gpu-inforom-corrupt", {"gpu__smi": "inforom"}, "failed", "14"),
        ("gpu-inforom-corrupt", {}, "ok", "0"),
        ("gpu-adapter-init-failed", {"gpu__smi": "no-devices"}, "failed", "No devices were found"),
        ("gpu-adapter-init-failed", {"gpu__smi": "one-lost", "gpu__kernel_log": "adapter"}, "failed", "GSP"),
        ("gpu-adapter-init-failed", {"gpu__smi": "garbage"}, "unknown", ""),
        ("gpu-adapter-init-failed", {"gpu__smi": "hangs"}, "unknown", "it did not end"),
        ("st-driver-not-ready", {}, "ok", "working"),
        ("st-driver-not-ready", {"gpu__smi": "hangs"}, "failed", "hangs"),
        ("st-driver-not-ready", {"gpu__driver": "mismatch"}, "failed", "libraries"),
        ("st-driver-not-ready", {"gpu__smi": "fallen-off"}, "ok", "working"),
    ],
)  # fmt: skip
def test_faults_of_the_driver_are_judged(id: str, cases: dict[str, str], outcome: str, actual: str) -> None:
    result = summarize(judge_gpu_cluster(id, "k1", **cases))
    assert result[0] == outcome, result
    assert actual in result[1], result


@pytest.mark.parametrize(
    ("errors", "certain", "end"),
    [("pahole", False, "nvidia-drm.ko] Error 126"), ("usual", True, "not built for the kernel 6.12.96+deb13-amd64")],
)
def test_a_build_that_failed_is_not_started_again(errors: str, certain: bool, end: str) -> None:
    cases = {"gpu__driver": "simulated-fresh-debian-12", "gpu__kernels": "not-built"}
    result = judge_gpu_cluster("gpu-driver-not-loaded", "k1", packages__build_errors=errors, **cases).result
    assert result
    assert (result.certain, not result.person) == (certain, certain)
    assert result.actual.endswith(end)


@pytest.mark.parametrize(
    ("devices", "certain", "end"),
    [
        ("volta", False, "10de:1db5: older than Turing, which nvidia-kernel-open-dkms 595.91.07 does not support"),
        ("virtual-machine-with-one", True, "not loaded, although built (595.91.07)"),
    ],
)
def test_unsupported_gpus_are_no_reason_to_load_the_module_again(devices: str, certain: bool, end: str) -> None:
    """The open module unloads itself where it knows no GPU of the host (NVIDIA/open-gpu-kernel-modules#322)."""
    cases = {"gpu__driver": "simulated-fresh-debian-12", "gpu__devices": devices}
    result = judge_gpu_cluster("gpu-driver-not-loaded", "k1", **cases).result
    assert result
    assert (result.certain, not result.person) == (certain, certain)
    assert result.actual.endswith(end)


@pytest.mark.parametrize(
    ("cases", "roots"),
    [
        ({}, set()),
        ({"gpu__driver": "nouveau", "gpu__smi": "not-loaded"}, {"gpu-nouveau-loaded"}),
        ({"gpu__driver": "mismatch", "gpu__smi": "mismatch"}, {"gpu-driver-library-mismatch"}),
        ({"gpu__driver": "simulated-fresh-debian-12", "gpu__smi": "not-loaded"}, {"gpu-driver-not-loaded"}),
        ({"gpu__smi": "inforom"}, {"gpu-inforom-corrupt"}),
        ({"gpu__smi": "no-devices"}, {"gpu-adapter-init-failed"}),
    ],
)
def test_one_reason_is_one_root(cases: dict[str, str], roots: set[str]) -> None:
    diagnosis = diagnose(snapshot("k1", **cases))
    own_ids = {root.id for root in diagnosis.roots if load_graph().faults[root.id].layer.startswith("gpu")}
    assert own_ids == roots
    assert [
        symptom.id
        for symptom in diagnosis.verdict.unexplained_symptoms
        if load_graph()[symptom.id].layer.startswith("gpu")
    ] == []
