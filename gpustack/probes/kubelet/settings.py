"""Settings of a kubelet that others have to agree with: the runtime that it uses, and the DNS servers of pods
(KubeletConfiguration: containerRuntimeEndpoint and clusterDNS, or the flags of these)."""

from dataclasses import dataclass
from ipaddress import ip_address

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script


@dataclass(frozen=True)
class KubeletSettings:
    """Hold the socket of the runtime, empty where the default holds, and the DNS servers that pods get."""

    socket: str
    servers: tuple[str, ...]


def parse_kubelet_settings(answer: Answer) -> KubeletSettings:
    """Parse lines `socket ADDRESS` and `server ADDRESS`. Raise ValueError where a line has another shape."""
    socket, servers = "", []
    for line in answer.stdout.splitlines():
        word, value = line.split(" ", 1)
        if word == "socket":
            socket = value
        elif word == "server":
            servers.append(str(ip_address(value)))
        else:
            raise ValueError(line)
    return KubeletSettings(socket, tuple(servers))


KUBELET_SETTINGS = Probe(
    "kubelet.settings",
    Lines(read_script(__file__, "settings.sh")),
    parse_kubelet_settings,
    manual_command="grep -A 2 -E 'containerRuntimeEndpoint|clusterDNS' /var/lib/kubelet/config.yaml",
)
