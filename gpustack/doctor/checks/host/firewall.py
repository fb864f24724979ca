"""Faults of the layer `host` in its packet filter: packets of the cluster that a rule blocks, and the rule's owner."""

from gpustack.ask.judge import Result, build_ok_result
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.firewall.live_rules import FIREWALL
from gpustack.probes.firewall.packet_filter import Packet, Stop
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.firewall.packets import (
    BRIDGE,
    find_blocked_packets,
    format_remaining,
    list_blocked_inbound,
    list_forwarded_packets,
)

BlockedPackets = list[tuple[Packet, Stop]]


def list_blocked_pod_packets(view: View) -> BlockedPackets:
    """List packets of pods to this host and through it that are blocked."""
    entering = [(packet, stop) for packet, stop in list_blocked_inbound(view) if packet.interface == BRIDGE]
    return [*entering, *find_blocked_packets(view[FIREWALL], list_forwarded_packets(view))]


def select_by_owner(view: View, owner: str, blocked_packets: BlockedPackets) -> BlockedPackets:
    """Select the packets that rules of this owner block."""
    return [(packet, stop) for packet, stop in blocked_packets if find_owner(view, stop) == owner]


def find_owner(view: View, stop: Stop) -> str:
    """Return the owner of the rule that blocks a packet. A rule beside the chains of ufw is not ufw's, but the policy
    is."""
    owner = view[FIREWALL].find_owner(stop.base)
    is_foreign = owner == "ufw" and stop.path and not any("ufw-" in rule.text for rule in stop.path)
    return "iptables" if is_foreign else owner


def judge_blocked(subject: str, blocked_packets: BlockedPackets, actual: str) -> Result:
    if not blocked_packets:
        return build_ok_result(subject, actual)
    packet, stop = blocked_packets[0]
    return Result(subject, "allowed", f"{packet} is blocked by {stop}{format_remaining(blocked_packets)}")


@check("host-ufw-blocks-pods", FIREWALL, ADDRESS)
def ufw_blocks_pods(view: View) -> Result:
    """Judge the rules of ufw in the kernel, not those that ufw lists."""
    if not view[FIREWALL].ufw:
        return build_ok_result("ufw", "off")
    return judge_blocked(
        "traffic of pods", select_by_owner(view, "ufw", list_blocked_pod_packets(view)), "allowed by ufw"
    )


@check("host-firewalld-active", FIREWALL, ADDRESS)
def firewalld_blocks(view: View) -> Result:
    """Look for rules of firewalld that block traffic of pods or of nodes."""
    if not view[FIREWALL].firewalld:
        return build_ok_result("firewalld", "off")
    blocked_packets = [*list_blocked_pod_packets(view), *list_blocked_inbound(view)]
    return judge_blocked(
        "traffic of the cluster", select_by_owner(view, "firewalld", blocked_packets), "allowed by firewalld"
    )


@check("host-cloud-image-reject-rules", FIREWALL, ADDRESS)
def reject_rules(view: View) -> Result:
    """Look for a rejecting rule in a chain that no firewall manager owns."""
    blocked_packets = select_by_owner(view, "iptables", [*list_blocked_pod_packets(view), *list_blocked_inbound(view)])
    rejected_packets = [
        (packet, stop) for packet, stop in blocked_packets if stop.path and "REJECT" in stop.path[-1].text
    ]
    return judge_blocked("traffic of the cluster", rejected_packets, "not rejected by a rule")
