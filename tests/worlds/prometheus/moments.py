"""GPUs at one moment, for tests of what is served."""

from itertools import chain

from gpustack.metrics.prometheus import Series
from gpustack.metrics.readings import build_readings
from gpustack.serve.moment import Moment, build_moment
from tests.worlds.prometheus.gpu_series import BUSY, build_gpu_series

NAN = float("nan")


def build_labels(namespace: str, pod: str, **further_labels: str) -> dict[str, str]:
    return {"exported_namespace": namespace, "exported_pod": pod, **further_labels}


def make_served_series() -> list[Series]:
    """Two pods of a Deployment with one and two GPUs, one whose second GPU does not measure SMs, a free GPU, and two
    instances of one in MIG mode."""
    half = BUSY | {"PROF_SM_ACTIVE": 0.45, "POWER_USAGE": 320}
    mig = {"GPU_I_PROFILE": "1g.10gb"}
    return list(
        chain(
            build_gpu_series("gpu1", 0, build_labels("team-a", "vllm-7d9-x2k"), **BUSY),
            build_gpu_series("gpu1", 1, build_labels("team-a", "vllm-7d9-q8f"), **half),
            build_gpu_series("gpu1", 2, build_labels("team-a", "vllm-7d9-q8f"), **half),
            build_gpu_series("gpu2", 0, build_labels("team-b", "train-0"), **BUSY),
            build_gpu_series("gpu2", 1, build_labels("team-b", "train-0"), **BUSY | {"PROF_SM_ACTIVE": NAN}),
            build_gpu_series("gpu2", 2, **BUSY),
            build_gpu_series("gpu3", 0, build_labels("team-c", "small", GPU_I_ID="7", **mig), **BUSY),
            build_gpu_series("gpu3", 0, {"GPU_I_ID": "8", **mig}, **BUSY),
        )
    )


def make_moment(*series: list[Series]) -> Moment:
    return build_moment(build_readings(chain(*series), {}), prometheus_time=1010.0)
