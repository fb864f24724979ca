"""How a check is asked on recorded answers, and what it said."""

from collections.abc import Mapping
from typing import Any

from gpustack.ask.judge import Judgement, judge
from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.checks import BY_ID
from tests.worlds import gpus, hosts
from tests.worlds.cases import probes, recorded

SYSTEMS = tuple(gpus.SYSTEMS.items())
# What the recorded cluster leaves out of its hosts.
OF_HOSTS = ("gpu.smi", "gpu.kernels", "containerd.configuration")
RUNTIME = {"containerd.runtime": "with-nvidia", "gpu.runtime-files": "of-the-operator"}


def asked(id: str, snapshot: Snapshot, where: str = "h1") -> Judgement:
    return judge(id, BY_ID[id], snapshot, where)


def on_host(id: str, answers: Mapping[str, Answer], **world: Any) -> Judgement:
    changed = {(probe, "h1"): answer for probe, answer in answers.items()}
    return asked(id, hosts.snapshot(changed, **world))


def told(found: Judgement) -> tuple[str, str]:
    return found.outcome, found.result.found if found.result else found.why


def in_cluster(id: str, where: str = CLUSTER, **cases: str) -> Judgement:
    """On the cluster with GPUs, where everything is well but for these."""
    return asked(id, world(where, **cases), where)


def world(where: str = CLUSTER, **cases: str) -> Snapshot:
    """The cluster with GPUs but for probes (`scrape__jobs` is scrape.jobs) and their cases. A probe of hosts is that of
    the host judged, of k1 where the cluster is."""
    changed = {(probe, host): recorded(probe, f"prepared-{system}") for probe in OF_HOSTS for host, system in SYSTEMS}
    changed |= {(probe, host): recorded(probe, case) for probe, case in RUNTIME.items() for host, _ in SYSTEMS}
    for name, case in cases.items():
        probe = name.replace("__", ".").replace("_", "-")
        of_cluster = probes()[probe].location == "cluster"
        place = CLUSTER if of_cluster else "k1" if where == CLUSTER else where
        nodes = probe == "gpu.nodes"
        changed[probe, place] = gpus.here(probe, case)[probe, place] if nodes else recorded(probe, case)
    return gpus.world(changed)
