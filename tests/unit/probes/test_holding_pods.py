"""The pods that hold GPUs, by the kubelet's record: the real script on folders of a test.

The record is in the kubelet's shape (kubernetes/kubernetes pkg/kubelet/cm/devicemanager/checkpoint/checkpoint.go), as
printed in kubernetes/kubernetes issue 75880 and tkestack/gpu-manager pull 62.
"""

import json
import subprocess
from pathlib import Path

from gpustack.ask.script_file import read_script
from gpustack.probes.gpu import holding_pods

RUNNING_POD = "9a422c32-4fc2-11e9-bb64-505dac4c3a38"
ENDED_POD = "368e63c4-2d97-11e9-8954-505dac4a7d28"


def build_entry(uid: str, resource: str = "nvidia.com/gpu") -> dict[str, object]:
    return {
        "PodUID": uid,
        "ContainerName": "notebook",
        "ResourceName": resource,
        "DeviceIDs": {"-1": ["GPU-ad63c684-5593-111a-cbb1-c1451ebcd0aa"]},
        "AllocResp": "CkIKFk5WSURJQV9WSVNJQkxFX0RFVklDRVM=",
    }


def run_script(root: Path, *entries: dict[str, object]) -> subprocess.CompletedProcess[str]:
    folder = root / "var/lib/kubelet/device-plugins"
    folder.mkdir(parents=True)
    document = {"Data": {"PodDeviceEntries": entries, "RegisteredDevices": {"nvidia.com/gpu": []}}, "Checksum": 1}
    (folder / "kubelet_internal_checkpoint").write_text(json.dumps(document, separators=(",", ":")))
    burstable = root / "sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice"
    (burstable / f"kubepods-burstable-pod{RUNNING_POD.replace('-', '_')}.slice").mkdir(parents=True)
    for name in (f"default_train-0_{RUNNING_POD}", f"default_old_{ENDED_POD}"):
        (root / "var/log/pods" / name).mkdir(parents=True)
    return run(root)


def run(root: Path) -> subprocess.CompletedProcess[str]:
    script = read_script(holding_pods.__file__, "holding_pods.sh")
    for path in ("/var/lib/kubelet", "/sys/fs/cgroup", "/var/log/pods"):
        script = script.replace(path, f"{root}{path}")
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=20, check=False)


def test_a_pod_counts_while_it_runs(tmp_path: Path) -> None:
    process = run_script(
        tmp_path, build_entry(RUNNING_POD), build_entry(RUNNING_POD, "nvidia.com/mig-1g.10gb"), build_entry(ENDED_POD)
    )
    assert (process.returncode, process.stdout) == (0, "default_train-0\n")


def test_other_devices_are_no_gpus(tmp_path: Path) -> None:
    process = run_script(tmp_path, build_entry(RUNNING_POD, "rdma/hca"))
    assert (process.returncode, process.stdout) == (0, "")


def test_a_record_of_another_shape_is_no_answer(tmp_path: Path) -> None:
    entry = build_entry(RUNNING_POD)
    process = run_script(tmp_path, {"ResourceName": entry.pop("ResourceName"), **entry})
    assert process.returncode == 1
    assert "another shape" in process.stderr


def test_a_host_without_a_record_has_no_such_pod(tmp_path: Path) -> None:
    process = run(tmp_path)
    assert (process.returncode, process.stdout) == (0, "")
