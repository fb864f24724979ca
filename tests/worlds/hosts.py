"""Two hosts of recorded answers, h1 on Debian 12 (control plane) and h2 on Debian 13; a test changes what it needs.

They were recorded on lab hosts, fresh or prepared by the steps prereqs, containerd and kubernetes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.view import View
from gpustack.config.host import CONTROL_PLANE, NODE, Host, HostSpec
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.steps.step import Step
from tests.worlds.cases import CASES, recorded, written
from tests.worlds.judge import judge

H1 = Host(
    "h1", "10.77.1.11", groups=frozenset({CONTROL_PLANE}), spec=HostSpec(gpustack_node_ip=IPv4Address("10.77.1.11"))
)
H2 = Host("h2", "10.77.1.12", groups=frozenset({NODE}))
RELEASES = {"h1": "debian-12", "h2": "debian-13"}
# What the hosts were prepared with. The lab's kernel has cgroup v1, and its clock is the machine's.
SPEC: dict[str, Any] = {
    "source": {
        "mirror": "http://10.77.1.1:8480",
        "fingerprint": "B02F2293F7B78A3111583174AF233E29F632E03B",
        "purpose": "lab",
    },
    "kubernetes": {"version": "1.36.4"},
    "containerd": {"version": "2.3.7", "restrict_oom_score_adj": True},
    "kubelet": {"failCgroupV1": False},
    "time_sync": "external",
}
UBUNTU = written("system.os", 'x86_64\nID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n')

Answers = Mapping[tuple[str, str], Answer]


def answers(state: str) -> dict[tuple[str, str], Answer]:
    """All recorded answers of both hosts in a state: `fresh` or `prepared`."""
    return {
        (path.name, host): recorded(path.name, f"{state}-{release}")
        for host, release in RELEASES.items()
        for path in CASES.iterdir()
        if (path / f"{state}-{release}.json").exists()
    }


@dataclass(frozen=True)
class World:
    """What a test may change beside answers and spec: the host judged, the state both are in, who was reached."""

    on: str = "h1"
    state: str = "prepared"
    unreached: tuple[str, ...] = ()
    hosts: tuple[Host, ...] = (H1, H2)


def snapshot(changed: Answers, spec: Mapping[str, Any], world: World = World()) -> Snapshot:
    placed = {key: replace(answer, where=key[1]) for key, answer in (answers(world.state) | dict(changed)).items()}
    inventory = Inventory(Path("hosts.yml"), world.hosts, Spec.model_validate(SPEC | dict(spec)))
    refused = dict.fromkeys(world.unreached, "host-ssh-unreachable")
    reach = {host.name: Reach(host.name, refused.get(host.name, "")) for host in world.hosts}
    return Snapshot(datetime(2026, 11, 21, 5, tzinfo=UTC), inventory, reach, placed)


def judged(
    step: Step, changed: Answers | None = None, spec: Mapping[str, Any] | None = None, **world: Any
) -> dict[str, Judgement]:
    """By check. `world` are fields of World."""
    here = World(**world)
    view = View(snapshot(changed or {}, spec or {}, here), here.on)
    return {found.id: found for found in (judge(check, view) for check in step.checks)}


def broken(
    step: Step, changed: Answers | None = None, spec: Mapping[str, Any] | None = None, **world: Any
) -> dict[str, tuple[str, str]]:
    """(found, cure) of what differs, by check. Fails when a check cannot tell."""
    found = judged(step, changed, spec, **world)
    assert [one for one in found.values() if one.outcome == "unknown"] == []
    return {check: (one.result.found, one.result.cure) for check, one in found.items() if one.result}
