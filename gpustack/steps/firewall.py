"""Firewall: what nodes and pods of the cluster send each other passes; strangers do not get at its metrics.

What it does: it finds who looks after the firewall (firewalld, ufw, nftables.service, netfilter-persistent) and adds
to that one, now and for the next boot, what lets the flows below pass:
  ufw                  rules with the comment `gpustack`
  firewalld            the policies gpustack-in, gpustack-forward and gpustack-out; the pod network as a source of the
                       zone trusted
  nftables.service     chains gpustack_in, gpustack_forward and gpustack_out in the tables of the host, asked before the
                       rule or policy that stops everything; a drop-in loads them again whenever the service loads the
                       host's
  netfilter-persistent chains GPUSTACK-IN, -FWD and -OUT, likewise; a plugin loads them after /etc/iptables/rules.v4 and
                       keeps the cluster's chains out of that file when somebody saves

What it never does: it installs no firewall, turns none on or off, changes no policy, and neither removes, reorders nor
stores a rule that is not ours; rules of yours that name a source or a port are asked before ours. Where nothing stops
packets, nothing is changed, with one exception (below). Where rules are loaded by something else, you are told what has
to pass.

The exception: with kubernetes.metrics_bind 0.0.0.0 the metrics of etcd, kube-proxy, controller-manager and scheduler
(tcp 2381, 10249, 10257, 10259) listen on all addresses, and the first two ask for no login. Where the host's rules let
a stranger in, by IPv4 or IPv6, a table of ours, inet gpustack_metrics, drops what comes to these ports from anybody but
nodes, pods and the host itself; gpustack-firewall-metrics.service loads it at boot, before the kubelet. Other ports are
none of its business.

What passes (6443 and the metrics of the control plane only there):
  from nodes           tcp 10250, 10249, 8081, 9100; udp 8472 (flannel.port); control plane: tcp 2381, 10257, 10259
  from pods            tcp 10250, 10249, 9100; control plane: tcp 2381, 10257, 10259
  from anywhere        tcp 10256, tcp and udp 30000-32767; control plane: tcp 6443
  forwarded            what pods send, and what is sent to pods
  out                  to nodes all of these ports, to pods everything

Settings: `firewall.manage` (false: say what is stopped and change nothing), `flannel.port`, `flannel.backend`,
`kubernetes.pod_cidr`, `kubernetes.metrics_bind`. Sources: kubernetes.io "Ports and Protocols"; flannel "Firewalls".
"""

from collections.abc import Sequence
from itertools import product

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.config.flows import listed
from gpustack.probes.firewall import FIREWALL, STORED_RULES
from gpustack.probes.network import ADDRESS
from gpustack.probes.packet_filter import Packet, Stop
from gpustack.steps.firewall_guard import guard_is_kept, strangers_kept_out
from gpustack.steps.firewall_ours import ours_are_loaded, ours_are_stored
from gpustack.steps.firewall_packets import cure, forwarded, let_out, more, needed, own_address, shut_out, stopped
from gpustack.steps.step import Step


def flows_pass(here: View) -> Result | None:
    """The running kernel lets in what the cluster sends to this host, and out what this host sends to the cluster."""
    return all_pass(here, "traffic of the cluster", [*shut_out(here), *stopped(here[FIREWALL], let_out(here))])


def pods_are_forwarded(here: View) -> Result | None:
    """The running kernel forwards what pods send and what is sent to them."""
    return all_pass(here, "traffic of pods", stopped(here[FIREWALL], forwarded(here)))


def all_pass(here: View, what: str, found: Sequence[tuple[Packet, Stop]]) -> Result | None:
    if not found:
        return None
    cures = {cure(here, reason) for _, reason in found}
    by_you = "operator" in cures
    shown = [(packet, reason) for packet, reason in found if not by_you or cure(here, reason) == "operator"]
    packet, reason = shown[0]
    hint = f"let in, now and at boot: {listed(needed(here), control_plane=True)}" if by_you else ""
    said = f"{packet} is stopped by {reason}{more(found)}"
    return Result(what, "let through", said, "operator" if by_you else "install", hint=hint)


def ssh_is_let_in(here: View) -> Result | None:
    """Whoever is connected by SSH could connect again."""
    found, mine = here[FIREWALL], own_address(here)
    outside = found.interfaces.get(mine, "")
    pairs = product(found.ssh_clients, found.ssh_ports)
    shut = stopped(found, (Packet(client, "tcp", port, outside, mine) for client, port in pairs))
    if not shut:
        return None
    packet, reason = shut[0]
    hint = f"let in {packet}, now and at boot"
    return Result("SSH", "let in", f"{packet} is stopped by {reason}", "operator", hint=hint)


STEP = Step(
    "firewall",
    scope="host",
    probes=(FIREWALL, STORED_RULES, ADDRESS),
    checks=(
        *(flows_pass, pods_are_forwarded, ours_are_loaded, ours_are_stored, ssh_is_let_in),
        *(strangers_kept_out, guard_is_kept),
    ),
    needs=("prereqs",),
)
