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

A driver container installs the headers of the kernel when it starts: through the proxy of the spec, if it has one, and
with its CA; with `gpu.driver.repo_config` from the package sources of that file.

Settings: gpu, gpustack_gpus, proxy, source.ca_file. Sources: NVIDIA/gpu-operator v26.7.0,
controllers/clusterpolicy_controller.go, internal/conditions; NVIDIA/k8s-driver-manager cmd/driver-manager/main.go,
unbindVfioPCI.
"""

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.probes.gpu.cluster import CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_DEPLOYMENTS, GPU_NODES, STRANDED_PODS
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu.engine_pods import ENGINE
from gpustack.probes.gpu.holding_pods import HOLDING_PODS
from gpustack.probes.gpu.host_engines import HOST_ENGINES
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.gpu.quotas import GPU_QUOTAS
from gpustack.probes.gpu.runtime import DROP_IN
from gpustack.probes.helm import RELEASES
from gpustack.probes.host.system import IDENTITY, OS
from gpustack.probes.kubernetes.namespaces import NAMESPACES
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_egress import POD_EGRESS
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.egress_files import find_object_mismatch
from gpustack.steps.gpu.count import count_passthrough_gpus, list_gpus
from gpustack.steps.gpu.host_engines import engine_pair, has_engine_pod, host_engine
from gpustack.steps.gpu.hosts import (
    PRESENCE_LABEL,
    build_hosts_result,
    count_host_gpus,
    count_node_gpus,
    find_allocatable_mismatch,
    find_unlabelled_hosts,
    gpus_on_bus,
    list_node_names,
    list_silent_hosts,
    map_gpu_nodes,
    namespace,
)  # fmt: skip
from gpustack.steps.gpu.mode import choose_driver_mode
from gpustack.steps.gpu.operator_driver import driver_containers
from gpustack.steps.gpu.operator_values import build_release, uses_driver_containers
from gpustack.steps.gpu.plugin_objects import NAME_PREFIX
from gpustack.steps.release import find_release_mismatch
from gpustack.steps.step import Step, check_where
from gpustack.steps.workloads import find_stopped_deployment

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


def host_stack(view: View) -> Result | None:
    """The objects of `gpu.stack: host` are not installed as well: each GPU would be offered and measured twice."""
    daemon_sets = [name for name in view[GPU_DAEMON_SETS] if name.startswith(NAME_PREFIX)]
    if not daemon_sets:
        return None
    space = view.spec.gpu.namespace
    kinds, label = "daemonset,service,configmap", "app.kubernetes.io/managed-by=gpustack"
    hint = Prose(
        "{}; on each host with GPUs {} and systemctl restart containerd",
        Command("kubectl", "-n", space, "delete", kinds, "-l", label),
        Command("rm", DROP_IN),
        note="or keep it: gpu.stack: host in the spec",
    )
    return Result("DaemonSets of gpu.stack host", "none", format_value(daemon_sets), cure="operator", hint=hint)


def virtual_machines(view: View) -> Result | None:
    """The hosts with GPUs that are bound for virtual machines run no driver container. Before it loads its module,
    NVIDIA's driver manager unbinds every GPU of the host from vfio-pci, including those of running machines."""
    actual_states = {}
    for host in count_host_gpus(view):
        host_view = view.select_host(host)
        if (count := count_passthrough_gpus(host_view)) and choose_driver_mode(host_view) == "container":
            actual_states[host] = f"{count} of {len(host_view[GPU_DEVICES])} GPUs, and a driver container"
    hint = Prose("set gpu.driver.mode: host in the spec", note="or gpustack_gpus: 0 for the host")
    return build_hosts_result(
        "GPUs bound for virtual machines", "none on a host with a driver container", actual_states, "operator", hint
    )


def left_alone(view: View) -> Result | None:
    """The node of a host that has GPUs, but none for Kubernetes, has the label that excludes it from the operator:
    otherwise the operator deploys its operands there, and waits forever for a driver. The check uses the PCI bus,
    whatever the inventory says."""
    host_views = [view.select_host(host.name) for host in view.hosts if host.name not in list_silent_hosts(view)]
    hosts = {
        host_view[IDENTITY].machine_id: host_view.location
        for host_view in host_views
        if host_view[GPU_DEVICES] and not list_gpus(host_view)
    }
    labelless = {
        hosts[node.machine_id]: node
        for node in (view[GPU_NODES] if hosts else ())
        if node.machine_id in hosts and node.labels.get(OPERANDS_LABEL) != "false"
    }
    actual_states = dict.fromkeys(labelless, f"no label {OPERANDS_LABEL}=false")
    hint = Command("kubectl", "label", "node", *list_node_names(view, labelless), f"{OPERANDS_LABEL}=false")
    return build_hosts_result(
        "nodes without a GPU for Kubernetes", "excluded from the operator", actual_states, "operator", hint
    )


def policy_of_others(view: View) -> Result | None:
    """The ClusterPolicy of the cluster, if there is one, is that of gpustack's release."""
    foreign_policies = [
        policy.name for policy in view[CLUSTER_POLICIES] or () if policy.release != view.spec.gpu.release
    ]
    if not foreign_policies:
        return None
    hint = Prose("set gpu.driver and gpu.stack aside (gpu.stack: host), or remove that operator before")
    return Result(
        "ClusterPolicy",
        "gpustack's or none",
        f"{format_value(foreign_policies)} of another release",
        cure="operator",
        hint=hint,
    )


