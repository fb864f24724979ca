"""Layer `dns`: whether names of the cluster resolve, asked from pods on every host."""

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.kubernetes.nodes import DEPLOYMENTS
from gpustack.probes.network.flannel import FLANNEL_DAEMON_SET
from gpustack.probes.network.nameservers import NAMESERVERS
from gpustack.probes.network.pod_network import POD_PATHS, Ways

WHAT, MOST = "DNS of the cluster", 3


def unanswered(found: Ways) -> str:
    """The error that pods got from the service address of DNS; empty where one of them got an answer."""
    asked = list(found.of("dns"))
    service = [way for way in asked if way.target == asked[0].target]
    return "" if any(way.result == "ok" for way in service) else f"{service[0].target}: {service[0].result}"


@check("st-dns-broken", POD_PATHS, FLANNEL_DAEMON_SET, DEPLOYMENTS)
def dns_broken(here: View) -> Result:
    """Where no host has a pod to ask from, what the API says of CoreDNS counts."""
    there = [here.on(host.name) for host in here.hosts]
    sure = [
        view
        for view in there
        if view.reached and view.available(POD_PATHS) and view.snapshot.fact(POD_PATHS, view.where).pods
    ]
    for view in sure:
        if failure := unanswered(view.snapshot.fact(POD_PATHS, view.where)):
            return Result(WHAT, "answers", f"from pods on {view.where}, {unanswered(view[POD_PATHS]) or failure}")
    if asked := [view.where for view in there if view.reached and view[POD_PATHS].pods]:
        return ok(WHAT, f"answers pods on {as_text(asked) if len(asked) <= MOST else f'{len(asked)} hosts'}")
    if here[FLANNEL_DAEMON_SET] is None:
        return ok(WHAT, "there is no pod network yet")
    found = here[DEPLOYMENTS].get("coredns")
    available = found is not None and found.available
    return Result("CoreDNS", "available", "available" if available else "not available", ok=bool(available))


@check("coredns-scaled-to-nothing", DEPLOYMENTS)
def scaled_to_nothing(here: View) -> Result:
    """One that is not there is the matter of the step flannel."""
    found = here[DEPLOYMENTS].get("coredns")
    if found is None or found.wanted:
        return ok("CoreDNS", f"{found.wanted} pods wanted" if found else "no such Deployment")
    return Result("CoreDNS", "some pods wanted", "0")


@check("dns-nameserver-limit", NAMESERVERS)
def nameserver_limit(here: View) -> Result:
    """Of the file that the kubelet reads: three are taken, by resolv.conf(5)."""
    found = here[NAMESERVERS]
    more = len(found.servers) > MOST
    return Result(f"name servers in {found.file}", f"at most {MOST}", as_text(found.servers), ok=not more)


CHECKS = (dns_broken, scaled_to_nothing, nameserver_limit)
