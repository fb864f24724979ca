"""GPU Operator: NVIDIA's operator, which installs container toolkit, device plugin, feature discovery and DCGM
exporter.

It is installed if a host has GPUs on its PCI bus; on other clusters this step does nothing. The step `gpu-driver`
decides whether drivers run in containers or are on the hosts. Helm and the operator's status alone do not prove that it
is ready: its policy must be ready *and* reconciled, every host with GPUs must have a node labelled as such, every
operand must run, and as many GPUs must be allocatable as the hosts have for Kubernetes. (A ClusterPolicy is `ready`
even without any GPU node, and Helm accepts DaemonSets that need no pod.)

The namespace allows privileged pods: they use the host's devices and containerd's files. A GPU with a fatal Xid is no
longer allocatable, and the device plugin never restores it by itself; if one is lost while the plugin starts, all GPUs
of the node are. That requires manual action: see `gpustack explain gpu-operator/allocatable`.

Settings: gpu, gpustack_gpus. Sources: NVIDIA/gpu-operator v26.7.0, controllers/clusterpolicy_controller.go,
internal/conditions; NVIDIA/k8s-driver-manager cmd/driver-manager/main.go, unbindVfioPCI.
"""

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.probes.gpu.cluster import CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_DEPLOYMENTS, GPU_NODES, STRANDED
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu.engine_pods import ENGINE
from gpustack.probes.gpu.host_engines import HOST_ENGINES
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.gpu.runtime import DROP_IN
from gpustack.probes.helm import RELEASES
from gpustack.probes.host.system import IDENTITY, OS
from gpustack.probes.kubernetes.namespaces import NAMESPACES
from gpustack.probes.kubernetes.nodes import NODES, add_reason
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.control_plane.step import control_planes
from gpustack.steps.gpu.count import gpus, passed_on
from gpustack.steps.gpu.host_engines import foreign_engines, separate, unpaired
from gpustack.steps.gpu.hosts import (
    PRESENT,
    allocatable_mismatch,
    expected,
    gpu_count_mismatch,
    gpu_nodes,
    name_nodes,
    namespace_mismatch,
    on_hosts,
    silent,
    unlabelled,
    whole,
)  # fmt: skip
from gpustack.steps.gpu.mode import mode
from gpustack.steps.gpu.operator_values import drivers_in_containers, release
from gpustack.steps.gpu.plugin_objects import OURS
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


def namespace(here: View) -> Result | None:
    """The namespace is not being deleted, and allows privileged pods."""
    return namespace_mismatch(here)


def host_stack(here: View) -> Result | None:
    """The objects of `gpu.stack: host` are not installed as well: each GPU would be offered and measured twice."""
    there = [name for name in here[GPU_DAEMON_SETS] if name.startswith(OURS)]
    if not expected(here) or not there:
        return None
    space = here.spec.gpu.namespace
    kinds, label = "daemonset,service,configmap", "app.kubernetes.io/managed-by=gpustack"
    hint = Prose(
        "{}; on each host with GPUs {} and systemctl restart containerd",
        Command("kubectl", "-n", space, "delete", kinds, "-l", label),
        Command("rm", DROP_IN),
        note="or keep it: gpu.stack: host in the spec",
    )
    return Result("DaemonSets of gpu.stack host", "none", as_text(there), cure="operator", hint=hint)


def gpus_on_bus(here: View) -> Result | None:
    """Each host has at least as many GPUs for Kubernetes on its bus as the inventory says (`gpustack_gpus`).

    Not counted are functions that are bound for virtual machines (vfio-pci, pci-stub), and display cards older than
    Turing, next to newer GPUs, that the driver does not support. What the driver shows is offered to pods, even if the
    inventory names fewer.
    """
    return gpu_count_mismatch(here)


