"""Faults of the layer `cni` in Flannel's settings, its file, its bridge, and what it needs."""

from ipaddress import IPv4Network

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.containerd.daemon import RUNTIME
from gpustack.probes.host.noexec import NOEXEC
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import BRIDGE
from gpustack.probes.network.cni import CNI_PROGRAMS, FOLDERS, PROGRAMS, VXLAN
from gpustack.probes.network.flannel import FLANNEL_DAEMON_SET, FLANNELD, LINKS, NET_CONF
from gpustack.steps.own_node import find_node

NO_CLUSTER = "the host is not in a cluster yet"


@check("flannel-cidr-mismatch", NET_CONF, NODES)
def cidr_mismatch(view: View) -> Result:
    """Check that each podCIDR lies in Flannel's network, which may be wider than kubeadm's."""
    subject, conf = "Flannel's network", view[NET_CONF]
    if conf is None:
        return build_ok_result(subject, "Flannel is not installed")
    ranges = {node.name: node.pod_cidr for node in view[NODES] if node.pod_cidr}
    network = IPv4Network(conf.network)
    foreign_ranges = [f"{cidr} of {name}" for name, cidr in ranges.items() if not IPv4Network(cidr).subnet_of(network)]
    if foreign_ranges:
        return Result(subject, f"a range with {format_value(foreign_ranges)}", conf.network)
    return build_ok_result(subject, f"{conf.network}, with the podCIDR of every node")


@check("flannel-podcidr-unassigned", NODES, IDENTITY)
def podcidr_unassigned(view: View) -> Result:
    node = find_node(view)
    if node is None:
        return build_ok_result("node", "the host is not a node")
    return Result(
        f"podCIDR of node {node.name}",
        "a subnet of the pod network",
        format_value(node.pod_cidr),
        ok=bool(node.pod_cidr),
    )


@check("flannel-subnet-env-missing", FLANNELD)
def subnet_env_missing(view: View) -> Result:
    """Check that subnet.env exists on a host where Flannel has run, which its CNI configuration shows."""
    flanneld = view[FLANNELD]
    if not flanneld.conflist:
        return build_ok_result("/run/flannel/subnet.env", "not written yet")
    return Result("/run/flannel/subnet.env", "present", flanneld.subnet or "missing", ok=bool(flanneld.network))


@check("flannel-subnet-env-missing guard", FLANNELD)
def flannel_is_ready(view: View) -> Result:
    is_running = view[FLANNELD].running
    return Result("Flannel's pod on this node", "ready", "ready" if is_running else "not ready", ok=not is_running)


@check("st-flannel-crash", LEFTOVERS, FLANNELD, FLANNEL_DAEMON_SET)
def flannel_crash(view: View) -> Result:
    """Check that Flannel's pod is ready where it has run, or where its DaemonSet exists."""
    subject = "Flannel's pod on this node"
    if not view[LEFTOVERS].servers:
        return build_ok_result(subject, NO_CLUSTER)
    flanneld = view[FLANNELD]
    if flanneld.running:
        return build_ok_result(subject, "ready")
    if not flanneld.conflist and view[FLANNEL_DAEMON_SET] is None:
        return build_ok_result(subject, "Flannel is not installed")
    return Result(subject, "ready", "not ready" if flanneld.conflist else "never ready")


@check("st-flannel-crash -> st-node-notready", FLANNELD)
def never_wrote_the_file(view: View) -> Result:
    conflist = view[FLANNELD].conflist
    return Result(
        "CNI configuration of Flannel", "present", "present" if conflist else "never written", ok=bool(conflist)
    )


@check("cni0-stale-address", BRIDGE, FLANNELD)
def stale_address(view: View) -> Result:
    """Compare the address of cni0 with Flannel's subnet. An additional address does no harm, and a missing address is
    set with the next pod."""
    subject, subnet, addresses = "address of cni0", view[FLANNELD].subnet, view[BRIDGE]
    if not subnet or not addresses:
        return build_ok_result(subject, "no bridge with an address" if subnet else "no subnet of Flannel on this host")
    return Result(subject, subnet, format_value(addresses), ok=subnet in addresses)


@check("cni-plugin-binaries-missing", LEFTOVERS, FLANNELD, RUNTIME, CNI_PROGRAMS)
def programs_missing(view: View) -> Result:
    """Look for the CNI plugins in the directory that containerd uses. Flannel's own plugin is installed by its pod."""
    subject = "CNI plugins"
    if not view[LEFTOVERS].servers:
        return build_ok_result(subject, NO_CLUSTER)
    runtime = view[RUNTIME]
    folders = runtime.bin_dirs if runtime else FOLDERS[:1]
    if unknown_folders := set(folders) - set(FOLDERS):
        raise FactUnavailable(f"containerd has CNI plugins in {format_value(unknown_folders)}")
    programs = frozenset().union(*(view[CNI_PROGRAMS][folder] for folder in folders))
    expected_programs = set(PROGRAMS) - (set() if view[FLANNELD].conflist else {"flannel"})
    location = f" in {format_value(folders)}"
    forbidden_folders = view[NOEXEC] if view.has_fact(NOEXEC) else ()
    if noexec_folders := set(folders).intersection(forbidden_folders):
        raise FactUnavailable(f"nothing in {format_value(noexec_folders)} can be run: it is mounted noexec")
    if missing_programs := expected_programs - programs:
        return Result(
            subject,
            format_value(PROGRAMS),
            f"no {format_value(missing_programs)}{location}, or not executable on this host",
        )
    return build_ok_result(subject, f"all present{location}")


@check("vxlan-module-missing", VXLAN, LINKS)
def vxlan_missing(view: View) -> Result:
    """Check that the module vxlan can be loaded where Flannel uses vxlan and has no vxlan link."""
    if view.spec.flannel.backend != "vxlan":
        return build_ok_result("backend of Flannel", view.spec.flannel.backend)
    state = "working" if view[LINKS] else view[VXLAN]
    return Result("kernel module vxlan", "working or loadable", state, ok=state != "missing")
