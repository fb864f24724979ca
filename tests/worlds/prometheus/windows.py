"""Windows of steady work, with a little noise.

    python -m tests.worlds.prometheus.windows FILE

writes an hour of eight GPUs at 1 s, with all quantities, for scripts/bench.
"""

import random
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gpustack.metrics.gpus import Gpu
from gpustack.profile.file import build_profile, write_profile
from gpustack.profile.window import QUANTITIES, GpuWindow, Job

# A decode of a language model: everything resident, little tensor work, memory near what is reachable.
CLOCKS = {"clock": 1.9e9, "clock_max": 1.98e9}
DECODE = {"engine": 0.99, "sm": 0.9, "tensor": 0.06, "dram": 0.82, "occupancy": 0.4, **CLOCKS}
COMPUTE = {"engine": 0.99, "sm": 0.9, "tensor": 0.7, "dram": 0.3, "occupancy": 0.2, **CLOCKS}
STEADY = ("clock_max", "power_limit")


def build_window(levels: Mapping[str, float], samples: int = 90, *, seed: int = 7, **fields: object) -> GpuWindow:
    rng = random.Random(seed)
    tracks = {
        name: [value * (1 if name in STEADY else rng.gauss(1, 0.01)) for _ in range(samples)]
        for name, value in levels.items()
    }
    window = GpuWindow(Gpu("gpu1", "0", "GPU-0"), seconds=samples * 15.0, interval=15.0, tracks=tracks)
    return replace(window, **fields)  # type: ignore[arg-type]


def make_hour(gpus: int = 8, seconds: int = 3600) -> Job:
    levels = dict.fromkeys(QUANTITIES, 0.5) | {"power": 600.0, "clock": 1.9e9, "pcie_receive": 1e9}
    windows = (build_window(levels, seconds, seed=number) for number in range(gpus))
    return Job(
        tuple(
            replace(gpu_window, gpu=Gpu("gpu1", str(number), f"GPU-{number}"), seconds=float(seconds), interval=1.0)
            for number, gpu_window in enumerate(windows)
        )
    )


if __name__ == "__main__":
    write_profile(build_profile(make_hour(), "gpu1", "", 0.0, 3600.0), Path(sys.argv[1]))
