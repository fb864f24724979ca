"""Faults of the layer `host` about its network: the way out, who manages links, whose rules, which name servers."""

from ipaddress import ip_address

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.firewall.service_rules import PROXY
from gpustack.probes.kubelet.join_endpoint import SOURCE
from gpustack.probes.network.links import MANAGED, find_managed
from gpustack.probes.network.resolver import FORWARDS, RESOLVER


@check("host-no-egress", SOURCE)
def no_egress(here: View) -> Result:
    """To the source in the spec, or to the mirror if there is one: internet access is not required. A refused
    connection counts as reached."""
    found, what = here[SOURCE], f"connection to {here[SOURCE].place}"
    if found.ended in (5, 6) or not (found.connected or found.refused or found.ended == 0):
        return Result(what, "established", found.why or f"exit status {found.ended} of curl")
    return ok(what, found.why if found.refused else "established")


@check("host-networkmanager-owns-cni", MANAGED)
def manager_owns_links(here: View) -> Result:
    found = [f"{link} by {manager} ({state})" for manager, link, state in find_managed(here[MANAGED])]
    return Result("links of pods", "unmanaged", as_text(found) if found else "unmanaged", ok=not found)


@check("host-iptables-legacy-nft-mix", PROXY)
def both_backends(here: View) -> Result:
    """Rules in both, not chains: empty chains do nothing."""
    found = here[PROXY]
    old, new = found.legacy.all, found.nft.all
    now = (
        f"{old} in iptables-legacy, {new} in iptables-nft{', and the nftables table kube-proxy' if found.table else ''}"
    )
    return Result("iptables rules of Kubernetes", "in one backend", now, ok=not (old and (new or found.table)))


def loopback(address: str) -> bool:
    return ip_address(address.partition("%")[0]).is_loopback


@check("host-resolv-stub-loop", RESOLVER, FORWARDS)
def resolver_loop(here: View) -> Result:
    """The file that the kubelet uses. Harmless if CoreDNS does not forward to its name servers."""
    found = here[RESOLVER]
    if found is None:
        return ok("name servers of pods", "no kubelet on this host")
    looped = [server for server in found.servers if loopback(server)]
    if not looped or not here[FORWARDS]:
        return ok(f"name servers in {found.file}", as_text(found.servers) if not looped else "not used by CoreDNS")
    return Result(f"name servers in {found.file}", "no loopback address", as_text(looped))


CHECKS = (no_egress, manager_owns_links, both_backends, resolver_loop)
