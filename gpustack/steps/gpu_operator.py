"""GPU Operator: NVIDIA's operator, which brings container toolkit, device plugin, feature discovery and DCGM exporter.

It is installed where a host has GPUs by its PCI bus, and is nothing to do on clusters without. Whether drivers come in
containers or are on the hosts is settled by the step `gpu-driver`. Ready is judged by what counts, not by Helm and not
by one word of the operator's: its policy is ready *and* reconciled, every host with GPUs has a node that says so, every
operand runs, and as many GPUs are allocatable as the hosts have for it. (A ClusterPolicy is `ready` also with no GPU
node at all, and Helm is content with DaemonSets that want no pod.)

The namespace lets its pods be privileged: they work on the host's devices and on containerd's files. A GPU with a fatal
Xid is allocatable no more, and the device plugin never takes it back by itself; when one is lost while the plugin
starts, all of the node's go. That is for a person: see `gpustack explain gpu-operator/allocatable`.

Settings: gpu, gpustack_gpus. Sources: NVIDIA/gpu-operator v26.7.0, controllers/clusterpolicy_controller.go,
internal/conditions; NVIDIA/k8s-driver-manager cmd/driver-manager/main.go, unbindVfioPCI.
"""

from gpustack.ask.judge import Mismatch, said
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.probes.gpu import GPU_DEVICES
from gpustack.probes.gpu_cluster import CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_DEPLOYMENTS, GPU_NODES, STRANDED
from gpustack.probes.gpu_driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu_host_engines import HOST_ENGINES
from gpustack.probes.gpu_packages import GPU_PACKAGES
from gpustack.probes.gpu_runtime import DROP_IN
from gpustack.probes.helm import RELEASES
from gpustack.probes.kube import add_reason
from gpustack.probes.namespaces import NAMESPACES
from gpustack.probes.system import IDENTITY, OS
from gpustack.steps.control_plane import control_planes
from gpustack.steps.gpu_count import gpus, passed_on
from gpustack.steps.gpu_host_engines import foreign_engines
from gpustack.steps.gpu_hosts import (
    PRESENT,
    allocatable_mismatch,
    expected,
    fewer_than_said,
    gpu_nodes,
    namespace_mismatch,
    on_hosts,
    silent,
    unlabelled,
    whole,
)  # fmt: skip
from gpustack.steps.gpu_mode import mode
from gpustack.steps.gpu_operator_values import drivers_in_containers, release
from gpustack.steps.gpu_plugin_objects import OURS
from gpustack.steps.release import compared
from gpustack.steps.step import Step

# In seconds. The image of a driver container, 1 to 2 GB, is pulled; then the chart gives it 60 s and 120 times 10 s to
# compile the module (values.yaml of gpu-operator, driver.startupProbe).
SETTLE, SETTLE_WITH_DRIVERS = 420, 1500
POLICY = "cluster-policy"
OPERANDS_LABEL = "nvidia.com/gpu.deploy.operands"  # GPU Operator documentation, "Operands"
DISCOVERY = "-node-feature-discovery"  # after the name of the release
PLUGIN = "nvidia-device-plugin-daemonset"
# On every GPU node; what drivers in containers, MPS and MIG add comes and goes.
OPERANDS = (
    "nvidia-container-toolkit-daemonset", "nvidia-operator-validator", PLUGIN,
    "gpu-feature-discovery", "nvidia-dcgm-exporter",
)  # fmt: skip


def applies(inventory: Inventory, host: Host) -> bool:
    return inventory.spec.gpu.stack == "operator" and control_planes(inventory, host)


def namespace(here: View) -> Mismatch | None:
    """The namespace is not being deleted, and may run privileged pods."""
    return namespace_mismatch(here)


def host_stack(here: View) -> Mismatch | None:
    """What `gpu.stack: host` brings is not there as well: each GPU would be offered and measured twice."""
    there = [name for name in here[GPU_DAEMON_SETS] if name.startswith(OURS)]
    if not expected(here) or not there:
        return None
    space = here.spec.gpu.namespace
    hint = (
        f"kubectl -n {space} delete daemonset,service,configmap -l app.kubernetes.io/managed-by=gpustack; on each host "
        f"with GPUs rm {DROP_IN} and systemctl restart containerd    # or keep it: gpu.stack: host in the spec"
    )
    return Mismatch("gpu.stack operator", "no DaemonSets of ours", said(there), cure="operator", hint=hint)


