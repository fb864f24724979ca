"""Checks of the doctor, evaluated on recorded answers."""

from collections.abc import Mapping
from typing import Any

from gpustack.ask.judge import Judgement, judge
from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.checks import BY_ID
from tests.worlds.snapshots import cluster, gpus, hosts
from tests.worlds.snapshots.answers import index_probes, read_case
from tests.worlds.snapshots.build import Answers

SYSTEMS = tuple(gpus.SYSTEMS.items())
# What the recorded cluster leaves out of its hosts.
OF_HOSTS = ("gpu.smi", "gpu.kernels", "containerd.configuration")
RUNTIME = {"containerd.runtime": "with-nvidia", "gpu.runtime-files": "of-the-operator"}


def evaluate(id: str, snapshot: Snapshot, location: str = "h1") -> Judgement:
    return judge(id, BY_ID[id], snapshot, location)


def judge_host(id: str, answers: Mapping[str, Answer], **world: Any) -> Judgement:
    changed_answers = {(probe, "h1"): answer for probe, answer in answers.items()}
    return evaluate(id, hosts.build_snapshot(changed_answers, **world))


def judge_cluster(
    id: str, answers: Answers, location: str = "k1", spec: Mapping[str, Any] | None = None
) -> tuple[str, str]:
    """The outcome and its text on the cluster without GPUs, where everything is well but for these."""
    return summarize(evaluate(id, cluster.build_snapshot(answers, spec), location))


def summarize(judgement: Judgement) -> tuple[str, str]:
    return judgement.outcome, judgement.result.actual if judgement.result else judgement.reason


def judge_gpu_cluster(id: str, location: str = CLUSTER, **cases: str) -> Judgement:
    """Judge a check where everything is well but for these cases."""
    return evaluate(id, snapshot(location, **cases), location)


def snapshot(location: str = CLUSTER, **cases: str) -> Snapshot:
    """The cluster with GPUs but for probes (`scrape__jobs` is scrape.jobs) and their cases. A probe of hosts is that of
    the host judged, of k1 where the cluster is."""
    changed_answers = {
        (probe, host): read_case(probe, f"prepared-{system}") for probe in OF_HOSTS for host, system in SYSTEMS
    }
    changed_answers |= {(probe, host): read_case(probe, case) for probe, case in RUNTIME.items() for host, _ in SYSTEMS}
    for name, case in cases.items():
        probe = name.replace("__", ".").replace("_", "-")
        of_cluster = index_probes()[probe].scope == "cluster"
        place = CLUSTER if of_cluster else "k1" if location == CLUSTER else location
        nodes = probe == "gpu.nodes"
        changed_answers[probe, place] = (
            gpus.read_answers(probe, case)[probe, place] if nodes else read_case(probe, case)
        )
    return gpus.build_snapshot(changed_answers)
