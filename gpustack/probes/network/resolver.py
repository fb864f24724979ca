"""Name servers of CoreDNS: the file that the kubelet gives pods, whether CoreDNS asks its servers, and the domains in
which it knows Services."""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.probes.kubernetes.nodes import list_objects

ARPA = (".arpa", ".arpa.")
COREFILE = Api(
    "/api/v1/namespaces/kube-system/configmaps?fieldSelector=metadata.name%3Dcoredns",
    ("metadata.name", "data.Corefile"),
)


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
    return any(words[:1] == ["forward"] and "/etc/resolv.conf" in words for words in split_lines(answer))


def parse_domains(answer: Answer) -> tuple[str, ...]:
    """Parse the domains of Services: the zones of the plugin `kubernetes` (https://coredns.io/plugins/kubernetes) but
    those of addresses. One without zones has those of its block, of which nothing is said."""
    zones = (zone for words in split_lines(answer) if words[:1] == ["kubernetes"] for zone in words[1:])
    return tuple(dict.fromkeys(zone.rstrip(".") for zone in zones if zone != "{" and not zone.endswith(ARPA)))


def split_lines(answer: Answer) -> list[list[str]]:
    """Split the lines of the Corefile into words."""
    maps = {entry["metadata"]["name"]: entry.get("data", {}) for entry in list_objects(answer)}
    return [line.split() for line in str(maps.get("coredns", {}).get("Corefile", "")).splitlines()]


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
FORWARDS = Probe("resolver.upstreams", COREFILE, uses_resolver_file)
DOMAINS = Probe("resolver.domains", COREFILE, parse_domains)
