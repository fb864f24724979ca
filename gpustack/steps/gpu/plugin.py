"""GPUs in the cluster without an operator: NVIDIA's device plugin and DCGM exporter, as DaemonSets of our own.

For `gpu.stack: host`, if operators are not allowed; if no host has GPUs, this step does nothing. It labels nodes with
GPUs with nvidia.com/gpu.present=true, and installs the RuntimeClass nvidia, one DaemonSet of the device plugin for each
sharing mode in the inventory (a node's label nvidia.com/device-plugin.config selects it), and the exporter with its
Service. Pods get their GPUs by CDI: they need no RuntimeClass, only a limit of nvidia.com/gpu.

Not available without the operator: drivers in containers, GPU feature discovery (nodes have no labels for model or
memory), the MIG manager, MPS. Changing a cluster from one stack to the other is manual: while the operator's release is
installed, this step stops and reports it, and vice versa.

A GPU with a fatal Xid is no longer allocatable, and the device plugin never restores it by itself: see `gpustack
explain gpu-plugin/allocatable`.

Not yet tested on hardware: it was run with the real device plugin, a simulated exporter and simulated GPUs.

Settings: gpu, gpustack_gpus. Sources: NVIDIA/k8s-device-plugin and NVIDIA/dcgm-exporter, README and deployments;
Kubernetes device plugins and RuntimeClass.
"""

from collections.abc import Collection
from typing import Any

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.probes.gpu.cluster import CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_NODES, STRANDED
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu.host_engines import HOST_ENGINES
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.helm import RELEASES
from gpustack.probes.host.system import IDENTITY, OS
from gpustack.probes.kubernetes.applied import CONFIG_MAPS, DAEMON_SETS, RUNTIME_CLASSES, SERVICES
from gpustack.probes.kubernetes.namespaces import NAMESPACES
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.applied import differing
from gpustack.steps.control_plane.step import control_planes
from gpustack.steps.gpu import plugin_objects as gpu_plugin_objects
from gpustack.steps.gpu.count import gpus
from gpustack.steps.gpu.host_engines import foreign_engines, unpaired
from gpustack.steps.gpu.hosts import (
    PRESENT,
    allocatable_mismatch,
    expected,
    find_writable_node,
    gpu_count_mismatch,
    gpu_nodes,
    namespace_mismatch,
    on_hosts,
    shared,
    sharing,
    unlabelled,
    writable_nodes,
)  # fmt: skip
from gpustack.steps.gpu.operator_values import WHOLE, key
from gpustack.steps.gpu.plugin_objects import EXPORTER, OURS, PLUGIN_LABEL, objects, plugins
from gpustack.steps.step import Step

# By kind: which of the objects that we bring are there as we bring them.
PROBES = {"ConfigMap": CONFIG_MAPS, "DaemonSet": DAEMON_SETS, "Service": SERVICES, "RuntimeClass": RUNTIME_CLASSES}


def applies(inventory: Inventory, host: Host) -> bool:
    return inventory.spec.gpu.stack == "host" and control_planes(inventory, host)


def wanted(here: View) -> dict[str, Any]:
    """`objects` to apply; `labels` as lines `NODE LABEL VALUE`, the value `-` is none; `daemon_sets` are the names that
    stay of ours."""
    if here.spec.gpu.stack != "host":
        return {"objects": [], "labels": [], "daemon_sets": []}
    brought = gpu_plugin_objects.all_objects(here) if expected(here) else []
    names = [one["metadata"]["name"] for one in brought if one["kind"] == "DaemonSet"]
    return {"objects": brought, "labels": [*labelled(here), *deserted(here)], "daemon_sets": names}


def labelled(here: View) -> list[str]:
    found: list[str] = []
    for host, node in writable_nodes(here).items():
        way = key(*sharing(here, here.on(host).host))
        found += [f"{node.name} {PRESENT} true", f"{node.name} {PLUGIN_LABEL} {'-' if way == WHOLE else way}"]
    return found


def deserted(here: View) -> list[str]:
    """The label goes from nodes of hosts that say they have no GPU: a plugin there could not start."""
    labels = {node.name: node.labels for node in here[GPU_NODES]}
    found = []
    for host in here.hosts:
        there = here.on(host.name)
        if there.reached and there.available(GPU_DEVICES) and not gpus(there) and there.available(IDENTITY):
            name = find_writable_node(here, host.name)
            if PRESENT in labels.get(name, {}):
                found.append(f"{name} {PRESENT} -")
    return found


def gpus_on_bus(here: View) -> Result | None:
    """Each host has at least as many GPUs for Kubernetes on its bus as the inventory says (`gpustack_gpus`). `gpustack
    explain gpu-operator/gpus-on-bus` lists what is not counted."""
    return gpu_count_mismatch(here)


