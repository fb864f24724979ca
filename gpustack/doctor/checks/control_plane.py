"""Faults of the layer `kubeadm` in the static pods of a control plane."""

from ipaddress import IPv4Network, ip_network

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.control_plane.control_plane import API_PROXY, LAST_WORDS, MADE_FOR, STARTED, MadeFor, Started
from gpustack.probes.control_plane.kubeadm import CERTIFICATES, FILES
from gpustack.probes.kubelet.kubelet import HEALTH
from gpustack.probes.network.addresses import ADDRESSES

ANY = "0.0.0.0"  # noqa: S104 - what a program listens on that listens everywhere
# Seconds. What lasted shorter and started twice already is going round.
RECENT = 600
# Within which those that need the API server are back after it is: the kubelet starts again after 5 minutes at most.
BACK = 300


def local(here: View) -> set[str]:
    return {address for found in here[ADDRESSES].values() for address in found}


@check("controlplane-certs-expired", CERTIFICATES)
def certificates(here: View) -> Result:
    """By the clock of the machine that runs gpustack."""
    known = here[CERTIFICATES]
    ended = [f"{one.subject} on {one.expires:%Y-%m-%d}" for one in known if one.expires < here.taken]
    first = f"Not After : {min(one.expires for one in known):%b %e %H:%M:%S %Y}" if known else ""
    now = f"valid until {min(one.expires for one in known):%Y-%m-%d}" if known else "none on this host"
    return Result("certificates", "valid", f"expired: {as_text(ended)}" if ended else now, ok=not ended, quote=first)


@check("control-plane-settings-refused", LAST_WORDS, MADE_FOR)
def settings_refused(here: View) -> Result:
    """A component that is not running and logs nothing about its settings may have been stopped. The API server logs
    the same for an absent etcd as for a stopped one: the manifests of both decide."""
    found, what = here[LAST_WORDS], "settings of the control plane"
    if refused := [f"{name}: {words}" for name, words in found.items() if words]:
        return Result(what, "accepted", as_text(refused))
    made = here[MADE_FOR]
    if made.asks and made.serves and not any(serves(made, place) for place in made.asks):
        return Result("etcd address of the API server", as_text(made.serves), as_text(made.asks))
    if found:
        raise FactUnavailable(f"not running, without a logged reason: {as_text(list(found))}")
    return ok(what, "accepted")


def serves(made: MadeFor, place: str) -> bool:
    host, _, port = place.rpartition(":")
    address = "127.0.0.1" if host == "localhost" else host
    return bool({f"{address}:{port}", f"{ANY}:{port}"} & set(made.serves))


@check("node-ip-changed", MADE_FOR, ADDRESSES)
def address_lost(here: View) -> Result:
    """etcd cannot listen on an address that the host does not have. The address of the API may belong to a router."""
    found = here[MADE_FOR]
    lost = [address for address in found.etcd if address not in local(here) and address != ANY]
    if not lost:
        return ok("addresses of the control plane", as_text(found.etcd) if found.etcd else "no etcd on this host")
    return Result("addresses of the control plane", "assigned to this host", f"{as_text(lost)} not assigned")


@check("node-ip-changed -> st-service-ip-broken", MADE_FOR, ADDRESSES)
def address_of_api_lost(here: View) -> Result:
    api = here[MADE_FOR].api
    lost = bool(api) and api not in local(here)
    return Result(
        "address of the API",
        "not assigned to this host",
        f"{api} {'not ' if lost else ''}assigned" if api else "none on this host",
        ok=not lost,
    )


@check("no-proxy-missing-cluster-cidrs", API_PROXY)
def calls_through_proxy(here: View) -> Result:
    """According to the running API server."""
    found, what = here[API_PROXY], "no_proxy of the API server"
    if found is None or not found.set:
        return ok(what, "no API server on this host" if found is None else "no proxy")
    spec = here.spec.kubernetes
    lacking = [str(net) for net in (spec.pod_cidr, spec.service_cidr) if not covered(net, found.past)]
    if not {".svc", "svc"} & set(found.past):
        lacking.append(".svc")
    return Result(
        what,
        "pods, services and .svc",
        f"no {as_text(lacking)}" if lacking else as_text(found.past),
        ok=not lacking,
    )


def covered(net: IPv4Network, past: tuple[str, ...]) -> bool:
    """Names stand among the networks."""
    if "*" in past:
        return True
    known = []
    for entry in past:
        try:
            known.append(ip_network(entry, strict=False))
        except ValueError:
            continue
    return any(isinstance(one, IPv4Network) and net.subnet_of(one) for one in known)


@check("st-kubelet-down -> st-apiserver-down", STARTED, FILES)
def api_not_started(here: View) -> Result:
    """A running API server does not need the kubelet."""
    what, api = "API server of the host", here[STARTED].get("kube-apiserver")
    if not here[FILES].api_server:
        return ok(what, "none")
    runs = api is not None and api.running
    return Result(what, "running", "running" if runs else "stopped", ok=bool(runs))


@check("st-controlplane-flapping", STARTED, HEALTH)
def flapping(here: View) -> Result:
    """At least two restarts, the last one recent, after a short run. Without the kubelet nothing is restarted."""
    if here[HEALTH] == "silent":
        return ok("static pods", "not restarted: the kubelet is down")
    found = {
        name: f"restart {one.attempt}, {one.age} s ago, after a run of {one.lived} s"
        for name, one in here[STARTED].items()
        if one.attempt > 1 and one.lived is not None and max(one.age, one.lived) < RECENT
        if not settled(name, one, here[STARTED].get("kube-apiserver"))
    }
    now = as_text([f"{name}: {words}" for name, words in found.items()])
    return Result("static pods", "stable", now if found else "stable", ok=not found)


def settled(name: str, one: Started, api: Started | None) -> bool:
    """It runs for twice as long as the start before did; or it ends itself while there is no API, and came back with
    the API server."""
    if not one.running:
        return False
    leads = name in ("kube-controller-manager", "kube-scheduler")
    return one.age > 2 * (one.lived or 0) or bool(leads and api and api.running and one.age > api.age - BACK)


CHECKS = (
    certificates,
    settings_refused,
    address_lost,
    address_of_api_lost,
    calls_through_proxy,
    api_not_started,
    flapping,
)
