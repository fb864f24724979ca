"""kube-proxy on a host: whether it answers, and whether the kernel has the rules that it writes, in which backend."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.kubernetes.nodes import entries
from gpustack.probes.parsing import number
from gpustack.probes.sections import read_sections


@dataclass(frozen=True)
class Rules:
    """One backend of iptables. In table nat, `jumps` into KUBE-SERVICES from PREROUTING and OUTPUT, and rules in it
    (`services`); in any, all rules of Kubernetes or Flannel (`all`)."""

    jumps: int
    services: int
    all: int


@dataclass(frozen=True)
class Proxy:
    """`listening` where something answers on its port of health; `table`: the kernel has nftables' table kube-proxy."""

    listening: bool
    legacy: Rules
    nft: Rules
    table: bool


@dataclass(frozen=True)
class ProxySet:
    """The DaemonSet of kube-proxy. `wanted`: how many nodes it is to run on; `kept` where it has an affinity, or a
    selector of nodes that kubeadm does not give it (kubernetes.io/os: linux alone)."""

    wanted: int
    kept: bool


def proxy_set(answer: Answer) -> ProxySet | None:
    found = next((entry for entry in entries(answer) if entry["metadata"]["name"] == "kube-proxy"), None)
    if found is None:
        return None
    pods = found["spec"]["template"].get("spec", {})
    kept = bool(pods.get("affinity")) or pods.get("nodeSelector", {}) != {"kubernetes.io/os": "linux"}
    return ProxySet(found.get("status", {}).get("desiredNumberScheduled", 0), kept)


def proxy(answer: Answer) -> Proxy:
    """Raises ValueError for an answer of another shape."""
    health, legacy, nft, table = read_sections(answer.out, "health", "legacy", "nft", "table")
    (ended,), (there,) = health, table
    if ended not in ("0", "7", "28", "52", "56"):
        raise ValueError(ended)
    return Proxy(ended != "7", rules(legacy), rules(nft), {"yes": True, "no": False}[there])


def rules(lines: list[str]) -> Rules:
    (line,) = lines
    return Rules(*map(number, line.split(" ")))


PROXY_SET = Probe(
    "kube-proxy.daemon-set",
    Api(
        "/apis/apps/v1/namespaces/kube-system/daemonsets",
        (
            "metadata.name",
            "spec.template.spec.affinity",
            "spec.template.spec.nodeSelector",
            "status.desiredNumberScheduled",
        ),
    ),
    proxy_set,
)
# The tables of the older backend are asked only where they are: asking would load them.
PROXY = Probe(
    "kube-proxy.host",
    Lines(read_script(__file__, "kube_proxy.sh")),
    proxy,
    like="curl http://127.0.0.1:10256/healthz; iptables-save | grep KUBE-",
)
