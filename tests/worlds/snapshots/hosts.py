"""Two hosts of recorded answers, h1 on Debian 12 (control plane) and h2 on Debian 13; a test changes what it needs.

They were recorded on lab hosts, fresh or prepared by the steps prereqs, containerd and kubernetes.
"""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address
from typing import Any

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.config.host import CONTROL_PLANE, NODE, Host, HostSpec
from gpustack.steps.step import Step
from tests.worlds.snapshots.answers import CASES, find_case, make_answer, read_case
from tests.worlds.snapshots.build import Answers, build
from tests.worlds.snapshots.judge import judge_checks

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
        "simulated": "allowed",
    },
    "kubernetes": {"version": "1.36.4"},
    "containerd": {"version": "2.3.7", "restrict_oom_score_adj": True},
    "kubelet": {"failCgroupV1": False},
    "time_sync": "external",
}
UBUNTU = make_answer("system.os", 'x86_64\nID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n')


def load_answers(state: str) -> dict[tuple[str, str], Answer]:
    """Return the recorded answers of both hosts in a state: `fresh` or `prepared`."""
    return {
        (path.name, host): read_case(path.name, case)
        for host, release in RELEASES.items()
        for path in CASES.iterdir()
        if (case := find_case(path.name, f"{state}-{release}"))
    }


def build_snapshot(
    changed_answers: Answers | None = None,
    spec: Mapping[str, Any] | None = None,
    *,
    state: str = "prepared",
    hosts: Sequence[Host] = (H1, H2),
    unreached_hosts: Sequence[str] = (),
) -> Snapshot:
    """Snapshot both hosts in a state, but for what is changed."""
    reach = [Reach(name, "host-ssh-unreachable") for name in unreached_hosts]
    return build(hosts, load_answers(state) | dict(changed_answers or {}), SPEC | dict(spec or {}), reach)


def judge(
    step: Step,
    changed_answers: Answers | None = None,
    spec: Mapping[str, Any] | None = None,
    on: str = "h1",
    **world: Any,
) -> dict[str, Judgement]:
    """Judge the checks of a step on one host. `world` are arguments of snapshot."""
    return judge_checks(step, build_snapshot(changed_answers, spec, **world), on)
