"""Faults of the layer `kubeadm` in the static pods of a control plane."""

from ipaddress import IPv4Network, ip_network

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.control_plane.control_plane import (
    API_PROXY,
    LAST_LOGS,
    MANIFEST_ADDRESSES,
    STATIC_PODS,
    ComponentRun,
    ManifestAddresses,
)
from gpustack.probes.control_plane.kubeadm import CERTIFICATES, FILES
from gpustack.probes.kubelet.kubelet import HEALTH
from gpustack.probes.network.addresses import ADDRESSES

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - the address of a program that listens everywhere
# Seconds. A run that was shorter counts as flapping, after two starts.
RECENT_TIME = 600
# Seconds after which clients of the API server run again: the kubelet starts them after 5 minutes at most.
RESTART_LIMIT = 300


def list_local_addresses(view: View) -> set[str]:
    return {address for addresses in view[ADDRESSES].values() for address in addresses}


@check("controlplane-certs-expired", CERTIFICATES)
def certificates(view: View) -> Result:
    """Judge the expiry of certificates by the clock of the machine that runs gpustack."""
    certificates_on_host = view[CERTIFICATES]
    expired_certificates = [
        f"{certificate.subject} on {certificate.expires:%Y-%m-%d}"
        for certificate in certificates_on_host
        if certificate.expires < view.started_at
    ]
    log_line = (
        f"Not After : {min(certificate.expires for certificate in certificates_on_host):%b %e %H:%M:%S %Y}"
        if certificates_on_host
        else ""
    )
    actual = (
        f"valid until {min(certificate.expires for certificate in certificates_on_host):%Y-%m-%d}"
        if certificates_on_host
        else "none on this host"
    )
    return Result(
        "certificates",
        "valid",
        f"expired: {format_value(expired_certificates)}" if expired_certificates else actual,
        ok=not expired_certificates,
        quote=log_line,
    )


@check("control-plane-settings-refused", LAST_LOGS, MANIFEST_ADDRESSES)
def settings_refused(view: View) -> Result:
    """Look for components that refuse their settings. A component that is not running and logs nothing about them may
    have been stopped. The API server logs the same for an absent etcd as for a stopped one, so the manifests of both
    decide."""
    messages, subject = view[LAST_LOGS], "settings of the control plane"
    if refusals := [f"{name}: {words}" for name, words in messages.items() if words]:
        return Result(subject, "accepted", format_value(refusals))
    manifest_addresses = view[MANIFEST_ADDRESSES]
    if (
        manifest_addresses.etcd_servers
        and manifest_addresses.client_listeners
        and not any(serves_address(manifest_addresses, place) for place in manifest_addresses.etcd_servers)
    ):
        return Result(
            "etcd address of the API server",
            format_value(manifest_addresses.client_listeners),
            format_value(manifest_addresses.etcd_servers),
        )
    if messages:
        raise FactUnavailable(f"not running, without a logged reason: {format_value(list(messages))}")
    return build_ok_result(subject, "accepted")


def serves_address(manifest_addresses: ManifestAddresses, place: str) -> bool:
    host, _, port = place.rpartition(":")
    address = "127.0.0.1" if host == "localhost" else host
    return bool({f"{address}:{port}", f"{ANY_ADDRESS}:{port}"} & set(manifest_addresses.client_listeners))


@check("node-ip-changed", MANIFEST_ADDRESSES, ADDRESSES)
def address_lost(view: View) -> Result:
    """Check that the host has the addresses on which etcd listens. The address of the API may belong to a router."""
    manifest_addresses = view[MANIFEST_ADDRESSES]
    lost_addresses = [
        address
        for address in manifest_addresses.etcd
        if address not in list_local_addresses(view) and address != ANY_ADDRESS
    ]
    if not lost_addresses:
        return build_ok_result(
            "addresses of the control plane",
            format_value(manifest_addresses.etcd) if manifest_addresses.etcd else "no etcd on this host",
        )
    return Result(
        "addresses of the control plane", "assigned to this host", f"{format_value(lost_addresses)} not assigned"
    )


