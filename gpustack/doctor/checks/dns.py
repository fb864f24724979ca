"""Faults of the layer `dns`, by names that pods on every host resolve."""

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.kubernetes.nodes import DEPLOYMENTS
from gpustack.probes.network.flannel import FLANNEL_DAEMON_SET
from gpustack.probes.network.nameservers import NAMESERVERS
from gpustack.probes.network.pod_network import POD_PATHS, NetworkPaths

SUBJECT, MAX_NAMES = "DNS of the cluster", 3


def find_dns_error(pod_paths: NetworkPaths) -> str:
    """Return the error that pods got from the service address of DNS, or an empty text where one of them got an
    answer."""
    dns_paths = list(pod_paths.list_paths("dns"))
    service = [path for path in dns_paths if path.target == dns_paths[0].target]
    return "" if any(path.result == "ok" for path in service) else f"{service[0].target}: {service[0].result}"


@check("st-dns-broken", POD_PATHS, FLANNEL_DAEMON_SET, DEPLOYMENTS)
def dns_broken(cluster_view: View) -> Result:
    """Check that DNS of the cluster answers pods. If no host has a pod to test from, the state of the CoreDNS
    Deployment decides."""
    views = [cluster_view.select_host(host.name) for host in cluster_view.hosts]
    sure = [
        view
        for view in views
        if view.reached and view.has_fact(POD_PATHS) and view.snapshot.require_fact(POD_PATHS, view.location).pods
    ]
    for view in sure:
        if failure := find_dns_error(view.snapshot.require_fact(POD_PATHS, view.location)):
            return Result(
                SUBJECT,
                "reachable from pods",
                f"not from pods on {view.location}: {find_dns_error(view[POD_PATHS]) or failure}",
            )
    if answering_hosts := [view.location for view in views if view.reached and view[POD_PATHS].pods]:
        count = len(answering_hosts)
        hosts = format_value(answering_hosts) if count <= MAX_NAMES else f"{count} hosts"
        return build_ok_result(SUBJECT, f"reachable from pods on {hosts}")
    if cluster_view[FLANNEL_DAEMON_SET] is None:
        return build_ok_result(SUBJECT, "no pod network yet")
    deployment = cluster_view[DEPLOYMENTS].get("coredns")
    available = deployment is not None and deployment.available
    return Result("CoreDNS", "available", "available" if available else "not available", ok=bool(available))


@check("coredns-scaled-to-nothing", DEPLOYMENTS)
def scaled_to_nothing(view: View) -> Result:
    """Check that CoreDNS has replicas. The step flannel checks a missing Deployment."""
    deployment = view[DEPLOYMENTS].get("coredns")
    if deployment is None or deployment.desired_pods:
        return build_ok_result("CoreDNS", f"{deployment.desired_pods} replicas" if deployment else "no such Deployment")
    return Result("replicas of CoreDNS", "1 or more", "0")


@check("dns-nameserver-limit", NAMESERVERS)
def nameserver_limit(view: View) -> Result:
    """Count the name servers in the file that the kubelet reads. resolv.conf(5) allows three."""
    nameservers = view[NAMESERVERS]
    has_excess = len(nameservers.servers) > MAX_NAMES
    return Result(
        f"name servers in {nameservers.file}",
        f"at most {MAX_NAMES}",
        format_value(nameservers.servers),
        ok=not has_excess,
    )
