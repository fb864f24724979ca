"""Whether a network manager looks after the links that Flannel and its plugins make."""

from collections.abc import Mapping

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.sections import read_sections

# What a manager says of a link that it leaves alone: networkctl(1), nmcli(1).
ALONE = ("unmanaged", "connected (externally)", "linger")


def read_managed(answer: Answer) -> Mapping[str, Mapping[str, str]]:
    """By manager that runs here, what it says of cni0 and flannel.*: `unmanaged`, `configured`, … (networkctl(1)), or
    `connected (externally)` and so on (nmcli(1))."""
    networkd, manager = read_sections(answer.out, "systemd-networkd", "NetworkManager")
    return {
        "systemd-networkd": dict(line.split(" ") for line in networkd),
        "NetworkManager": dict(line.split(":", 1) for line in manager),
    }


def find_managed(found: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str, str]]:
    """(manager, link, state) of those that a manager does not leave alone."""
    return [(one, link, state) for one, links in found.items() for link, state in links.items() if state not in ALONE]


MANAGED = Probe(
    "network.managed-links",
    Lines(r"""active=$(systemctl is-active systemd-networkd NetworkManager)
echo '== systemd-networkd'
if [ "${active%%
*}" = active ]; then
  networkctl --no-legend --no-pager list | awk '$2 ~ /^(cni0|flannel)/ {print $2, $5}'
fi
echo '== NetworkManager'
if [ "${active##*
}" = active ]; then
  nmcli -t -f DEVICE,STATE dev | grep -E '^(cni0|flannel)'
fi
exit 0"""),
    read_managed,
    like="networkctl list; nmcli device",
)
