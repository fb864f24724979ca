"""The pods of a node as a drain sees them: which leave, which stay, and which are not touched unless somebody names
them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from gpustack.config.spec import Spec
from gpustack.nodes.budgets import explain_refusal
from gpustack.nodes.named_pods import includes_pod
from gpustack.probes.kubernetes.disruption_budgets import Budget
from gpustack.probes.kubernetes.node_pods import NodePod

Fate = Literal["leaves", "stays", "refused"]
GRAFANA_LOSS = "what people made in Grafana is lost; `monitoring.persistence.grafana: true` keeps it"
SIDECAR_VOLUMES = ("sc-dashboard-volume", "sc-datasources-volume")


@dataclass(frozen=True)
class Resident:
    """Hold a pod with its fate in a drain. `reason` says why it stays or is refused, or what it loses. `budget_reason`
    says why the API would not evict it now."""

    pod: NodePod
    fate: Fate
    reason: str = ""
    budget_reason: str = ""


def judge_residents(
    spec: Spec, pods: Iterable[NodePod], budgets: Iterable[Budget], ended_pods: Collection[str] = ()
) -> tuple[Resident, ...]:
    """Judge the pods of a node, sorted by name. `ended_pods` are patterns of the full names of pods that a
    person gives up."""
    known_budgets = tuple(budgets)
    return tuple(
        judge_resident(spec, pod, known_budgets, agreed=includes_pod(ended_pods, pod.full_name))
        for pod in sorted(pods, key=lambda pod: pod.full_name)
    )


def judge_resident(spec: Spec, pod: NodePod, budgets: Iterable[Budget], *, agreed: bool) -> Resident:
    if reason := explain_stay(pod):
        return Resident(pod, "stays", reason)
    loss = "" if pod.leaves else describe_loss(pod)
    if loss and is_grafana(spec, pod):
        loss = GRAFANA_LOSS
    elif loss and not agreed:
        return Resident(pod, "refused", loss)
    return Resident(pod, "leaves", loss, "" if pod.leaves else explain_refusal(pod, budgets))


def explain_stay(pod: NodePod) -> str:
    """Explain why a drain does not touch a pod; empty where it does."""
    if pod.mirror:
        return "static pod"
    if pod.has_ended:
        return f"it has ended ({pod.refusal or pod.phase})"
    return "DaemonSet" if pod.owner_kind == "DaemonSet" else ""


def describe_loss(pod: NodePod) -> str:
    """Describe what is lost with a pod; empty where nothing is."""
    losses = [] if pod.owner_kind else ["no controller makes it anew"]
    if volumes := [name for name in pod.scratch_volumes if not is_generated(pod, name)]:
        losses.append(f"its emptyDir {', '.join(volumes)} is lost")
    return "; ".join(losses)


def is_grafana(spec: Spec, pod: NodePod) -> bool:
    """Tell whether a pod is Grafana of gpustack's monitoring with no more than the emptyDir of its database. The spec
    says that this is not kept: `install` replaces the pod, too, and asks nobody."""
    keys = (pod.namespace, pod.owner_kind, read_label(pod, "name"), read_label(pod, "instance"))
    volumes = [name for name in pod.scratch_volumes if not is_generated(pod, name)]
    monitoring = spec.monitoring
    return keys == (monitoring.namespace, "ReplicaSet", "grafana", monitoring.release) and volumes == ["storage"]


def is_generated(pod: NodePod, volume: str) -> bool:
    """Tell whether the next pod writes a volume anew.

    The Prometheus operator gives the pods of its StatefulSets a `config-out`, in memory, into which their init
    container copies the configuration from a Secret (prometheus-operator pkg/prometheus/statefulset.go,
    BuildCommonVolumes; pkg/alertmanager/statefulset.go). It sets these labels over those that others give. The sidecars
    of Grafana's chart copy ConfigMaps into theirs (grafana-community/helm-charts charts/grafana/templates/_pod.tpl)."""
    program, instance = read_label(pod, "name"), read_label(pod, "instance")
    if program == "grafana":
        return pod.owner_kind == "ReplicaSet" and volume in SIDECAR_VOLUMES
    return (
        volume == "config-out"
        and program in ("prometheus", "alertmanager")
        and read_label(pod, "managed-by") == "prometheus-operator"
        and pod.owner_kind == "StatefulSet"
        and pod.owner.startswith(f"{program}-{instance}")
    )


def read_label(pod: NodePod, key: str) -> str:
    return pod.labels.get(f"app.kubernetes.io/{key}", "")
