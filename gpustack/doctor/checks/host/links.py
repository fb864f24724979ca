"""Faults of the layer `host` in its network: internet access, managers of links, backends of rules, and name
servers."""

from ipaddress import ip_address

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.doctor.check import check, expect_none
from gpustack.probes.firewall.service_rules import PROXY
from gpustack.probes.kubelet.join_endpoint import SOURCE
from gpustack.probes.network.links import LINK_STATES, find_managed_links
from gpustack.probes.network.resolver import FORWARDS, RESOLVER


@check("host-no-egress", SOURCE)
def no_egress(view: View) -> Result:
    """Check the connection to the source in the spec, or to the mirror if there is one. Internet access is not
    required, and a refused connection counts as reached."""
    connection, subject = view[SOURCE], f"connection to {view[SOURCE].place}"
    if connection.curl_rc in (5, 6) or not (connection.connected or connection.refused or connection.curl_rc == 0):
        return Result(subject, "established", connection.reason or f"exit status {connection.curl_rc} of curl")
    return build_ok_result(subject, connection.reason if connection.refused else "established")


@check("host-networkmanager-owns-cni", LINK_STATES)
def manager_owns_links(view: View) -> Result:
    managed_links = [f"{link} by {manager} ({state})" for manager, link, state in find_managed_links(view[LINK_STATES])]
    return expect_none("links of pods", "unmanaged", managed_links, "unmanaged")


@check("host-iptables-legacy-nft-mix", PROXY)
def both_backends(view: View) -> Result:
    """Count the rules in both backends. Chains without rules do nothing."""
    proxy = view[PROXY]
    legacy_total, nft_total = proxy.legacy.total, proxy.nft.total
    addition = ", and the nftables table kube-proxy" if proxy.table else ""
    actual = f"{legacy_total} in iptables-legacy, {nft_total} in iptables-nft{addition}"
    return Result(
        "iptables rules of Kubernetes", "in one backend", actual, ok=not (legacy_total and (nft_total or proxy.table))
    )


def is_loopback(address: str) -> bool:
    return ip_address(address.partition("%")[0]).is_loopback


@check("host-resolv-stub-loop", RESOLVER, FORWARDS)
def resolver_loop(view: View) -> Result:
    """Look for loopback addresses in the file that the kubelet uses. They are harmless if CoreDNS does not forward to
    its name servers."""
    resolver = view[RESOLVER]
    if resolver is None:
        return build_ok_result("name servers of pods", "no kubelet on this host")
    loopback_servers = [server for server in resolver.servers if is_loopback(server)]
    if not loopback_servers or not view[FORWARDS]:
        return build_ok_result(
            f"name servers in {resolver.file}",
            format_value(resolver.servers) if not loopback_servers else "not used by CoreDNS",
        )
    return Result(f"name servers in {resolver.file}", "no loopback address", format_value(loopback_servers))
