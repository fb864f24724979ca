"""The example of a load: it calls the driver, compares results, and serves its metrics.

The driver is a stand-in. The kernels were assembled with ptxas of CUDA 12.4 for sm_50 to sm_90, and never ran on a GPU.
"""

import ctypes
import importlib.util
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from gpustack.metrics.exposition import fetch_families
from gpustack.metrics.web import Access, Web

EXAMPLE = Path(__file__).parents[3] / "examples" / "load"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("load", EXAMPLE / "load.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PORT", 0)
    return module


class Driver:
    """Stand in for libcuda.so.1: a board of two multiprocessors, whose kernels give `result`."""

    def __init__(self, major: int, result: float, error: str = "") -> None:
        self.major, self.result, self.error, self.sources = major, result, error, list[str]()

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            if name == "cuDeviceGetAttribute":
                arguments[0]._obj.value = self.major if arguments[1] == 75 else 2
            if name == "cuModuleLoadData":
                self.sources.append(arguments[1].value.decode())
            if name == "cuMemcpyDtoH_v2":
                values = arguments[0]
                values[:] = [self.result] * len(values)
            if name == "cuGetErrorName":
                arguments[1]._obj.value = b"CUDA_ERROR_LAUNCH_FAILED"
                return 0
            return 719 if name == self.error else 0

        return call


def run_load(load: ModuleType, driver: Driver, monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: driver)
    for name, value in {"LOAD_SECONDS": "0.1", "LOAD_MEMORY_MIB": "16", **variables}.items():
        monkeypatch.setenv(name, value)
    load.main()


@pytest.mark.parametrize(("major", "target", "result"), [(9, "sm_80", 16.0 * 4096), (7, "sm_50", 4096.0)])
def test_each_generation_gets_its_kernel(
    major: int,
    target: str,
    result: float,
    load: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    driver = Driver(major, result)
    run_load(load, driver, monkeypatch, LOAD_BUSY="0.1")
    assert [f".target {target}" in source for source in driver.sources] == [True]
    assert "all results right" in capsys.readouterr().err


def test_a_wrong_result_ends_the_load(load: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="wrong results"):
        run_load(load, Driver(9, 4095.0), monkeypatch, LOAD_BUSY="0.1")


def test_an_error_of_the_driver_is_named(load: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match=r"cuLaunchKernel: CUDA_ERROR_LAUNCH_FAILED \(719\)"):
        run_load(load, Driver(9, 1.0, "cuLaunchKernel"), monkeypatch)


def test_its_metrics_are_of_their_kinds(load: ModuleType) -> None:
    load.Page.counts.update(kernels=7, memory=4 << 30)
    with ThreadingHTTPServer(("127.0.0.1", 0), load.Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/metrics"
        families = {family.name: family for family in fetch_families(Web(Access(url)))}
        server.shutdown()
    assert {name: (family.kind, family.series[0].points[0][1]) for name, family in families.items()} == {
        "gpu_load_kernels": ("counter", 7.0),
        "gpu_load_memory_allocated_bytes": ("gauge", float(4 << 30)),
    }


def test_the_manifest_mounts_the_program_and_asks_for_one_gpu() -> None:
    job, monitor = yaml.safe_load_all((EXAMPLE / "load.yaml").read_text())
    pod = job["spec"]["template"]
    container = pod["spec"]["containers"][0]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert container["command"] == ["python", f"{container['volumeMounts'][0]['mountPath']}/load.py"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    program = (EXAMPLE / "load.py").read_text()
    assert [entry["name"] for entry in container["env"] if entry["name"].startswith("LOAD_")] == [
        name for name in ("LOAD_MEMORY_MIB", "LOAD_BUSY", "LOAD_SECONDS") if f'"{name}"' in program
    ]
