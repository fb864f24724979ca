"""Name servers of a host's pods: those of the file that the kubelet is configured to read."""

from dataclasses import dataclass
from ipaddress import ip_address

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.sections import split_sections


@dataclass(frozen=True)
class Nameservers:
    """Hold the file, and its name servers in their order."""

    file: str
    servers: tuple[str, ...]


def parse_nameservers(answer: Answer) -> Nameservers:
    """Parse the file and its name servers. Raise ValueError where the answer has any number of files but one."""
    ((file, lines),) = split_sections(answer.stdout)
    if not file.startswith("/"):
        raise ValueError(shorten_message(answer.stdout))
    return Nameservers(file, tuple(str(ip_address(line)) for line in lines))


# Its default is resolv.conf(5)'s own file; kubeadm will name that of systemd-resolved where that runs (its
# componentconfigs/kubelet.go).
NAMESERVERS = Probe(
    "nameservers.pods",
    Lines(r"""file=$(sed -n 's/^resolvConf: *"\{0,1\}\([^" ]*\).*/\1/p' /var/lib/kubelet/config.yaml 2>/dev/null)
resolver_file=/run/systemd/resolve/resolv.conf
if [ ! -e /var/lib/kubelet/config.yaml ] && [ -r "$resolver_file" ] && systemctl -q is-active systemd-resolved; then
  file=$resolver_file
fi
file=${file:-/etc/resolv.conf}
[ -r "$file" ] || exit
echo "== $file"
awk '$1 == "nameserver" && n++ < 20 {print $2}' "$file" """),
    parse_nameservers,
    manual_command="grep resolvConf /var/lib/kubelet/config.yaml; cat /etc/resolv.conf",
)
