"""Name servers of CoreDNS: the file that the kubelet gives pods, and whether CoreDNS asks its servers."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.probes.kubernetes.nodes import list_objects


@dataclass(frozen=True)
class Resolver:
    """Hold the file that the kubelet gives pods, and its name servers."""

    file: str
    servers: tuple[str, ...]


def parse_resolver(answer: Answer) -> Resolver | None:
    """Parse the file and its name servers, or None where there is no kubelet with a configuration."""
    if not answer.stdout:
        return None
    first, *rest = (line.split(" ", 1) for line in answer.stdout.splitlines())
    if first[0] != "file" or any(word != "nameserver" for word, _ in rest):
        raise ValueError(answer.stdout)
    return Resolver(first[1], tuple(server for _, server in rest))


def uses_resolver_file(answer: Answer) -> bool:
    """Tell whether CoreDNS asks the servers of its file."""
    maps = {entry["metadata"]["name"]: entry.get("data", {}) for entry in list_objects(answer)}
    words = [line.split() for line in str(maps.get("coredns", {}).get("Corefile", "")).splitlines()]
    return any(line[:1] == ["forward"] and "/etc/resolv.conf" in line for line in words)


# A flag of the running kubelet comes before its file.
RESOLVER = Probe(
    "resolver.pods",
    Lines(r"""config=/var/lib/kubelet/config.yaml
[ -e "$config" ] || exit 0
file=$(sed -n 's/^resolvConf: *//p' "$config" | tr -d "\"'")
pid=$(systemctl show -p MainPID --value kubelet)
if [ "${pid:-0}" -gt 0 ]; then
  flag=$(tr '\0' '\n' <"/proc/$pid/cmdline" | sed -n 's/^--resolv-conf=//p' | tail -n 1)
  file=${flag:-$file}
fi
file=${file:-/etc/resolv.conf}
echo "file $file"
[ ! -e "$file" ] || awk '$1 == "nameserver" {print $1, $2}' "$file" """),
    parse_resolver,
    manual_command="grep resolvConf /var/lib/kubelet/config.yaml; cat /etc/resolv.conf",
)
FORWARDS = Probe(
    "resolver.upstreams",
    Api(
        "/api/v1/namespaces/kube-system/configmaps?fieldSelector=metadata.name%3Dcoredns",
        ("metadata.name", "data.Corefile"),
    ),
    uses_resolver_file,
)
