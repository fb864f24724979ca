"""The simulated driver as programs use it: compiled with all warnings, called as NVML's documentation says, and
nvidia-smi with the answers, failures and exit codes of the real one."""

import fcntl
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from gpustack_lab.simulated import hardware

ROOT = Path(__file__).parents[2]
SET_LOCK = 37  # F_OFD_SETLK: a lock of the open file, not of the process
CALLS = Path(__file__).with_name("nvml_calls.py")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    hardware.install_gpus(tmp_path, "lab", "host1", 2, "H100")
    return tmp_path


def build_environment(libraries: Path, root: Path | None) -> dict[str, str]:
    home = root / hardware.DIRECTORY if root else Path("/nowhere")
    values = {"SIMULATED_GPU_STATE": str(home / "state"), "SIMULATED_GPU_EVENTS": str(home / "events")}
    return os.environ | {"LD_LIBRARY_PATH": str(libraries)} | (values if root else {})


def run_smi(libraries: Path, root: Path | None, *words: str) -> "subprocess.CompletedProcess[str]":
    argv = [str(libraries / "nvidia-smi"), *words]
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=20, check=False, env=build_environment(libraries, root)
    )


def test_nvml_answers_as_documented(driver_folder: Path, root: Path) -> None:
    """Structures and codes, called with declarations of the test's own in a process of their own."""
    hardware.change(root, [1], ["load=training", "temp=92", "ecc-dbe=2", "remap_pending=1"])
    process = subprocess.run(
        [sys.executable, CALLS, driver_folder / "libnvidia-ml.so", root / hardware.DIRECTORY / "events"],
        capture_output=True, text=True, timeout=30, check=False, env=build_environment(driver_folder, root),
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    state = hardware.read(root)
    assert state
    assert process.stdout.splitlines() == [
        f"driver {hardware.DRIVER} cuda {hardware.CUDA} count 2",
        f"0 {state.gpus[0].uuid} NVIDIA H100 80GB HBM3 00000000:17:00.0 233010de 0:17:0 0000:17:00.0",
        f"memory {81559 << 20} 0 temperature 34 power 71000 utilization 0 ecc 0 reasons 1 clock 345",
        f"1 {state.gpus[1].uuid} NVIDIA H100 80GB HBM3 00000000:1F:00.0 233010de 0:1f:0 0000:1F:00.0",
        f"memory {81559 << 20} {70141 << 20} temperature 92 power 618819 utilization 98 ecc 2 reasons 72 clock 660",
        "remapped 0 0 1 0 mig 0 of 0 fan 3",
        "event 8 31 of 1",
        "no event 10",
    ]


def test_a_gpu_shows_the_work_of_a_process(driver_folder: Path, root: Path) -> None:
    """The process stands for dcgmproftester: it holds a byte of the state, which it can only read. The GPU keeps what
    was set."""
    query = ("--query-gpu=utilization.gpu,memory.used,power.draw", "--format=csv,noheader,nounits")
    hardware.change(root, [0], ["power=99"])
    idle = run_smi(driver_folder, root, *query).stdout.splitlines()
    with (root / hardware.DIRECTORY / "state").open() as state:
        for minor in (0, 1):
            fcntl.fcntl(state, SET_LOCK, struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, minor * 65536 + 1004, 1, 0))
        assert run_smi(driver_folder, root, *query).stdout.splitlines() == ["100, 2400, 99.00", "100, 2400, 630.00"]
    assert run_smi(driver_folder, root, *query).stdout.splitlines() == idle == ["0, 0, 99.00", "0, 0, 71.00"]


@pytest.mark.parametrize("library", ["libnvidia-ml.so", "libcuda.so"])
def test_libraries_run_on_the_oldest_release_and_show_nothing_else(driver_folder: Path, library: str) -> None:
    if shutil.which("objdump") is None:
        pytest.skip("no objdump on this machine")
    output = subprocess.run(
        ["objdump", "-T", driver_folder / library], capture_output=True, text=True, timeout=20, check=True
    ).stdout
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", output)}
    assert max(versions) <= (2, 36)  # Debian 12
    symbols = re.findall(r"\.text\s\S+\s+(?:Base\s+)?(\S+)$", output, re.MULTILINE)
    assert symbols
    assert [name for name in symbols if not name.startswith(("nvml", "cu"))] == []


def test_nvidia_smi_lists_gpus_and_uuids(driver_folder: Path, root: Path) -> None:
    state = hardware.read(root)
    assert state
    texts = [f"GPU {i}: NVIDIA H100 80GB HBM3 (UUID: {gpu.uuid})" for i, gpu in enumerate(state.gpus)]
    assert run_smi(driver_folder, root, "-L").stdout.splitlines() == texts


def test_the_table_has_straight_edges(driver_folder: Path, root: Path) -> None:
    hardware.change(root, [0], ["load=training", "ecc-dbe=12"])
    lines = run_smi(driver_folder, root).stdout.splitlines()[1:]
    assert {len(line) for line in lines if line.strip()} == {91}
    assert [line for line in lines if "70141MiB /  81559MiB |     98%      Default |" in line]
    assert "SIMULATED" not in "\n".join(lines).upper()


