"""Sources of verdicts on the two nodes of tests/worlds/programs/node_api.py, constructed from readings of an H100."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from gpustack.health.host_sources import HostSources
from gpustack.health.sources import NodeOffer, Sources
from gpustack.metrics.readings import build_readings
from tests.worlds.prometheus.gpu_series import build_gpu_series

RESOURCE = "nvidia_com_gpu"
NODES = ("gpu1", "k1")


@dataclass
class UnwellGpus:
    """Hold the values of the first GPU of gpu1, where Xid 48 and the driver ask for a reset. The kubelet withholds
    `withheld_count` of its GPUs, `lag` is how old Prometheus' clock is in seconds, and all nodes of `wave` have the
    same fault."""

    values: dict[str, float] = field(default_factory=lambda: {"XID_ERRORS": 48.0, "GET_GPU_RECOVERY_ACTION": 1.0})
    withheld_count: int = 0
    lag: float = 0.0
    wave: Collection[str] = ()

    def read_sources(self, _: object, hosts: HostSources) -> Sources:
        moment = time.time() - self.lag
        series = [
            replace(entry, points=((moment - 5, entry.points[0][1]),))
            for node in dict.fromkeys((*NODES, *self.wave))
            for index in range(4)
            for entry in build_gpu_series(
                node,
                index,
                **{"XID_ERRORS": 0.0} | (self.values if index == 0 and node in ("gpu1", *self.wave) else {}),
            )
        ]
        offers = {node: NodeOffer({RESOURCE: 4}, {RESOURCE: 4}) for node in NODES}
        offers["gpu1"] = NodeOffer({RESOURCE: 4}, {RESOURCE: 4 - self.withheld_count})
        return Sources(build_readings(series, {}), offers, frozenset(), {}, (), time=moment, hosts=hosts)
