"""Hosts and a cluster as a proof finds them: kube1 without GPUs, h1 (node gpu1) with two."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer, Probe
from gpustack.ask.snapshot import Reach, Snapshot, index_answers
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.proof import NODES, PODS
from tests.worlds.snapshots import answers
from tests.worlds.snapshots.build import build

NO_UUID = "00000000-0000-0000-0000-000000000000"


def read_case(probe: Probe[Any], case: str) -> Answer:
    return answers.read_case(probe.id, case, location=CLUSTER)


def make_host_answers(host: str, machine: str, devices: str = "") -> list[Answer]:
    return [Answer(IDENTITY.id, host, 0, f"{machine}\n{NO_UUID}\n"), Answer(GPU_DEVICES.id, host, 0, devices)]


def build_snapshot(
    answers: Sequence[Answer], hosts: Sequence[str] = ("kube1", "h1"), lost_hosts: Mapping[str, str] | None = None
) -> Snapshot:
    groups = (frozenset({CONTROL_PLANE, NODE}), frozenset({NODE}))
    placed_hosts = tuple(Host(name, name, groups=groups[min(index, 1)]) for index, name in enumerate(hosts))
    reach = [Reach(name, "host-ssh-unreachable", reason) for name, reason in (lost_hosts or {}).items()]
    return build(placed_hosts, index_answers(answers), reach=reach)


TWO = "0000:65:00.0 0x2330\n0000:66:00.0 0x2330\n"
CALM = [
    read_case(NODES, "two-gpus"),
    read_case(PODS, "none"),
    *make_host_answers("kube1", "a" * 32),
    *make_host_answers("h1", "b" * 32, TWO),
]


def add_answers(*further_answers: Answer) -> list[Answer]:
    return [*CALM, *further_answers]
