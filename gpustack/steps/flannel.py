"""Flannel: the pod network, from the pinned manifest of its release.

The control plane downloads the manifest, verifies its checksum, and applies it server-side together with our settings:
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
from gpustack.steps.control_plane.step import control_planes
from gpustack.steps.own_node import own
from gpustack.steps.step import Step

DEFAULT_PORT = 8472


def version(here: View) -> Result | None:
    """The DaemonSet exists, in the requested version."""
    found = here[FLANNEL_DAEMON_SET]
    wanted = here.versions.components["flannel"]
    if not found:
        return Result("Flannel", wanted, "nothing")
    return expect(
        "Flannel", wanted, found.version, cure="upgrade", hint=Command("gpustack", "explain", "upgrade-needed")
    )


def settings(here: View) -> Result | None:
    """Flannel's network is the pod network, and its backend the requested one."""
    spec, found = here.spec.flannel, here[NET_CONF]
    wanted = format_network(str(here.spec.kubernetes.pod_cidr), spec.backend, spec.port)
    return expect(
        "Flannel's network", wanted, format_network(found.network, found.backend, found.port) if found else ""
    )


def format_network(network: str, backend: str, port: int) -> str:
    """Only vxlan has a port."""
    return f"{network} over {backend}" + (f" on port {port or DEFAULT_PORT}" if backend == "vxlan" else "")


def rolled_out(here: View) -> Result | None:
    """Every pod of the DaemonSet runs its current template."""
    found = here[FLANNEL_DAEMON_SET]
    is_now = "up to date" if found and found.current else "some with an older template" if found else "none"
    return expect("Flannel's pods", "up to date", is_now)


def running(here: View) -> Result | None:
    """On the control plane flanneld is ready and has the pod network, and the CNI configuration exists."""
    return on_host(here)


def on_host(here: View) -> Result | None:
    """For every host: what its flanneld reports, and the files that it and its pod created there."""
    found = here[FLANNELD]
    if not found.running or not found.conflist:
        return Result("flanneld", "ready", "not ready" if found.conflist else "no CNI configuration")
    return expect("flanneld's network", str(here.spec.kubernetes.pod_cidr), found.network)


def node(here: View) -> Result | None:
    """The control plane's node is Ready and has its subnet of the pod network."""
    found = own(here)
    if found and found.ready and not found.pod_cidr:
        return Result(
            "podCIDR of the node",
            "a subnet of the pod network",
            "none",
            cure="operator",
            hint=Command("kubectl", "describe", "node"),
        )
    is_now = "Ready" if found and found.ready else found.reason if found else "no such node"
    return expect("node", "Ready", is_now, passing=True)


def dns(here: View) -> Result | None:
    """CoreDNS is available."""
    found = here[DEPLOYMENTS].get("coredns")
    if found and not found.wanted:
        hint = Command("kubectl", "-n", "kube-system", "scale", "deployment", "coredns", "--replicas", "2")
        return Result("CoreDNS", "available", "scaled to 0", cure="operator", hint=hint)
    is_now = "available" if found and found.available else add_reason("not available", found.refused if found else "")
    return expect("CoreDNS", "available", is_now, passing=True)


STEP = Step(
    "flannel",
    scope="cluster",
    probes=(FLANNEL_DAEMON_SET, NET_CONF, FLANNELD, NODES, IDENTITY, DEPLOYMENTS),
    checks=(version, settings, rolled_out, running, node, dns),
    needs=("control-plane",),
    settle=300,
    pulls=True,
    applies=control_planes,
    interrupts="pods of flannel are made anew; new pods wait for them",
)