def test_a_query_prints_the_fields(driver_folder: Path, root: Path) -> None:
    fields = (
        "index,uuid,name,driver_version,pci.bus_id,memory.total,memory.used,temperature.gpu,power.draw,utilization.gpu,"
        "ecc.errors.uncorrected.volatile.total,mig.mode.current"
    )
    head, first, _ = run_smi(driver_folder, root, f"--query-gpu={fields}", "--format=csv").stdout.splitlines()
    assert head.split(", ")[5:10] == [
        "memory.total [MiB]", "memory.used [MiB]", "temperature.gpu", "power.draw [W]", "utilization.gpu [%]",
    ]  # fmt: skip
    assert first.split(", ")[2:] == [
        "NVIDIA H100 80GB HBM3", hardware.DRIVER, "00000000:17:00.0", "81559 MiB", "0 MiB", "34", "71.00 W", "0 %", "0",
        "Disabled",
    ]  # fmt: skip
    bare = run_smi(
        driver_folder, root, "--query-gpu=index,power.draw,mig.mode.current", "--format=csv,noheader,nounits"
    )
    assert bare.stdout == "0, 71.00, Disabled\n1, 71.00, Disabled\n"


def test_a_compute_mode_is_printed_by_its_name(driver_folder: Path, root: Path) -> None:
    hardware.change(root, [1], ["compute_mode=2"])
    process = run_smi(driver_folder, root, "--query-gpu=pci.bus_id,compute_mode", "--format=csv,noheader")
    assert process.stdout == "00000000:17:00.0, Default\n00000000:1F:00.0, Prohibited\n"
    assert "Prohibited |" in run_smi(driver_folder, root).stdout


def test_a_query_of_rows_prints_remapped_rows(driver_folder: Path, root: Path) -> None:
    hardware.change(root, [1], ["remap_pending=1"])
    fields = "gpu_bus_id,remapped_rows.pending,remapped_rows.failure"
    result = run_smi(driver_folder, root, f"--query-remapped-rows={fields}", "--format=csv,noheader")
    assert result.stdout == "00000000:17:00.0, No, No\n00000000:1F:00.0, Yes, No\n"


def test_no_mig_is_not_disabled_mig(driver_folder: Path, tmp_path: Path) -> None:
    hardware.install_gpus(tmp_path, "lab", "host1", 1, "T4")
    result = run_smi(driver_folder, tmp_path, "--query-gpu=mig.mode.current,ecc.mode.current", "--format=csv,noheader")
    assert result.stdout == "[N/A], Enabled\n"


def test_an_unknown_field_is_refused(driver_folder: Path, root: Path) -> None:
    process = run_smi(driver_folder, root, "--query-gpu=index,beauty", "--format=csv")
    assert (process.returncode, process.stdout.splitlines()[0]) == (2, 'Field "beauty" is not a valid field to query.')


def test_a_lost_gpu_ends_everything(driver_folder: Path, root: Path) -> None:
    hardware.change(root, [1], ["lost"])
    for words in ([], ["-L"], ["--query-gpu=uuid", "--format=csv"]):
        process = run_smi(driver_folder, root, *words)
        assert process.returncode == 15
        assert "Unable to determine the device handle for GPU1: 00000000:1F:00.0: GPU is lost." in process.stdout
    hardware.change(root, [1], ["found"])
    assert run_smi(driver_folder, root).returncode == 0


def test_without_a_driver_nvidia_smi_fails(driver_folder: Path) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has a driver")
    process = run_smi(driver_folder, None)
    assert process.returncode == 9
    assert process.stdout.startswith("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")


def test_without_its_library_nvidia_smi_fails(driver_folder: Path, root: Path, tmp_path: Path) -> None:
    shutil.copy(driver_folder / "nvidia-smi", tmp_path)
    process = subprocess.run([tmp_path / "nvidia-smi"], capture_output=True, text=True, timeout=20, check=False)
    if process.returncode != 12:
        pytest.skip("this machine has a driver")
    assert "couldn't find libnvidia-ml.so library in your system" in process.stdout


def test_without_gpus_nvidia_smi_finds_none(driver_folder: Path, root: Path) -> None:
    path = root / hardware.DIRECTORY / "state"
    path.write_text("\n".join(line for line in path.read_text().splitlines() if not line.startswith("gpu")))
    process = run_smi(driver_folder, root)
    assert (process.returncode, process.stdout) == (6, "No devices were found\n")


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_and_version_say_that_it_is_simulated(driver_folder: Path, root: Path, word: str) -> None:
    assert "SIMULATED" in run_smi(driver_folder, root, word).stdout


def test_a_reset_forgets_what_the_driver_reported_of_the_gpu(driver_folder: Path, root: Path) -> None:
    hardware.change(root, [0, 1], ["xid=48", "recovery=1", "power=99"])
    before = hardware.read(root)
    assert before
    process = run_smi(driver_folder, root, "--gpu-reset", "-i", before.gpus[1].uuid)
    assert (process.returncode, process.stdout) == (0, "GPU 00000000:1F:00.0 was successfully reset.\n")
    after = hardware.read(root)
    assert after
    assert after.gpus[0] == before.gpus[0]
    assert (after.gpus[1].facts, after.gpus[1].live) == (before.gpus[1].facts, {"power": "99"})
    assert after.unknown_lines == before.unknown_lines
    assert (root / hardware.DIRECTORY / "events").read_text().splitlines()[-1].startswith("xid 1 0 ")


def test_a_reset_without_a_choice_is_of_all_gpus(driver_folder: Path, root: Path) -> None:
    hardware.change(root, [0, 1], ["xid=48"])
    assert run_smi(driver_folder, root, "--gpu-reset").stdout.count("was successfully reset.") == 2
    state = hardware.read(root)
    assert state
    assert [gpu.live for gpu in state.gpus] == [{}, {}]


def test_a_gpu_that_is_not_there_or_fell_off_the_bus_is_not_reset(driver_folder: Path, root: Path) -> None:
    assert run_smi(driver_folder, root, "--gpu-reset", "-i", "GPU-of-nobody").returncode == 6
    hardware.change(root, [1], ["lost"])
    process = run_smi(driver_folder, root, "--gpu-reset")
    assert process.returncode == 15
    assert "Reboot the system to recover this GPU" in process.stdout
