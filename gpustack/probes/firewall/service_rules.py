"""State of kube-proxy on a host: whether it answers, and whether the kernel has the rules that it writes, in which
backend."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.parsing import FLAGS, parse_integer
from gpustack.probes.sections import parse_sections


@dataclass(frozen=True)
class RuleCounts:
    """Count rules of one backend of iptables.

    In table nat, `jumps` into KUBE-SERVICES from PREROUTING and OUTPUT, and rules in it (`services`); in any table, all
    rules of Kubernetes or Flannel (`total`).
    """

    jumps: int
    services: int
    total: int


@dataclass(frozen=True)
class Proxy:
    """Hold the state of kube-proxy on a host. `listening`: a program listens on its port of health; `table`: the kernel
    has nftables' table kube-proxy."""

    listening: bool
    legacy: RuleCounts
    nft: RuleCounts
    table: bool


@dataclass(frozen=True)
class ProxySet:
    """Describe the DaemonSet of kube-proxy.

    `desired_pods`: how many nodes it is to run on; `is_restricted`: it has an affinity, or a selector of nodes that
    kubeadm does not set (kubernetes.io/os: linux alone).
    """

    desired_pods: int
    is_restricted: bool


def parse_proxy_set(answer: Answer) -> ProxySet | None:
    daemon_set = next((entry for entry in list_objects(answer) if entry["metadata"]["name"] == "kube-proxy"), None)
    if daemon_set is None:
        return None
    pods = daemon_set["spec"]["template"].get("spec", {})
    is_restricted = bool(pods.get("affinity")) or pods.get("nodeSelector", {}) != {"kubernetes.io/os": "linux"}
    return ProxySet(daemon_set.get("status", {}).get("desiredNumberScheduled", 0), is_restricted)


def parse_proxy(answer: Answer) -> Proxy:
    """Parse the state of kube-proxy. Raise ValueError where the answer has another shape."""
    health, legacy, nft, table = parse_sections(answer.stdout, "health", "legacy", "nft", "table")
    (curl_rc,), (nft_table,) = health, table
    if curl_rc not in ("0", "7", "28", "52", "56"):
        raise ValueError(curl_rc)
    return Proxy(curl_rc != "7", parse_rule_counts(legacy), parse_rule_counts(nft), FLAGS[nft_table])


def parse_rule_counts(lines: list[str]) -> RuleCounts:
    (line,) = lines
    return RuleCounts(*map(parse_integer, line.split(" ")))


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
    parse_proxy_set,
)
# The tables of the older backend are asked only where they are: asking would load them.
PROXY = Probe(
    "kube-proxy.host",
    Lines(read_script(__file__, "kube_proxy.sh")),
    parse_proxy,
    manual_command="curl http://127.0.0.1:10256/healthz; iptables-save | grep KUBE-",
)
