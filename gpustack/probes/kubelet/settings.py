"""Settings of a kubelet that others have to agree with: the runtime that it uses, the DNS servers and the domain of
pods (KubeletConfiguration: containerRuntimeEndpoint, clusterDNS and clusterDomain, or the flags of these), and the name
of its node."""

from dataclasses import dataclass
from ipaddress import ip_address

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script

FILE = "/var/lib/kubelet/config.yaml"
FIELDS = "containerRuntimeEndpoint|clusterDNS|clusterDomain"
"""The fields of the file, as grep takes them."""


@dataclass(frozen=True)
class KubeletSettings:
    """Hold the socket of the runtime, empty where the default holds, the DNS servers that pods get, and the domain in
    which they look for Services, empty where none is set or an older recording has none. `name` is that under which it
    looks for its node, and `node` that of its certificate, empty where it does not run, or has none."""

    socket: str
    servers: tuple[str, ...]
    domain: str = ""
    name: str = ""
    node: str = ""


def parse_kubelet_settings(answer: Answer) -> KubeletSettings:
    """Parse lines `socket ADDRESS`, `server ADDRESS`, `domain NAME`, `name NAME` and `node NAME`. Raise ValueError
    where a line has another shape."""
    values, servers = dict.fromkeys(("socket", "domain", "name", "node"), ""), []
    for line in answer.stdout.splitlines():
        word, value = line.split(" ", 1)
        if word == "server":
            servers.append(str(ip_address(value)))
        elif word in values:
            values[word] = value
        else:
            raise ValueError(line)
    return KubeletSettings(servers=tuple(servers), **values)


KUBELET_SETTINGS = Probe(
    "kubelet.settings",
    Lines(read_script(__file__, "settings.sh")),
    parse_kubelet_settings,
    manual_command=f"grep -A 2 -E '{FIELDS}' {FILE}",
)