@check("node-ip-changed -> st-service-ip-broken", MANIFEST_ADDRESSES, ADDRESSES)
def address_of_api_lost(view: View) -> Result:
    api = view[MANIFEST_ADDRESSES].api
    is_lost = bool(api) and api not in list_local_addresses(view)
    return Result(
        "address of the API",
        "not assigned to this host",
        f"{api} {'not ' if is_lost else ''}assigned" if api else "none on this host",
        ok=not is_lost,
    )


@check("no-proxy-missing-cluster-cidrs", API_PROXY)
def calls_through_proxy(view: View) -> Result:
    """Check the no_proxy variable of the running API server."""
    api_proxy, subject = view[API_PROXY], "no_proxy of the API server"
    if api_proxy is None or not api_proxy.is_set:
        return build_ok_result(subject, "no API server on this host" if api_proxy is None else "no proxy")
    spec = view.spec.kubernetes
    uncovered_networks = [
        str(net) for net in (spec.pod_cidr, spec.service_cidr) if not is_covered(net, api_proxy.no_proxy)
    ]
    if not {".svc", "svc"} & set(api_proxy.no_proxy):
        uncovered_networks.append(".svc")
    return Result(
        subject,
        "pods, services and .svc",
        f"no {format_value(uncovered_networks)}" if uncovered_networks else format_value(api_proxy.no_proxy),
        ok=not uncovered_networks,
    )


def is_covered(net: IPv4Network, exceptions: tuple[str, ...]) -> bool:
    """Tell whether an exception of no_proxy covers the network. Exceptions that are names do not count."""
    if "*" in exceptions:
        return True
    networks = []
    for entry in exceptions:
        try:
            networks.append(ip_network(entry, strict=False))
        except ValueError:
            continue
    return any(isinstance(network, IPv4Network) and net.subnet_of(network) for network in networks)


@check("st-kubelet-down -> st-apiserver-down", STATIC_PODS, FILES)
def api_not_started(view: View) -> Result:
    """Check that the API server is running. A running one does not need the kubelet."""
    subject, api = "API server of the host", view[STATIC_PODS].get("kube-apiserver")
    if not view[FILES].api_server:
        return build_ok_result(subject, "none")
    runs = api is not None and api.running
    return Result(subject, "running", "running" if runs else "stopped", ok=bool(runs))


@check("st-controlplane-flapping", STATIC_PODS, HEALTH)
def flapping(view: View) -> Result:
    """Look for at least two restarts, the last one recent, after a short run. Without the kubelet nothing is
    restarted."""
    if view[HEALTH] == "silent":
        return build_ok_result("static pods", "not restarted: the kubelet is down")
    restarts = {
        name: f"restart {start.attempt}, {start.age} s ago, after a run of {start.previous_lifetime} s"
        for name, start in view[STATIC_PODS].items()
        if start.attempt > 1
        and start.previous_lifetime is not None
        and max(start.age, start.previous_lifetime) < RECENT_TIME
        if not is_settled(name, start, view[STATIC_PODS].get("kube-apiserver"))
    }
    actual = format_value([f"{name}: {words}" for name, words in restarts.items()])
    return Result("static pods", "stable", actual if restarts else "stable", ok=not restarts)


def is_settled(name: str, start: ComponentRun, api: ComponentRun | None) -> bool:
    """Tell whether a component runs for twice as long as its previous run, or whether it ends itself without an API and
    came back with the API server."""
    if not start.running:
        return False
    is_elected = name in ("kube-controller-manager", "kube-scheduler")
    return start.age > 2 * (start.previous_lifetime or 0) or bool(
        is_elected and api and api.running and start.age > api.age - RESTART_LIMIT
    )
