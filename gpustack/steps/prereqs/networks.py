"""Checks of step prereqs that need a person to fix: endpoint and networks of the cluster, which are fixed when it is
created.

A host that is in a cluster is not judged: there the doctor finds what these settings cause.
"""

from ipaddress import IPv4Address, IPv4Network

from gpustack.ask.addresses import is_address
from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Hint, Prose
from gpustack.config.endpoint import extract_name, resolve_endpoint
from gpustack.probes.network.addresses import ADDRESSES, ROUTES
from gpustack.probes.network.endpoint_name import ENDPOINT_ADDRESSES
from gpustack.probes.network.nameservers import NAMESERVERS
from gpustack.steps.node_address import KEY, LOOPBACK, list_reported_addresses
from gpustack.steps.other_cluster import is_member

# Links of the pod network itself, as the probe of routes leaves them out.
POD_LINKS = ("cni", "flannel")


def api_endpoint(view: View) -> Result | None:
    """The name in the endpoint of the API resolves on every host to addresses of the control plane, before the host is
    a node. A name that is set in kubernetes.endpoint may be that of a load balancer: then it resolves on every host as
    it does on the control plane, where the loopback address is right, too. Debian and Ubuntu resolve the name of the
    host itself to it."""
    name = extract_name(resolve_endpoint(view.snapshot.inventory))
    if is_member(view) or is_address(name):
        return None
    plane, is_set = view.select_host(view.acting_host), bool(view.spec.kubernetes.endpoint)
    expected_addresses = set(list_reported_addresses(plane)) | (list_remote_addresses(plane) if is_set else set())
    resolved_addresses = view[ENDPOINT_ADDRESSES]
    if view.host.control_plane and resolved_addresses and not list_remote_addresses(view):
        return None
    if resolved_addresses and expected_addresses.issuperset(resolved_addresses):
        return None
    by_name: Hint = Command("getent", "ahostsv4", name, note="on every host: give the name one meaning")
    by_address = Prose("set {} of {} in the inventory", KEY, plane.location, note="other names: kubernetes.cert_sans")
    return Result(
        f"endpoint of the API, {name}",
        f"an address of {plane.location}: {format_value(expected_addresses)}",
        format_value(resolved_addresses) if resolved_addresses else "no address",
        "operator",
        hint=by_name if is_set else by_address,
    )


def list_remote_addresses(view: View) -> set[str]:
    """List the addresses of the endpoint, as the host resolves it, that are not its loopback interface's."""
    return {address for address in view[ENDPOINT_ADDRESSES] if not address.startswith(LOOPBACK)}


def networks(view: View) -> Result | None:
    """The pod network and the Service network have no address, route or name server of the host in them, before the
    host is a node. A wider route does no harm, because the cluster's is more specific."""
    if is_member(view):
        return None
    overlaps = [
        *list_address_overlaps(view),
        *(f"route {route.network} by {route.via or route.link}" for route in view[ROUTES]),
    ]
    overlaps += list_name_server_overlaps(view)
    if not overlaps:
        return None
    hint = Prose("set kubernetes.pod_cidr and kubernetes.service_cidr to networks that your site does not use")
    return Result("pod and service networks", "not used otherwise", format_value(overlaps), "operator", hint=hint)


def list_address_overlaps(view: View) -> list[str]:
    """List the addresses of the host's own links that are in a network of the cluster."""
    return [
        f"address {address} of {link} in the network of {owner}"
        for link, addresses in view[ADDRESSES].items()
        if not link.startswith(POD_LINKS)
        for address in addresses
        for owner, network in index_networks(view).items()
        if IPv4Address(address) in network
    ]


def list_name_server_overlaps(view: View) -> list[str]:
    """List the name servers that are in a network of the cluster. On a node, the tenth address of the Services is the
    cluster's own DNS."""
    return [
        f"name server {server} in the network of {owner}"
        for server in view[NAMESERVERS].servers
        for owner, network in index_networks(view).items()
        if ":" not in server and IPv4Address(server) in network and not (is_member(view) and server == str(network[10]))
    ]


def index_networks(view: View) -> dict[str, IPv4Network]:
    spec = view.spec.kubernetes
    return {"pods": spec.pod_cidr, "services": spec.service_cidr}


CHECKS = (api_endpoint, networks)
