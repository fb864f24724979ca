"""Firewall: allows the traffic between the nodes and pods of the cluster and restricts access to its metrics.

What it does: it detects what manages the firewall (firewalld, ufw, nftables.service, netfilter-persistent) and adds
rules there, now and for the next boot, that allow the traffic listed below:
  ufw                  rules with the comment `gpustack-cluster`
  firewalld            the policies gpustack-in, gpustack-forward and gpustack-out; the pod network as a source of the
                       zone trusted
  nftables.service     chains gpustack_in, gpustack_forward and gpustack_out in the tables of the host, evaluated before
                       the rule or policy that blocks everything; a drop-in loads them again whenever the service loads
                       the host's rules
  netfilter-persistent chains GPUSTACK-IN, -FWD and -OUT, likewise; a plugin loads them after /etc/iptables/rules.v4 and
                       keeps the cluster's chains out of that file when the rules are saved

What it never does: it does not install, enable or disable a firewall, changes no policy, and does not remove, reorder
or store rules of others; your rules that name a source or a port are evaluated before its own. If no packets are
blocked, nothing is changed, with two exceptions (below). If something else loads the rules, gpustack reports what must
be allowed.

The first is of metrics: with kubernetes.metrics_bind 0.0.0.0 those of etcd, kube-proxy, controller-manager and
scheduler (tcp 2381, 10249, 10257, 10259) listen on all addresses, and the first two require no authentication. If the
host's rules let other machines reach them, by IPv4 or IPv6, the table inet gpustack_metrics drops packets to these
ports from everything except nodes, pods and the host itself; gpustack-firewall-metrics.service loads it at boot, before
the kubelet. It does not affect other ports.

The second is of NodePorts: on a host whose firewall denies by default, the table inet gpustack_node_ports drops what
anybody but nodes, pods and firewall.sources sends to a NodePort of a Service. In the host's own chains no rule for
these ports could: there the packet has the address of a pod already. gpustack-firewall-node-ports.service loads it at
boot. It does not affect what listens on the host itself, and is not there where firewall.sources is anybody.

What is allowed (6443 and the metrics of the control plane only there):
  from the host itself everything on the loopback interface
  from nodes           tcp 10250, 10249, 8081, 9100; udp 8472 (flannel.port);
                       control plane: tcp 6443, 2381, 10257, 10259
  from pods            tcp 10250, 10249, 9100; control plane: tcp 6443, 2381, 10257, 10259
  from clients         control plane: tcp 6443; every node: tcp 10256 and, where a Service has a NodePort, tcp and udp
                       30000-32767; Services with a NodePort in any case
  forwarded            packets from pods and to pods
  out                  to nodes all of these ports, to pods everything
Nodes are the addresses of all hosts of the inventory, pods are kubernetes.pod_cidr, clients are firewall.sources.
Without that setting the only client is the address from which gpustack connects to the control plane, for 6443 alone;
addresses from which it has connected before stay. A line of the plan says who may connect.

Settings: `firewall.manage` (false: report what is blocked and change nothing), `firewall.sources`, `flannel.port`,
`flannel.backend`, `kubernetes.pod_cidr`, `kubernetes.metrics_bind`. Sources: kubernetes.io "Ports and Protocols";
flannel "Firewalls".
"""

from collections.abc import Sequence
from itertools import product

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Command, Prose
from gpustack.probes.firewall.live_rules import FIREWALL, STORED_RULES
from gpustack.probes.firewall.packet_filter import Packet, Stop
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.network.addresses import ADDRESS
from gpustack.probes.network.controller import CONTROLLER
from gpustack.probes.network.endpoint_name import ENDPOINT_ADDRESSES
from gpustack.probes.proof import SERVICES
from gpustack.steps.firewall.clients import load_balancer_is_let_in
from gpustack.steps.firewall.guard import guard_is_kept, metrics_ports_blocked
from gpustack.steps.firewall.managed_rules import ours_are_loaded, ours_are_stored
from gpustack.steps.firewall.node_ports import node_ports_are_restricted
from gpustack.steps.firewall.packets import (
    choose_cure,
    find_blocked_packets,
    format_remaining,
    list_blocked_inbound,
    list_forwarded_packets,
    list_outbound_packets,
)
from gpustack.steps.node_address import find_node_address
from gpustack.steps.step import Step

HINT = Command("gpustack", "explain", "firewall", note="the traffic to allow, now and at boot")


def flows_pass(view: View) -> Result | None:
    """The running kernel accepts the traffic of the cluster to this host and from this host to the cluster."""
    return find_traffic_mismatch(
        view,
        "traffic of the cluster",
        [
            *list_blocked_inbound(view, with_controllers=True),
            *find_blocked_packets(view[FIREWALL], list_outbound_packets(view)),
        ],
    )


def pods_are_forwarded(view: View) -> Result | None:
    """The running kernel forwards packets from pods and to pods."""
    return find_traffic_mismatch(
        view, "traffic of pods", find_blocked_packets(view[FIREWALL], list_forwarded_packets(view))
    )


def find_traffic_mismatch(view: View, subject: str, blocked_packets: Sequence[tuple[Packet, Stop]]) -> Result | None:
    if not blocked_packets:
        return None
    cures = {choose_cure(view, reason) for _, reason in blocked_packets}
    by_you = "operator" in cures
    shown_packets = [
        (packet, reason) for packet, reason in blocked_packets if not by_you or choose_cure(view, reason) == "operator"
    ]
    packet, reason = shown_packets[0]
    hint = HINT if by_you else NO_HINT
    first = f"{packet} is blocked by {reason}{format_remaining(blocked_packets)}"
    return Result(subject, "allowed", first, "operator" if by_you else "install", hint=hint)


def ssh_is_let_in(view: View) -> Result | None:
    """The firewall accepts new SSH connections from the addresses that are connected now."""
    firewall, own_address = view[FIREWALL], find_node_address(view)
    outside_interface = firewall.interfaces.get(own_address, "")
    pairs = product(firewall.ssh_clients, firewall.ssh_ports)
    blocked_packets = find_blocked_packets(
        firewall, (Packet(client, "tcp", port, outside_interface, own_address) for client, port in pairs)
    )
    if not blocked_packets:
        return None
    packet, reason = blocked_packets[0]
    hint = Prose("allow the packet, now and at boot")
    return Result("SSH", "allowed", f"{packet} is blocked by {reason}", "operator", hint=hint)


STEP = Step(
    "firewall",
    scope="host",
    probes=(FIREWALL, STORED_RULES, ADDRESS, CONTROLLER, LEFTOVERS, SERVICES, ENDPOINT_ADDRESSES),
    checks=(
        *(flows_pass, pods_are_forwarded, ours_are_loaded, ours_are_stored, ssh_is_let_in),
        *(metrics_ports_blocked, guard_is_kept, node_ports_are_restricted, load_balancer_is_let_in),
    ),
    needs=("prereqs",),
    interrupts="rules are loaded anew; connections stay",
)
