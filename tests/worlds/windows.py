"""Windows of steady work, with a little noise."""

import random
from collections.abc import Mapping
from dataclasses import replace

from gpustack.metrics.gpus import Gpu
from gpustack.profile.window import GpuWindow

# A decode of a language model: everything resident, little tensor work, memory near what is reachable.
DECODE = {"engine": 0.99, "sm": 0.9, "tensor": 0.06, "dram": 0.68, "occupancy": 0.4}
COMPUTE = {"engine": 0.99, "sm": 0.9, "tensor": 0.7, "dram": 0.3, "occupancy": 0.2}


def window(levels: Mapping[str, float], samples: int = 90, *, seed: int = 7, **more: object) -> GpuWindow:
    rng = random.Random(seed)
    tracks = {name: [value * rng.gauss(1, 0.01) for _ in range(samples)] for name, value in levels.items()}
    made = GpuWindow(Gpu("gpu1", "0", "GPU-0"), seconds=samples * 15.0, every=15.0, tracks=tracks)
    return replace(made, **more)  # type: ignore[arg-type]