def said_by_the_inventory(here: View) -> Mismatch | None:
    """Each host has as many GPUs for Kubernetes on its bus as the inventory says (`gpustack_gpus`), or more.

    Not counted are functions that are bound for virtual machines (vfio-pci, pci-stub), and display cards older than
    Turing beside newer GPUs that the driver does not drive. What the driver shows is offered to pods, also where
    the inventory names fewer."""
    return fewer_than_said(here)


def virtual_machines(here: View) -> Mismatch | None:
    """No driver container comes to a host with GPUs that are bound for virtual machines. Before it loads its module,
    NVIDIA's driver manager unbinds every GPU of the host from vfio-pci, those of running machines too."""
    wrong = {}
    for host in expected(here):
        there = here.on(host)
        if (bound := passed_on(there)) and mode(there) == "container":
            wrong[host] = f"{bound} of {len(there[GPU_DEVICES])} GPUs, and a driver container"
    hint = "set gpu.driver.mode: host in the spec    # or gpustack_gpus: 0 for the host"
    return on_hosts("GPUs bound for virtual machines", "none beside a driver container", wrong, "operator", hint)


def left_alone(here: View) -> Mismatch | None:
    """The node of a host that has GPUs, and none for Kubernetes, has the label by which the operator leaves it alone:
    else it brings its operands there, and waits for ever for a driver. It goes by the bus, whatever the inventory
    says."""
    if not expected(here):
        return None
    able = [here.on(host.name) for host in here.hosts if host.name not in silent(here)]
    hosts = {there[IDENTITY].machine_id: there.where for there in able if there[GPU_DEVICES] and not gpus(there)}
    found = [node for node in here[GPU_NODES] if node.machine_id in hosts] if hosts else []
    names = [node.name for node in found if node.labels.get(OPERANDS_LABEL) != "false"]
    wrong = {hosts[node.machine_id]: f"no label {OPERANDS_LABEL}=false" for node in found if node.name in names}
    hint = f"kubectl label node {' '.join(names)} {OPERANDS_LABEL}=false"
    return on_hosts("nodes without a GPU for Kubernetes", "left alone by the operator", wrong, "operator", hint)


def host_engine(here: View) -> Mismatch | None:
    """No DCGM host engine runs on a host with GPUs already, beside the one that the exporter brings: as
    nvidia-dcgm.service of DCGM's packages, or started by hand. One in a pod is not meant.

    On GPUs before Hopper only one process can have the counters of profiling, and one of both fails (`gpustack explain
    mon-dcgm-profiling-module-error`). Two ways out. Stop it for good: who uses dcgmi there starts an engine with it.
    Or keep it, with gpu.metrics.host_engine: keep: then the exporter reads none of our fields of profiling, on all
    hosts, so that panels of SM and tensor activity, of memory bandwidth, PCIe and NVLink stay empty; two engines on one
    host are nothing that NVIDIA supports."""
    return foreign_engines(here)


def policy_of_others(here: View) -> Mismatch | None:
    """The ClusterPolicy of the cluster, if there is one, is that of our release."""
    others = [one.name for one in here[CLUSTER_POLICIES] or () if one.release != here.spec.gpu.release]
    if not expected(here) or not others:
        return None
    hint = "set gpu.driver and gpu.stack aside (gpu.stack: host), or remove that operator before"
    return Mismatch("ClusterPolicy", "ours or none", f"{said(others)} of somebody else", cure="operator", hint=hint)


def chart(here: View) -> Mismatch | None:
    """The Helm release is there, deployed, with the chart of the version set and the values of the spec."""
    return compared(here, release(here)) if expected(here) else None


