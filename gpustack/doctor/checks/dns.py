"""Layer `dns`: whether names of the cluster resolve, asked from pods on every host."""

from gpustack.ask.judge import said
from gpustack.ask.view import View
from gpustack.doctor.tells import Told, confirmed, refuted, tells
from gpustack.probes.flannel import FLANNEL_DAEMON_SET
from gpustack.probes.kube import DEPLOYMENTS
from gpustack.probes.nameservers import NAMESERVERS
from gpustack.probes.pod_network import POD_PATHS, Ways

WHAT, MOST = "DNS of the cluster", 3


def unanswered(found: Ways) -> str:
    """What the service address of DNS said to pods, empty where one of them got an answer."""
    asked = list(found.of("dns"))
    service = [way for way in asked if way.target == asked[0].target]
    return "" if any(way.result == "ok" for way in service) else f"{service[0].target}: {service[0].result}"


@tells("st-dns-broken", POD_PATHS, FLANNEL_DAEMON_SET, DEPLOYMENTS)
def dns_broken(here: View) -> Told:
    """Where no host has a pod to ask from, what the API says of CoreDNS counts."""
    there = [here.on(host.name) for host in here.hosts]
    sure = [
        view
        for view in there
        if view.reached and view.told(POD_PATHS) and view.snapshot.fact(POD_PATHS, view.where).pods
    ]
    for view in sure:
        if said_no := unanswered(view.snapshot.fact(POD_PATHS, view.where)):
            return confirmed(WHAT, "answers", f"from pods on {view.where}, {unanswered(view[POD_PATHS]) or said_no}")
    if asked := [view.where for view in there if view.reached and view[POD_PATHS].pods]:
        return refuted(WHAT, f"answers pods on {said(asked) if len(asked) <= MOST else f'{len(asked)} hosts'}")
    if here[FLANNEL_DAEMON_SET] is None:
        return refuted(WHAT, "there is no pod network yet")
    found = here[DEPLOYMENTS].get("coredns")
    available = found is not None and found.available
    return Told(not available, "CoreDNS", "available", "available" if available else "not available")


@tells("coredns-scaled-to-nothing", DEPLOYMENTS)
def scaled_to_nothing(here: View) -> Told:
    """One that is not there is the matter of the step flannel."""
    found = here[DEPLOYMENTS].get("coredns")
    if found is None or found.wanted:
        return refuted("CoreDNS", f"{found.wanted} pods wanted" if found else "no such Deployment")
    return confirmed("CoreDNS", "some pods wanted", "0", "coredns spec.replicas")


@tells("dns-nameserver-limit", NAMESERVERS)
def nameserver_limit(here: View) -> Told:
    """Of the file that the kubelet reads: three are taken, by resolv.conf(5)."""
    found = here[NAMESERVERS]
    more = len(found.servers) > MOST
    return Told(more, f"name servers in {found.file}", f"at most {MOST}", said(found.servers))
