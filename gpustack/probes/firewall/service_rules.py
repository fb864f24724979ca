"""kube-proxy on a host: whether it answers, and whether the kernel has the rules that it writes, in which backend."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Lines, Probe
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
    Lines(r"""count() {
  awk '/^[*]/ {table = $1}
    table == "*nat" && /^-A (PREROUTING|OUTPUT) .*-j KUBE-SERVICES$/ {jumps++}
    table == "*nat" && /^-A KUBE-SERVICES / {services++}
    /^-A .*(KUBE-(SERVICES|SVC|SEP|NODEPORTS|FORWARD)|FLANNEL-)/ {all++}
    END {print jumps + 0, services + 0, all + 0}'
}
echo '== health'
curl -s -o /dev/null --noproxy '*' -m 2 http://127.0.0.1:10256/healthz
echo $?
saved() {
  said=$("$1" -t "$2" 2>/dev/null) || exit
  case $said in '' | *'# Completed on '*) ;; *) exit 1 ;; esac
  echo "$said"
}
echo '== legacy'
rules=$(for table in nat filter; do
  ! grep -qsx "$table" /proc/net/ip_tables_names || saved iptables-legacy-save "$table"
done) || exit
echo "$rules" | count
echo '== nft'
rules=$(for table in nat filter; do
  ! command -v iptables-nft-save >/dev/null || saved iptables-nft-save "$table"
done) || exit
echo "$rules" | count
echo '== table'
command -v nft >/dev/null || { echo no; exit 0; }
said=$(nft list table ip kube-proxy 2>/dev/null)
case "$? $said" in
  '0 table ip kube-proxy'*'}') echo yes ;;
  '1 ') echo no ;;
  *) exit 1 ;;
esac"""),
    proxy,
    like="curl http://127.0.0.1:10256/healthz; iptables-save | grep KUBE-",
)
