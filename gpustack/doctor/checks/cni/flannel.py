"""Faults of the layer `cni` that tell themselves: Flannel's settings, its file, its bridge, and what it needs."""

from ipaddress import IPv4Network

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.containerd.daemon import RUNTIME
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import BRIDGE
from gpustack.probes.network.cni import CNI_PROGRAMS, FOLDERS, PROGRAMS, VXLAN
from gpustack.probes.network.flannel import FLANNEL_DAEMON_SET, FLANNELD, LINKS, NET_CONF
from gpustack.steps.own_node import own

ELSEWHERE = "the host is not in a cluster yet"


@check("flannel-cidr-mismatch", NET_CONF, NODES)
def cidr_mismatch(here: View) -> Result:
    """Every podCIDR lies in Flannel's network; Flannel's network may be wider than kubeadm's."""
    what, conf = "Flannel's network", here[NET_CONF]
    if conf is None:
        return ok(what, "Flannel is not installed")
    ranges = {node.name: node.pod_cidr for node in here[NODES] if node.pod_cidr}
    network = IPv4Network(conf.network)
    outside = [f"{cidr} of {name}" for name, cidr in ranges.items() if not IPv4Network(cidr).subnet_of(network)]
    if outside:
        return Result(what, f"a range with {as_text(outside)}", conf.network)
    return ok(what, f"{conf.network}, with the podCIDR of every node")


@check("flannel-podcidr-unassigned", NODES, IDENTITY)
def podcidr_unassigned(here: View) -> Result:
    node = own(here)
    if node is None:
        return ok("node", "the host is not a node")
    return Result(
        f"podCIDR of node {node.name}",
        "a subnet of the pod network",
        as_text(node.pod_cidr),
        ok=bool(node.pod_cidr),
    )


@check("flannel-subnet-env-missing", FLANNELD)
def subnet_env_missing(here: View) -> Result:
    """Checked where Flannel has run, which its CNI configuration shows."""
    found = here[FLANNELD]
    if not found.conflist:
        return ok("/run/flannel/subnet.env", "not written yet")
    return Result(
        "/run/flannel/subnet.env",
        "present",
        found.subnet or "missing",
        ok=bool(found.network),
    )


@check("flannel-subnet-env-missing guard", FLANNELD)
def flannel_is_ready(here: View) -> Result:
    found = here[FLANNELD].running
    return Result("Flannel's pod on this node", "ready", "ready" if found else "not ready", ok=not found)


@check("st-flannel-crash", LEFTOVERS, FLANNELD, FLANNEL_DAEMON_SET)
def flannel_crash(here: View) -> Result:
    """Checked where Flannel has run, or where its DaemonSet exists."""
    what = "Flannel's pod on this node"
    if not here[LEFTOVERS].servers:
        return ok(what, ELSEWHERE)
    found = here[FLANNELD]
    if found.running:
        return ok(what, "ready")
    if not found.conflist and here[FLANNEL_DAEMON_SET] is None:
        return ok(what, "Flannel is not installed")
    return Result(what, "ready", "not ready" if found.conflist else "never ready")


@check("st-flannel-crash -> st-node-notready", FLANNELD)
def never_wrote_the_file(here: View) -> Result:
    found = here[FLANNELD].conflist
    return Result("CNI configuration of Flannel", "present", "present" if found else "never written", ok=bool(found))


@check("cni0-stale-address", BRIDGE, FLANNELD)
def stale_address(here: View) -> Result:
    """An additional address does no harm, and a missing address is set with the next pod."""
    what, wanted, found = "address of cni0", here[FLANNELD].subnet, here[BRIDGE]
    if not wanted or not found:
        return ok(what, "no bridge with an address" if wanted else "no subnet of Flannel on this host")
    return Result(what, wanted, as_text(found), ok=wanted in found)


@check("cni-plugin-binaries-missing", LEFTOVERS, FLANNELD, RUNTIME, CNI_PROGRAMS)
def programs_missing(here: View) -> Result:
    """In the directory that containerd uses. Flannel's own plugin is installed by its pod."""
    what = "CNI plugins"
    if not here[LEFTOVERS].servers:
        return ok(what, ELSEWHERE)
    runtime = here[RUNTIME]
    folders = runtime.bin_dirs if runtime else FOLDERS[:1]
    if unknown := set(folders) - set(FOLDERS):
        raise FactUnavailable(f"containerd has CNI plugins in {as_text(unknown)}")
    found = frozenset().union(*(here[CNI_PROGRAMS][folder] for folder in folders))
    wanted = set(PROGRAMS) - (set() if here[FLANNELD].conflist else {"flannel"})
    where = f" in {as_text(folders)}"
    if missing := wanted - found:
        return Result(what, as_text(PROGRAMS), f"no {as_text(missing)}{where}, or not executable on this host")
    return ok(what, f"all present{where}")


@check("vxlan-module-missing", VXLAN, LINKS)
def vxlan_missing(here: View) -> Result:
    """Checked where Flannel uses vxlan and has no vxlan link."""
    if here.spec.flannel.backend != "vxlan":
        return ok("backend of Flannel", here.spec.flannel.backend)
    found = "working" if here[LINKS] else here[VXLAN]
    return Result("kernel module vxlan", "working or loadable", found, ok=found != "missing")


CHECKS = (
    cidr_mismatch,
    podcidr_unassigned,
    subnet_env_missing,
    flannel_is_ready,
    flannel_crash,
    never_wrote_the_file,
    stale_address,
    programs_missing,
    vxlan_missing,
)
