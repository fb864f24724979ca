"""Faults of the layer `kube-proxy`: whether services work on a host, and whether its rules are there."""

from gpustack.ask.judge import Result, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Command, Hint, Prose
from gpustack.doctor.check import check
from gpustack.doctor.checks.startup import api_known
from gpustack.probes.control_plane.control_plane import STARTED
from gpustack.probes.control_plane.kubeadm import FILES, UNFINISHED
from gpustack.probes.firewall.service_rules import PROXY, PROXY_SET, Proxy
from gpustack.probes.kubelet.join_endpoint import API_PATHS
from gpustack.probes.kubelet.kubelet import HEALTH
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.kubernetes.nodes import NODES, READYZ


@check("kube-proxy-down", PROXY, LEFTOVERS, FILES, HEALTH, READYZ, PROXY_SET, NODES)
def kube_proxy_down(here: View) -> Result:
    """kube-proxy does not listen, or its rules are missing. Unknown if nothing could have started it."""
    found, what = here[PROXY], "kube-proxy"
    if not here[LEFTOVERS].servers:
        return ok(what, "the host is not in a cluster yet")
    if not here[FILES].lacks(UNFINISHED):
        raise FactUnavailable("kubeadm, which adds it at its end, has not finished")
    if lost := find_missing_rules(found, here.spec.kube_proxy.mode):
        return Result("rules of kube-proxy", "in the kernel", lost)
    if not found.listening and (here[HEALTH] != "ok" or not here[READYZ].ready):
        raise FactUnavailable("the kubelet or the API, which start it, are down")
    if found.listening:
        return ok(what, "listening on port 10256")
    return Result(what, "listening on port 10256", "not listening", person=explain_absence(here))


def explain_absence(here: View) -> Hint:
    """Why no restart brings it here; empty where that is not so, or unknown."""
    if not (here.available(PROXY_SET) and here.available(NODES)):
        return NO_HINT
    found = here[PROXY_SET]
    if found is None:
        return Prose(
            "the cluster has no DaemonSet kube-proxy; kubeadm init phase addon kube-proxy on the control plane"
        )
    if not found.kept or found.wanted >= len(here[NODES]):
        return NO_HINT
    change = Command("kubectl", "-n", "kube-system", "edit", "daemonset", "kube-proxy")
    return Prose("an affinity or a selector excludes nodes from its DaemonSet; {}", change)


def find_missing_rules(found: Proxy, mode: str) -> str:
    """What is missing of its rules; empty for nothing. Rules outlive kube-proxy, so that it may have gone first."""
    if mode == "nftables":
        return "" if found.table else "no table kube-proxy"
    rules = found.nft if found.nft.all >= found.legacy.all else found.legacy
    if not rules.services:
        return "no rule in KUBE-SERVICES"
    return "" if rules.jumps > 1 else f"{rules.jumps} of 2 jumps into KUBE-SERVICES"


@check("st-service-ip-broken", API_PATHS, STARTED)
def service_address(here: View) -> Result:
    """The Service address of the API. Unknown without the API itself; after its restart, kube-proxy needs a moment."""
    api, service = here[API_PATHS]["api"], here[API_PATHS]["service"]
    if not api.connected and api.ended:
        raise FactUnavailable(f"the API server itself is not reached: {api.why}")
    works = service.connected or service.ended == 0
    if not works:
        api_known(here)
    return Result(
        f"connection to {service.place}",
        "established",
        "established" if works else service.why or "none",
        ok=bool(works),
    )


@check("st-service-ip-broken -> mon-admission-webhook-down", FILES)
def on_control_plane(here: View) -> Result:
    """The API server that calls the webhook is running on this host."""
    here_too = here[FILES].api_server
    return Result("API server", "on this node", "on this node" if here_too else "on another node", ok=not here_too)


CHECKS = (kube_proxy_down, service_address, on_control_plane)
