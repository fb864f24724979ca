"""Network managers that manage the links that Flannel and its plugins make."""

from collections.abc import Mapping

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.sections import parse_sections

# What a manager says of a link that it leaves alone: networkctl(1), nmcli(1).
UNMANAGED_STATES = ("unmanaged", "connected (externally)", "linger")


def parse_link_states(answer: Answer) -> Mapping[str, Mapping[str, str]]:
    """Parse by running manager the state of cni0 and flannel.*: `unmanaged`, `configured`, … (networkctl(1)), or
    `connected (externally)` and so on (nmcli(1))."""
    networkd, manager = parse_sections(answer.stdout, "systemd-networkd", "NetworkManager")
    return {
        "systemd-networkd": dict(line.split(" ") for line in networkd),
        "NetworkManager": dict(line.split(":", 1) for line in manager),
    }


def find_managed_links(links_by_manager: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str, str]]:
    """Find (manager, link, state) of the links that a manager does not leave alone."""
    return [
        (manager, link, state)
        for manager, links in links_by_manager.items()
        for link, state in links.items()
        if state not in UNMANAGED_STATES
    ]


LINK_STATES = Probe(
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
    parse_link_states,
    manual_command="networkctl list; nmcli device",
)
