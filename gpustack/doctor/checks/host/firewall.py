"""Faults of the layer `host` that its packet filter tells: which packet of the cluster whose rule stops."""

from gpustack.ask.judge import Result, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.firewall.live import FIREWALL
from gpustack.probes.firewall.packet_filter import Packet, Stop
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.firewall.packets import BRIDGE, forwarded, more, shut_out, stopped

Stopped = list[tuple[Packet, Stop]]


def pods_shut_out(here: View) -> Stopped:
    """What pods send to this host and through it, and does not pass."""
    entering = [(packet, stop) for packet, stop in shut_out(here) if packet.interface == BRIDGE]
    return [*entering, *stopped(here[FIREWALL], forwarded(here))]


def select_by_owner(here: View, owner: str, found: Stopped) -> Stopped:
    """Those that rules of this owner stop."""
    return [(packet, stop) for packet, stop in found if find_owner(here, stop) == owner]


def find_owner(here: View, stop: Stop) -> str:
    """A rule that somebody put beside the chains of ufw is not ufw's; the policy is."""
    owner = here[FIREWALL].owner(stop.base)
    beside = owner == "ufw" and stop.path and not any("ufw-" in rule.text for rule in stop.path)
    return "iptables" if beside else owner


def judge_stopped(what: str, found: Stopped, else_found: str) -> Result:
    if not found:
        return ok(what, else_found)
    packet, stop = found[0]
    return Result(what, "allowed", f"{packet} is blocked by {stop}{more(found)}")


@check("host-ufw-blocks-pods", FIREWALL, ADDRESS)
def ufw_blocks_pods(here: View) -> Result:
    """By the rules in the kernel, not those that ufw lists."""
    if not here[FIREWALL].ufw:
        return ok("ufw", "off")
    return judge_stopped("traffic of pods", select_by_owner(here, "ufw", pods_shut_out(here)), "allowed by ufw")


@check("host-firewalld-active", FIREWALL, ADDRESS)
def firewalld_blocks(here: View) -> Result:
    """firewalld blocks traffic of pods or of nodes."""
    if not here[FIREWALL].firewalld:
        return ok("firewalld", "off")
    found = [*pods_shut_out(here), *shut_out(here)]
    return judge_stopped("traffic of the cluster", select_by_owner(here, "firewalld", found), "allowed by firewalld")


@check("host-cloud-image-reject-rules", FIREWALL, ADDRESS)
def reject_rules(here: View) -> Result:
    """A rejecting rule in a chain that no firewall manager owns."""
    found = select_by_owner(here, "iptables", [*pods_shut_out(here), *shut_out(here)])
    rejected = [(packet, stop) for packet, stop in found if stop.path and "REJECT" in stop.path[-1].text]
    return judge_stopped("traffic of the cluster", rejected, "not rejected by a rule")


CHECKS = (ufw_blocks_pods, firewalld_blocks, reject_rules)