def virtual_machines(here: View) -> Result | None:
    """No driver container runs on a host with GPUs that are bound for virtual machines. Before it loads its module,
    NVIDIA's driver manager unbinds every GPU of the host from vfio-pci, including those of running machines."""
    wrong = {}
    for host in expected(here):
        there = here.on(host)
        if (bound := passed_on(there)) and mode(there) == "container":
            wrong[host] = f"{bound} of {len(there[GPU_DEVICES])} GPUs, and a driver container"
    hint = Prose("set gpu.driver.mode: host in the spec", note="or gpustack_gpus: 0 for the host")
    return on_hosts(
        "GPUs bound for virtual machines", "none on a host with a driver container", wrong, "operator", hint
    )


def left_alone(here: View) -> Result | None:
    """The node of a host that has GPUs, but none for Kubernetes, has the label that excludes it from the operator:
    otherwise the operator deploys its operands there, and waits forever for a driver. The check uses the PCI bus,
    whatever the inventory says."""
    if not expected(here):
        return None
    able = [here.on(host.name) for host in here.hosts if host.name not in silent(here)]
    hosts = {there[IDENTITY].machine_id: there.where for there in able if there[GPU_DEVICES] and not gpus(there)}
    labelless = {
        hosts[node.machine_id]: node
        for node in (here[GPU_NODES] if hosts else ())
        if node.machine_id in hosts and node.labels.get(OPERANDS_LABEL) != "false"
    }
    wrong = dict.fromkeys(labelless, f"no label {OPERANDS_LABEL}=false")
    hint = Command("kubectl", "label", "node", *name_nodes(here, labelless), f"{OPERANDS_LABEL}=false")
    return on_hosts("nodes without a GPU for Kubernetes", "excluded from the operator", wrong, "operator", hint)


def host_engine(here: View) -> Result | None:
    """No DCGM host engine is running on a host with GPUs next to that of the exporter: as nvidia-dcgm.service of the
    DCGM packages, or started by hand. One in a pod does not count. With gpu.dcgm: host it is the other way round: one
    runs on every host with GPUs, at the address of gpu.metrics.engine.

    On GPUs before Hopper only one process can use the profiling counters, and one of the two fails (`gpustack explain
    mon-dcgm-profiling-module-error`). There are two solutions. Stop it permanently: users of dcgmi there then start an
    engine themselves, or use that of gpu.dcgm: standalone, by `kubectl exec`. Or use it, with gpu.dcgm: host.
    """
    return foreign_engines(here)


def engine_pair(here: View) -> Result | None:
    """The exporter and a host engine of another image or package are of a pair that NVIDIA tested: the first half of
    the exporter's tag is the engine's version. Others may work, and are not supported; DCGM 4.7.1 talks to no older one
    (NVIDIA, DCGM Exporter release notes). The exporter's own engine always fits."""
    return unpaired(here)


def policy_of_others(here: View) -> Result | None:
    """The ClusterPolicy of the cluster, if there is one, is that of our release."""
    others = [one.name for one in here[CLUSTER_POLICIES] or () if one.release != here.spec.gpu.release]
    if not expected(here) or not others:
        return None
    hint = Prose("set gpu.driver and gpu.stack aside (gpu.stack: host), or remove that operator before")
    return Result(
        "ClusterPolicy", "gpustack's or none", f"{as_text(others)} of another release", cure="operator", hint=hint
    )


def chart(here: View) -> Result | None:
    """The Helm release is deployed, with the chart of the version set and the values of the spec."""
    return compared(here, release(here)) if expected(here) else None


def policy(here: View) -> Result | None:
    """The operator reports that its policy is ready, because it is reconciled, not because there was nothing to do."""
    if not expected(here):
        return None
    found = next((one for one in here[CLUSTER_POLICIES] or () if one.name == POLICY), None)
    if found is None:
        return Result("ClusterPolicy", "ready", "none")
    if (found.state, found.reason) == ("ready", "Reconciled"):
        return None
    actual = f"{found.state or 'no state'}, {found.reason or 'no reason'}: {found.message}".rstrip(": ")
    return Result("ClusterPolicy", "ready, Reconciled", actual, passing=True)