def chart(view: View) -> Result | None:
    """The Helm release is deployed, with the chart of the version set and the values of the spec."""
    return find_release_mismatch(view, build_release(view))


def driver_egress(view: View) -> Result | None:
    """The driver container can download the headers of the kernel: the cluster has the login of the proxy, the CAs and
    the package sources of the spec, if it has any. A container that is running reads them when it starts again."""
    mismatch = find_object_mismatch(view, "gpu-operator")
    return mismatch if mismatch and uses_driver_containers(view) else None


def policy(view: View) -> Result | None:
    """The operator reports that its policy is ready, because it is reconciled, not because there was nothing to do."""
    cluster_policy = next((candidate for candidate in view[CLUSTER_POLICIES] or () if candidate.name == POLICY), None)
    if cluster_policy is None:
        return Result("ClusterPolicy", "ready", "none")
    if (cluster_policy.state, cluster_policy.reason) == ("ready", "Reconciled"):
        return None
    actual = f"{cluster_policy.state or 'no state'}, {cluster_policy.reason or 'no reason'}"
    if cluster_policy.message:
        actual = f"{actual}: {cluster_policy.message}"
    return Result("ClusterPolicy", "ready, Reconciled", actual, passing=True)


def labels(view: View) -> Result | None:
    """The operator has labelled the node of every host with GPUs as a GPU node. A host that is not a node is checked by
    the step workers."""
    return build_hosts_result(
        "nodes with GPUs", f"labelled {PRESENCE_LABEL}=true", find_unlabelled_hosts(view), passing=True
    )


def operands(view: View) -> Result | None:
    """The operator is running, and on every GPU node its toolkit, validator, device plugin, feature discovery,
    exporter, and the DCGM host engine of gpu.dcgm: standalone; also the node feature discovery that comes with it,
    unless your values say that another one is used. A node with a label that excludes the operands gets none, however
    long install waits."""
    if opted_out := {
        host: node for host, node in map_gpu_nodes(view).items() if node.labels.get(OPERANDS_LABEL) == "false"
    }:
        hint = Command(
            "kubectl",
            "label",
            "node",
            *list_node_names(view, opted_out),
            f"{OPERANDS_LABEL}-",
            note="or gpustack_gpus: 0 for the host",
        )
        actual_states = dict.fromkeys(opted_out, f"excluded from the operator by label {OPERANDS_LABEL}=false")
        return build_hosts_result("operands", "running on every GPU node", actual_states, "operator", hint)
    deployments, names = ["gpu-operator"], list(OPERANDS)
    if has_engine_pod(view):
        names.append(ENGINE)
    if view.snapshot.inventory.values.get(view.spec.gpu.release, {}).get("nfd", {}).get("enabled", True):
        deployments.append(f"{view.spec.gpu.release}{DISCOVERY}-master")
        names.append(f"{view.spec.gpu.release}{DISCOVERY}-worker")
    for name in deployments:
        if result := find_stopped_deployment(name, view[GPU_DEPLOYMENTS]):
            return result
    workloads = view[GPU_DAEMON_SETS]
    count = len(map_gpu_nodes(view))
    missing_names = [name for name in names if name not in workloads]
    failures = [
        f"{name} {workloads[name].ready} of {max(workloads[name].desired_pods, count)}"
        for name in names
        if name in workloads and (not workloads[name].runs or workloads[name].ready < count)
    ]
    if not missing_names and not failures:
        return None
    words = [f"no {format_value(missing_names)}" if missing_names else "", format_value(failures) if failures else ""]
    return Result("operands", "running on every GPU node", "; ".join(filter(None, words)), passing=True)


def allocatable(view: View) -> Result | None:
    """The nodes each have at least as many allocatable GPUs as their host has for Kubernetes.

    GPU sharing and MIG instances are checked by the step gpu-sharing. A GPU that a node has and cannot allocate was
    marked unhealthy by the device plugin, after an Xid: find it (`journalctl -k | grep NVRM`), fix it, then delete the
    node's pod of nvidia-device-plugin-daemonset. With time-slicing an Xid removes one replica only; the other replicas
    of a dead GPU stay.
    """
    return find_allocatable_mismatch(view, "gpu-operator", [PLUGIN], count_node_gpus(view), at_least=True)


def choose_settle_seconds(view: View) -> int:
    return SETTLE_WITH_DRIVERS if uses_driver_containers(view) else SETTLE


STEP = Step(
    "gpu-operator",
    scope="cluster",
    probes=(
        RELEASES, NAMESPACES, GPU_NODES, CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_DEPLOYMENTS,
        IDENTITY, OS, GPU_DEVICES, GPU_PACKAGES, GPU_DRIVER, GPU_SMI, STRANDED_PODS, HOST_ENGINES, NODES, ADDRESS,
        HOLDING_PODS, POD_EGRESS, GPU_QUOTAS,
    ),
    checks=check_where(
        count_host_gpus,
        host_stack, namespace, policy_of_others, gpus_on_bus, virtual_machines, left_alone, host_engine, engine_pair,
        driver_containers, chart, driver_egress, policy, labels, operands, allocatable,
    ),
    needs=("helm", "flannel", "workers", "gpu-driver"),
    settle_seconds=SETTLE,
    pulls=True,
    settle_estimate=choose_settle_seconds,
    is_enabled=lambda inventory: inventory.spec.gpu.stack == "operator",
    interrupts="operands whose settings differ are made anew; pods with GPUs run on",
)  # fmt: skip
