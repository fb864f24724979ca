"""Diagnoses that never were, on the real catalogue: what was judged is invented, the verdict is the engine's."""

from collections.abc import Mapping
from pathlib import Path

from gpustack.ask.judge import Result
from gpustack.ask.probe import Answer, Evidence
from gpustack.ask.snapshot import Reach, index_answers
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.doctor.check import Blocks
from gpustack.doctor.diagnose import add_surroundings
from gpustack.doctor.finding import Diagnosis, Drift
from gpustack.doctor.graph import load_graph
from gpustack.doctor.placed_graph import PlacedGraph
from gpustack.doctor.verdict import build_verdict
from gpustack.remedy.commands import add_commands
from tests.worlds.results.graphs import make_judgements
from tests.worlds.results.plans import PASSWORD, TAKEN_AT
from tests.worlds.snapshots.answers import read_case
from tests.worlds.snapshots.build import build

HOSTS = ("cp1", "gpu1", "gpu2")
INVENTORY = Inventory(
    Path("site/hosts.yml"),
    tuple(
        Host(
            name, f"10.0.0.{index}", groups=frozenset({CONTROL_PLANE if index == 1 else NODE}), become_password=PASSWORD
        )
        for index, name in enumerate(HOSTS, 1)
    ),
    Spec(),
)
RULES = Answer("firewall.live", "gpu1", 0, "== ufw\nyes\n== iptables\n-P FORWARD DROP\n", seconds=0.2)
# What the host says of the last day: a secret in a file's name is not shown.
RECENT = (
    Answer("recent.packages", "gpu1", 0, "5400 install ufw\n300 upgrade cmake\n"),
    Answer(
        "recent.files",
        "gpu1",
        0,
        f"== now\n1795240000\n== booted\n@1795237377\n== files\n1795239880.1 /etc/ufw/{PASSWORD}.rules\n",
    ),
)
# What has to be known of a host before a machine may change it.
IDENTITY = ("system.os", "system.hostname")
UFW = Evidence(
    "gpu1",
    "echo '== ufw'; sed -n 's/^ENABLED=//p' /etc/ufw/ufw.conf\necho '== iptables'; iptables -w 2 -S",
    RULES,
    "iptables -S",
)
STOPPED_TRAFFIC = f"tcp 6443 is blocked by the policy DROP of chain ip filter FORWARD \x1b[31m{PASSWORD}"
DIFFERS = Result("containerd.io", "2.3.7", "2.3.6", "upgrade")


def make_diagnosis(values: Mapping[str, str], drift: tuple[Drift, ...] = (), unreached_host: str = "") -> Diagnosis:
    judgements = make_judgements(values, {("host-ufw-blocks-pods", "gpu1"): (UFW,)})
    joins: dict[str, Blocks] = {"plane-to-hosts": [(("cp1",), HOSTS)], "every-host": [(HOSTS, HOSTS)]}
    reach = [Reach(unreached_host, "host-ssh-unreachable", "timeout")] if unreached_host else []
    reached_hosts = [name for name in HOSTS if name != unreached_host]
    identity = [read_case(probe, "prepared-debian-12", location=name) for probe in IDENTITY for name in reached_hosts]
    addresses = [report_address(host) for host in INVENTORY.hosts if host.name in reached_hosts]
    answers = index_answers([RULES, *RECENT, *identity, *addresses])
    snapshot = build(INVENTORY.hosts, answers, reach=reach, inventory="site/hosts.yml", taken_at=TAKEN_AT, seconds=4.2)
    verdict = build_verdict(PlacedGraph(load_graph(), HOSTS, judgements, joins))
    return add_commands(Diagnosis(snapshot, add_surroundings(verdict, snapshot, judgements, ()), drift, judgements, 42))


def report_address(host: Host) -> Answer:
    """The address of the default route, which is that of the inventory."""
    return Answer("network.address", host.name, 0, f"192.0.2.1 dev eth0 src {host.address} uid 0\n")


def make_healthy_diagnosis() -> Diagnosis:
    return make_diagnosis({"st-apiserver-down@@cluster": "ok", "host-ip-forward-off@cp1": "1"})


def make_ufw_diagnosis() -> Diagnosis:
    """A firewall on one host, another host that cannot be reached, and what both look like from far."""
    return make_diagnosis(
        {
            "host-ufw-blocks-pods@gpu1": f"!{STOPPED_TRAFFIC}",
            "host-ufw-blocks-pods@cp1": "lets all of it through",
            "forward-policy-drop@gpu1": "!DROP",
            "st-api-from-pods-timeout@gpu1 + st-dns-broken@@cluster + op-operator-api-timeout@@cluster": "!timeout",
            "st-target-down@@cluster + st-no-metrics@@cluster + st-dashboard-nodata@@cluster": "!nothing",
            "host-ip-forward-off@gpu1": "1",
            "kube-proxy-down@gpu1": "41 rules of services",
            "st-apiserver-down@@cluster": "ok",
            "host-ssh-unreachable@gpu2": "!timeout",
            "host-ip-forward-off@gpu2 + kube-proxy-down@gpu2 + host-ufw-blocks-pods@gpu2": (
                "?gpu2 was not reached: timeout"
            ),
        },
        unreached_host="gpu2",
    )


def make_unexplained_diagnosis() -> Diagnosis:
    """A state without a cause, a note, and something that differs from the spec."""
    drift = Drift("containerd", "version", ("gpu1", "gpu2"), DIFFERS)
    return make_diagnosis(
        {
            "st-node-notready@gpu1": "!kubelet stopped posting",
            "containerd-not-running@gpu1": "active",
            "kubelet-unknown-flag@gpu1": "?the answer was cut",
            "dns-nameserver-limit@cp1": "!4",
            "st-apiserver-down@@cluster": "?no answer",
        },
        (drift,),
    )


def make_joint_diagnosis() -> Diagnosis:
    """Two faults of one act, on all hosts."""
    names = " + ".join(f"containerd-cgroup-driver@{host}" for host in HOSTS)
    further_roots = " + ".join(f"op-nvidia-runtime-handler-missing@{host}" for host in HOSTS)
    guard = " + ".join(f"op-nvidia-runtime-handler-missing guard@{host}" for host in HOSTS)
    return make_diagnosis(
        {names: "!cgroupfs", further_roots: "!none", guard: "!runs", "st-apiserver-down@@cluster": "!refused"}
    )