def labels(here: View) -> Result | None:
    """The operator has labelled the node of every host with GPUs as a GPU node. A host that is not a node is checked by
    the step workers."""
    return on_hosts("nodes with GPUs", f"labelled {PRESENT}=true", unlabelled(here), passing=True)


def operands(here: View) -> Result | None:
    """The operator is running, and on every GPU node its toolkit, validator, device plugin, feature discovery,
    exporter, and the DCGM host engine of gpu.dcgm: standalone; also the node feature discovery that comes with it,
    unless your values say that another one is used. A node with a label that excludes the operands gets none, however
    long install waits."""
    if not expected(here):
        return None
    if opted_out := {
        host: node for host, node in gpu_nodes(here).items() if node.labels.get(OPERANDS_LABEL) == "false"
    }:
        hint = Command(
            "kubectl",
            "label",
            "node",
            *name_nodes(here, opted_out),
            f"{OPERANDS_LABEL}-",
            note="or gpustack_gpus: 0 for the host",
        )
        wrong = dict.fromkeys(opted_out, f"excluded from the operator by label {OPERANDS_LABEL}=false")
        return on_hosts("operands", "running on every GPU node", wrong, "operator", hint)
    deployments, names = ["gpu-operator"], list(OPERANDS)
    if separate(here):
        names.append(ENGINE)
    if here.snapshot.inventory.values.get(here.spec.gpu.release, {}).get("nfd", {}).get("enabled", True):
        deployments.append(f"{here.spec.gpu.release}{DISCOVERY}-master")
        names.append(f"{here.spec.gpu.release}{DISCOVERY}-worker")
    for name in deployments:
        running = here[GPU_DEPLOYMENTS].get(name)
        if running is None or not running.runs or not running.ready:
            actual = "nothing" if running is None else "not running" if running.wanted else "scaled to 0"
            why = running.refused if running else ""
            return Result(name, "running", add_reason(actual, why), passing=actual == "not running")
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
    words = [f"no {as_text(missing)}" if missing else "", as_text(down) if down else ""]
    return Result("operands", "running on every GPU node", "; ".join(filter(None, words)), passing=True)


def allocatable(here: View) -> Result | None:
    """Each node has at least as many allocatable GPUs as its host has for Kubernetes.

    GPU sharing and MIG instances are checked by the step gpu-sharing. A GPU that a node has and cannot allocate was
    marked unhealthy by the device plugin, after an Xid: find it (`journalctl -k | grep NVRM`), fix it, then delete the
    node's pod of nvidia-device-plugin-daemonset. With time-slicing an Xid removes one replica only; the other replicas
    of a dead GPU stay.
    """
    return allocatable_mismatch(here, "gpu-operator", [PLUGIN], whole(here), least=True)


def settle_by_mode(here: View) -> int:
    return SETTLE_WITH_DRIVERS if drivers_in_containers(here) else SETTLE


STEP = Step(
    "gpu-operator",
    scope="cluster",
    probes=(
        RELEASES, NAMESPACES, GPU_NODES, CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_DEPLOYMENTS,
        IDENTITY, OS, GPU_DEVICES, GPU_PACKAGES, GPU_DRIVER, GPU_SMI, STRANDED, HOST_ENGINES, NODES, ADDRESS,
    ),
    checks=(
        host_stack, namespace, policy_of_others, gpus_on_bus, virtual_machines, left_alone, host_engine,
        engine_pair, chart, policy, labels, operands, allocatable,
    ),
    needs=("helm", "flannel", "workers", "gpu-driver"),
    settle=SETTLE,
    pulls=True,
    settle_by=settle_by_mode,
    applies=applies,
    interrupts="operands whose settings differ are made anew; pods with GPUs run on",
)  # fmt: skip
