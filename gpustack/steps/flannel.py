"""Flannel: the pod network, from the pinned manifest of its release.

The control plane downloads the manifest, verifies its checksum, and applies it server-side together with the settings:
the pod network, the backend, and the interface of the node's own address (not that of the default route, which is the
wrong one on hosts with several networks). A change of the settings restarts the pods of the DaemonSet. Fields owned by
others in these objects are not changed. Whether Flannel is running on a worker is checked by the step `workers`.

Settings: kubernetes.pod_cidr, flannel.backend, flannel.port. Sources: flannel-io/flannel Documentation/kube-flannel.yml
and Documentation/configuration.md.
"""

from gpustack.ask.judge import Result, expect
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import DEPLOYMENTS, NODES, add_reason
from gpustack.probes.network.flannel import FLANNEL_DAEMON_SET, FLANNELD, NET_CONF
from gpustack.steps.own_node import find_node
from gpustack.steps.step import Step

DEFAULT_PORT = 8472


def version(view: View) -> Result | None:
    """The DaemonSet exists, in the requested version."""
    daemon_set = view[FLANNEL_DAEMON_SET]
    expected_version = view.versions.components["flannel"]
    if not daemon_set:
        return Result("Flannel", expected_version, "nothing")
    return expect(
        "Flannel",
        expected_version,
        daemon_set.version,
        cure="upgrade",
        hint=Command("gpustack", "explain", "upgrade-needed"),
    )


def settings(view: View) -> Result | None:
    """Flannel's network is the pod network, and its backend the requested one."""
    spec, net_conf = view.spec.flannel, view[NET_CONF]
    expected_network = format_network(str(view.spec.kubernetes.pod_cidr), spec.backend, spec.port)
    return expect(
        "Flannel's network",
        expected_network,
        format_network(net_conf.network, net_conf.backend, net_conf.port) if net_conf else "",
    )


def format_network(network: str, backend: str, port: int) -> str:
    """Format a network and its backend. Only vxlan has a port."""
    return f"{network} over {backend}" + (f" on port {port or DEFAULT_PORT}" if backend == "vxlan" else "")


def rolled_out(view: View) -> Result | None:
    """The pods of the DaemonSet all run its current template."""
    daemon_set = view[FLANNEL_DAEMON_SET]
    actual = (
        "up to date" if daemon_set and daemon_set.current else "some with an older template" if daemon_set else "none"
    )
    return expect("Flannel's pods", "up to date", actual)


def running(view: View) -> Result | None:
    """On the control plane flanneld is ready and has the pod network, and the CNI configuration exists."""
    return find_flanneld_mismatch(view)


def find_flanneld_mismatch(view: View) -> Result | None:
    """Compare what the flanneld of a host reports, and the files that it and its pod created there, with the spec."""
    flanneld = view[FLANNELD]
    if not flanneld.running or not flanneld.conflist:
        return Result("flanneld", "ready", "not ready" if flanneld.conflist else "no CNI configuration")
    return expect("flanneld's network", str(view.spec.kubernetes.pod_cidr), flanneld.network)


def node(view: View) -> Result | None:
    """The control plane's node is Ready and has its subnet of the pod network."""
    control_plane_node = find_node(view)
    if control_plane_node and control_plane_node.ready and not control_plane_node.pod_cidr:
        return Result(
            "podCIDR of the node",
            "a subnet of the pod network",
            "none",
            cure="operator",
            hint=Command("kubectl", "describe", "node"),
        )
    actual = (
        "Ready"
        if control_plane_node and control_plane_node.ready
        else control_plane_node.reason
        if control_plane_node
        else "no such node"
    )
    return expect("node", "Ready", actual, passing=True)


def dns(view: View) -> Result | None:
    """The Deployment of CoreDNS is available, so that pods can resolve names."""
    deployment = view[DEPLOYMENTS].get("coredns")
    if deployment and not deployment.desired_pods:
        hint = Command("kubectl", "-n", "kube-system", "scale", "deployment", "coredns", "--replicas", "2")
        return Result("CoreDNS", "available", "scaled to 0", cure="operator", hint=hint)
    actual = (
        "available"
        if deployment and deployment.available
        else add_reason("not available", deployment.refusal if deployment else "")
    )
    return expect("CoreDNS", "available", actual, passing=True)


STEP = Step(
    "flannel",
    scope="cluster",
    probes=(FLANNEL_DAEMON_SET, NET_CONF, FLANNELD, NODES, IDENTITY, DEPLOYMENTS),
    checks=(version, settings, rolled_out, running, node, dns),
    needs=("control-plane",),
    settle_seconds=300,
    pulls=True,
    interrupts="pods of flannel are made anew; new pods wait for them",
)