def operators_stack(here: View) -> Result | None:
    """NVIDIA's operator is not installed as well: each GPU would be offered and measured twice."""
    spec = here.spec.gpu
    there = [f"release {one.namespace}/{one.name}" for one in here[RELEASES] if one.name == spec.release]
    there += [f"ClusterPolicy {one.name}" for one in here[CLUSTER_POLICIES] or ()]
    if not expected(here) or not there:
        return None
    hint = Prose(
        "{}, by /usr/local/lib/gpustack/helm; pods that use GPUs end before",
        Command("helm", "uninstall", spec.release, "-n", spec.namespace),
        note="or keep it: gpu.stack: operator in the spec",
    )
    return Result("GPU operator beside gpu.stack host", "none", as_text(there), cure="operator", hint=hint)


def namespace(here: View) -> Result | None:
    """The namespace is not being deleted, and allows privileged pods."""
    return namespace_mismatch(here)


def host_engine(here: View) -> Result | None:
    """No DCGM host engine is running on a host with GPUs next to that of the exporter: `gpustack explain
    gpu-operator/host-engine` explains the reason and the solutions."""
    return foreign_engines(here)


def engine_pair(here: View) -> Result | None:
    """The exporter and a host engine of another image or package are of a pair that NVIDIA tested: `gpustack explain
    gpu-operator/engine-pair`."""
    return unpaired(here)


def ways(here: View) -> Result | None:
    """The sharing modes in the inventory work without the operator: time-slicing, but neither MPS nor a MIG layout."""
    wrong = {}
    for host in here.hosts:
        if host.name not in expected(here):
            continue
        if host.spec.gpustack_mig:
            wrong[host.name] = f"gpustack_mig: {host.spec.gpustack_mig}"
        elif sharing(here, host)[0] == "mps":
            wrong[host.name] = "mps"
    hint = Prose("time-slicing, or gpu.stack: operator in the spec")
    return on_hosts("sharing without an operator", "none or time-slicing", wrong, "operator", hint)


def brought(here: View) -> Result | None:
    """The objects exist and match this release and the spec."""
    if not expected(here):
        return None
    for kind, probe in PROBES.items():
        of_kind = [one for one in objects(here) if one["kind"] == kind]
        if found := differing(f"{kind}s", of_kind, here[probe]):
            return found
    return None


def stale_daemon_sets(here: View) -> Result | None:
    """No DaemonSet of ours is left from another sharing mode."""
    names = {*plugins(here), EXPORTER}
    left = [name for name in here[GPU_DAEMON_SETS] if name.startswith(OURS) and name not in names]
    return (
        Result("DaemonSets of gpustack", as_text(names), f"also {as_text(left)}") if expected(here) and left else None
    )


def labels(here: View) -> Result | None:
    """Nodes of hosts with GPUs are labelled with that and with their sharing mode; nodes of other hosts are not."""
    wrong = unlabelled(here)
    for host, node in writable_nodes(here).items():
        way, found = key(*sharing(here, here.on(host).host)), node.labels.get(PLUGIN_LABEL, WHOLE)
        if found != way:
            wrong.setdefault(host, f"{PLUGIN_LABEL}={found} instead of {way}")
    wrong |= {line.split()[0]: "labelled, but without GPUs" for line in deserted(here)}
    return on_hosts("labels of nodes", f"{PRESENT}=true on nodes with GPUs", wrong)


def daemon_sets(here: View) -> Result | None:
    """The device plugin and the exporter, with gpu.dcgm: standalone its host engine too, run on every GPU node."""
    count, found = len(gpu_nodes(here)), here[GPU_DAEMON_SETS]
    if not expected(here):
        return None
    down = []
    of_each: tuple[tuple[str, Collection[str]], ...] = (("device plugin", plugins(here)), ("exporter", (EXPORTER,)))
    for what, names in of_each:
        there = [found[name] for name in names if name in found]
        ready = sum(one.ready for one in there)
        if len(there) < len(names) or ready < count or not all(one.runs for one in there):
            down.append(f"{what} on {ready} of {count}")
    return Result("DaemonSets", "ready on every GPU node", "; ".join(down), passing=True) if down else None


def allocatable(here: View) -> Result | None:
    """Each node has as many allocatable GPUs as its host has for Kubernetes, times the pods that share one.

    A GPU that a node has and cannot allocate was marked unhealthy by the device plugin, after an Xid: find it
    (`journalctl -k | grep NVRM`), fix it, then delete the node's pod of gpustack-device-plugin. With time-slicing an
    Xid removes one replica only; the other replicas of a dead GPU stay.
    """
    return allocatable_mismatch(here, "gpu-plugin", plugins(here), shared(here))


STEP = Step(
    "gpu-plugin",
    scope="cluster",
    probes=(
        *PROBES.values(), RELEASES, CLUSTER_POLICIES, NAMESPACES, GPU_NODES, NODES, ADDRESS, GPU_DAEMON_SETS, IDENTITY,
        GPU_DEVICES,
        OS, GPU_PACKAGES, GPU_DRIVER, GPU_SMI, STRANDED, HOST_ENGINES,
    ),
    checks=(
        operators_stack, namespace, gpus_on_bus, host_engine, engine_pair, ways, brought, stale_daemon_sets,
        labels, daemon_sets, allocatable,
    ),
    needs=("flannel", "workers", "gpu-runtime"),
    settle=180,
    pulls=True,
    applies=applies,
    interrupts="the device plugin is made anew; new pods with GPUs wait for it",
)  # fmt: skip
