"""`gpustack_logs` in images of others: Python 3.9 without packages, and NVML as the simulated driver answers it."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpustack_lab.simulated import hardware

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "logs" / "gpustack_logs.py"
PYTHONS = [
    sys.executable,
    *filter(None, [shutil.which("python3.9")]),
    *map(str, Path.home().glob(".pyenv/versions/3.9.*/bin/python3.9")),
]
# Prints a line once the thread has sampled, and one from a child after a fork.
JOB = """
import sys
sys.path.insert(0, sys.argv[1])
import importlib, logging, os, time
logs = importlib.import_module(sys.argv[2])
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logs.JsonFormatter(logs.Sampler(interval=0.2)))
logging.basicConfig(handlers=[handler])
def report(word):
    end = time.monotonic() + 20
    while handler.formatter.sampler.read()["reason"] == "not sampled yet" and time.monotonic() < end:
        time.sleep(0.02)
    logging.warning(word)
report("job")
if os.fork() == 0:
    time.sleep(2)
    report("child")
    sys.stdout.flush()
    os._exit(0)
os.wait()
print(" ".join(sys.modules))
"""


def runs(python: str) -> bool:
    process = subprocess.run([python, "-c", ""], capture_output=True, timeout=20, check=False)
    return process.returncode == 0


@pytest.fixture(params=["3.9", "this one"])
def python(request: pytest.FixtureRequest) -> str:
    if request.param == "this one":
        return sys.executable
    available_pythons = [python for python in PYTHONS[1:] if runs(python)]
    return available_pythons[0] if available_pythons else pytest.skip("no Python 3.9 on this machine")


def run_python(python: str, folder: Path, module: str, env: dict[str, str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Run a Python without packages. Return its lines, and the modules that were imported."""
    process = subprocess.run(
        [python, "-I", "-S", "-c", JOB, str(folder), module],
        capture_output=True, text=True, timeout=60, check=False, env=env,
    )  # fmt: skip
    assert (process.returncode, process.stderr) == (0, "")
    *lines, modules = process.stdout.splitlines()
    return [json.loads(line) for line in lines], modules.split()


def test_python_3_9_parses_the_module() -> None:
    assert ast.parse(MODULE.read_text(), feature_version=(3, 9)).body


def test_it_imports_the_standard_library_alone(python: str) -> None:
    lines, modules = run_python(python, MODULE.parent, "gpustack_logs", {})
    foreign = {name for name in modules if name.split(".")[0] not in sys.stdlib_module_names}
    assert foreign - {"gpustack_logs", "__main__"} == set()
    assert [line["message"] for line in lines] == ["job", "child"]


def test_without_a_driver_everything_is_null_with_the_reason(python: str) -> None:
    (job, child), _ = run_python(python, MODULE.parent, "gpustack_logs", {})
    assert job["gpu"]["gpus"] is child["gpu"]["gpus"] is None
    assert "libnvidia-ml.so.1" in job["gpu"]["reason"]


def test_a_copy_under_another_name_reads_the_driver(driver_folder: Path, python: str, tmp_path: Path) -> None:
    shutil.copy(MODULE, tmp_path / "gpu_logs.py")
    hardware.install_gpus(tmp_path, "lab", "host1", 2, "H100")
    hardware.change(tmp_path, [1], ["load=training", "temp=92"])
    (job, child), _ = run_python(python, tmp_path, "gpu_logs", build_environment(driver_folder, tmp_path))
    state = hardware.read(tmp_path)
    assert state
    assert job["gpu"]["gpus"] == child["gpu"]["gpus"]
    assert child["gpu"]["age_seconds"] < 2  # sampled anew: threads do not survive a fork
    idle, busy = job["gpu"]["gpus"]
    assert [idle["uuid"], busy["uuid"]] == [gpu.uuid for gpu in state.gpus]
    assert (busy["utilization_ratio"], busy["temperature_celsius"]) == (0.98, 92)
    assert (busy["memory_used_bytes"], busy["memory_total_bytes"]) == (70141 << 20, 81559 << 20)
    assert (idle["utilization_ratio"], idle["unknown"]) == (0, {})


def test_a_lost_gpu_is_unknown_and_the_other_is_not(driver_folder: Path, tmp_path: Path) -> None:
    hardware.install_gpus(tmp_path, "lab", "host1", 2, "H100")
    hardware.change(tmp_path, [0], ["lost"])
    (job, _), _ = run_python(sys.executable, MODULE.parent, "gpustack_logs", build_environment(driver_folder, tmp_path))
    lost_gpu, well = job["gpu"]["gpus"]
    assert (lost_gpu["utilization_ratio"], lost_gpu["memory_used_bytes"], lost_gpu["temperature_celsius"]) == (
        None,
        None,
        None,
    )
    assert "GPU is lost" in lost_gpu["unknown"]["temperature_celsius"]
    assert well["unknown"] == {}


def test_uuids_of_cuda_visible_devices_choose(driver_folder: Path, tmp_path: Path) -> None:
    hardware.install_gpus(tmp_path, "lab", "host1", 2, "H100")
    state = hardware.read(tmp_path)
    assert state
    chosen_gpu = {"CUDA_VISIBLE_DEVICES": state.gpus[1].uuid[:12]}
    (job, _), _ = run_python(
        sys.executable, MODULE.parent, "gpustack_logs", build_environment(driver_folder, tmp_path) | chosen_gpu
    )
    assert [gpu["uuid"] for gpu in job["gpu"]["gpus"]] == [state.gpus[1].uuid]


def build_environment(libraries: Path, root: Path) -> dict[str, str]:
    state = root / hardware.DIRECTORY / "state"
    return {"PATH": os.defpath, "LD_LIBRARY_PATH": str(libraries), "SIMULATED_GPU_STATE": str(state)}