def policy(here: View) -> Mismatch | None:
    """The operator says that its policy is ready, because it is reconciled, not because there was nothing to do."""
    if not expected(here):
        return None
    found = next((one for one in here[CLUSTER_POLICIES] or () if one.name == POLICY), None)
    if found is None:
        return Mismatch("ClusterPolicy", "ready", "nothing")
    if (found.state, found.reason) == ("ready", "Reconciled"):
        return None
    told = f"{found.state or 'no state'}, {found.reason or 'no reason'}: {found.message}".rstrip(": ")
    return Mismatch("ClusterPolicy", "ready, Reconciled", told, passing=True)


def labels(here: View) -> Mismatch | None:
    """The operator knows the node of every host with GPUs as one with GPUs. A host that is no node is the matter of the
    step workers."""
    return on_hosts("nodes with GPUs", f"labelled {PRESENT}=true", unlabelled(here), passing=True)


def operands(here: View) -> Mismatch | None:
    """The operator runs, and on every GPU node its toolkit, validator, device plugin, feature discovery, exporter; and
    the discovery of nodes' features that comes with it, unless your values say that another one does that. A node that
    somebody's label keeps the operands from gets none, however long install waits."""
    if not expected(here):
        return None
    if opted_out := {
        host: node.name for host, node in gpu_nodes(here).items() if node.labels.get(OPERANDS_LABEL) == "false"
    }:
        hint = (
            f"kubectl label node {' '.join(opted_out.values())} {OPERANDS_LABEL}-    # or gpustack_gpus: 0 for the host"
        )
        wrong = dict.fromkeys(opted_out, f"the operator leaves it alone, by label {OPERANDS_LABEL}=false")
        return on_hosts("operands", "running on every GPU node", wrong, "operator", hint)
    deployments, names = ["gpu-operator"], list(OPERANDS)
    if here.snapshot.inventory.values.get(here.spec.gpu.release, {}).get("nfd", {}).get("enabled", True):
        deployments.append(f"{here.spec.gpu.release}{DISCOVERY}-master")
        names.append(f"{here.spec.gpu.release}{DISCOVERY}-worker")
    for name in deployments:
        running = here[GPU_DEPLOYMENTS].get(name)
        if running is None or not running.runs or not running.ready:
            told = "nothing" if running is None else "not running" if running.wanted else "scaled to nothing"
            why = running.refused if running else ""
            return Mismatch(name, "running", add_reason(told, why), passing=told == "not running")
    found = here[GPU_DAEMON_SETS]
    count = len(gpu_nodes(here))
    missing = [name for name in names if name not in found]
    down = [
        f"{name} {found[name].ready} of {max(found[name].wanted, count)}"
        for name in names
        if name in found and (not found[name].runs or found[name].ready < count)
    ]
    if not missing and not down:
        return None
    words = [f"no {said(missing)}" if missing else "", said(down) if down else ""]
    return Mismatch("operands", "running on every GPU node", "; ".join(filter(None, words)), passing=True)


def allocatable(here: View) -> Mismatch | None:
    """As many GPUs can be allocated on each node as its host has for Kubernetes, at least.

    How often each is shared, and MIG instances, are the matter of the step gpu-sharing. What a node has and cannot
    allocate was marked unhealthy by the device plugin, after an Xid: find it (`journalctl -k | grep NVRM`), mend it,
    then delete the node's pod of nvidia-device-plugin-daemonset. With time-slicing an Xid takes one replica only, the
    others of a dead GPU stay.
    """
    return allocatable_mismatch(here, "gpu-operator", [PLUGIN], whole(here), least=True)


def settle_by_mode(here: View) -> int:
    return SETTLE_WITH_DRIVERS if drivers_in_containers(here) else SETTLE


STEP = Step(
    "gpu-operator",
    scope="cluster",
    probes=(
        RELEASES, NAMESPACES, GPU_NODES, CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_DEPLOYMENTS, IDENTITY, OS, GPU_DEVICES,
        GPU_PACKAGES, GPU_DRIVER, GPU_SMI, STRANDED, HOST_ENGINES,
    ),
    checks=(
        host_stack, namespace, policy_of_others, said_by_the_inventory, virtual_machines, left_alone, host_engine,
        chart, policy, labels, operands, allocatable,
    ),
    needs=("helm", "flannel", "workers", "gpu-driver"),
    settle=SETTLE,
    settle_by=settle_by_mode,
    applies=applies,
)  # fmt: skip
