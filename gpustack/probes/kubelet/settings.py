"""Settings of a kubelet that others have to agree with: the runtime that it uses, and the DNS servers and the domain of
pods (KubeletConfiguration: containerRuntimeEndpoint, clusterDNS and clusterDomain, or the flags of these)."""

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
    which they look for Services, empty where none is set or an older recording has none."""

    socket: str
    servers: tuple[str, ...]
    domain: str = ""


def parse_kubelet_settings(answer: Answer) -> KubeletSettings:
    """Parse lines `socket ADDRESS`, `server ADDRESS` and `domain NAME`. Raise ValueError where a line has another
    shape."""
    socket, domain, servers = "", "", []
    for line in answer.stdout.splitlines():
        word, value = line.split(" ", 1)
        if word == "socket":
            socket = value
        elif word == "server":
            servers.append(str(ip_address(value)))
        elif word == "domain":
            domain = value
        else:
            raise ValueError(line)
    return KubeletSettings(socket, tuple(servers), domain)


KUBELET_SETTINGS = Probe(
    "kubelet.settings",
    Lines(read_script(__file__, "settings.sh")),
    parse_kubelet_settings,
    manual_command=f"grep -A 2 -E '{FIELDS}' {FILE}",
)
