"""Faults of the layer `gpu-operator` of the cluster: the operator, its policy, its definitions and its images."""

import re

from gpustack.ask.judge import said
from gpustack.ask.view import View
from gpustack.doctor.checks.gpu_driver import DRIVER_PODS
from gpustack.doctor.checks.gpu_images import GONE, unpulled
from gpustack.doctor.checks.gpu_operator import NFD
from gpustack.doctor.checks.monitoring_exporter import heard_anywhere
from gpustack.doctor.checks.monitoring_stack import out_of_memory
from gpustack.doctor.tells import Told, confirmed, refuted, tells
from gpustack.probes.gpu import GPU_DEVICES
from gpustack.probes.gpu_cluster import CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_DEPLOYMENTS
from gpustack.probes.gpu_settings import GPU_CONFIG_MAPS, SETTINGS
from gpustack.probes.gpu_words import LOGS
from gpustack.probes.helm import RELEASES
from gpustack.probes.pod_states import GPU_PODS, PENDING_PODS
from gpustack.steps.gpu_count import gpus
from gpustack.steps.gpu_operator_values import SHARING

OPERATOR = "gpu-operator"
# Not "failed to authorize": containerd begins so too where the token service cannot be reached. A proxy that wants a
# login (407) and a file of the host's are nothing of the registry's.
LOGIN = re.compile(
    r"\b40[13]\b|unauthorized|authorization failed|(?<!proxy )authentication required|(?<!permission )denied",
    re.IGNORECASE,
)
# What the chart always writes into its policy: an older definition drops them.
ALWAYS = ("cdi", "hostPaths", "dcgmExporter.serviceMonitor")
NOTHING_TO_DO = ("NoGPUNodes", "NFDLabelsMissing")


def runs(here: View) -> bool:
    found = here[GPU_DEPLOYMENTS].get(OPERATOR)
    return found is not None and found.ready > 0


@tells("op-no-gpu-nodes-false-ready", CLUSTER_POLICIES, GPU_DEVICES)
def content(here: View) -> Told:
    """Its own reason, and no host has a GPU. Where one has, the node is not labelled, which is another fault."""
    reasons = [one.reason for one in here[CLUSTER_POLICIES] or ()]
    found = [reason for reason in reasons if reason in NOTHING_TO_DO]
    if not found:
        return refuted("reason of the ClusterPolicy", said({reason or "none" for reason in reasons}))
    with_gpus = [host.name for host in here.hosts if gpus(here.on(host.name))]
    if with_gpus:
        return refuted("hosts with GPUs", said(with_gpus))
    return confirmed("reason of the ClusterPolicy", "Reconciled", f"{found[0]}, and no host has a GPU")


@tells("op-no-gpu-nodes-false-ready guard", GPU_DAEMON_SETS, GPU_DEVICES)
def labeller_runs(here: View) -> Told:
    workers = [one for name, one in here[GPU_DAEMON_SETS].items() if NFD in name]
    fine = any(one.ready for one in workers) and not any(gpus(here.on(host.name)) for host in here.hosts)
    return Told(fine, "Node Feature Discovery, without a GPU", "not so", "runs" if fine else "does not run, or a GPU")


@tells("op-ngc-image-pull-auth", GPU_PODS)
def login(here: View) -> Told:
    pods = here[GPU_PODS]
    found = [f"{pod}: {words}" for pod, words in unpulled(pods) if LOGIN.search(words)]
    return Told(bool(found), "images of the GPU stack", "for everybody", found[0] if found else "none is refused")


@tells("op-image-tag-removed", GPU_PODS)
def removed(here: View) -> Told:
    """An image of the driver is another fault."""
    pods = [pod for pod in here[GPU_PODS] if pod.app != DRIVER_PODS]
    found = [f"{pod}: {words}" for pod, words in unpulled(pods) if GONE.search(words) and not LOGIN.search(words)]
    return Told(bool(found), "images of the GPU stack", "there", found[0] if found else "none is missing")


@tells("op-device-plugin-config-missing", SETTINGS, GPU_CONFIG_MAPS)
def plugin_config(here: View) -> Told:
    """The ConfigMap that the policy names, and its default key. One of another name than ours somebody else meant."""
    maps, what = here[GPU_CONFIG_MAPS], "settings of the device plugin"
    for one in here[SETTINGS] or ():
        name, default = one.plugin_config, one.plugin_default
        change = (
            f"make ConfigMap {name} in {here.spec.gpu.namespace}, or take devicePlugin.config out of the ClusterPolicy"
        )
        person = f"it is not ours: {change}" if name != SHARING else ""
        if name and name not in maps:
            return confirmed(what, f"ConfigMap {name}", "no such ConfigMap", person=person)
        if name and default and default not in maps[name]:
            return confirmed(what, f"key {default}", f"{said(maps[name])}", person=person)
    return refuted(what, said({one.plugin_config or "none is named" for one in here[SETTINGS] or ()}))


@tells("op-operator-oom", GPU_PODS)
def operator_oom(here: View) -> Told:
    pods = [pod for pod in here[GPU_PODS] if pod.app == OPERATOR]
    found = out_of_memory(here, pods)
    return Told(bool(found), "GPU operator", "within its memory", found or "not killed for its memory")


@tells("op-operator-api-timeout", GPU_DEPLOYMENTS, LOGS)
def api_timeout(here: View) -> Told:
    """While it does not run: one that came back has reached the API."""
    if OPERATOR not in here[GPU_DEPLOYMENTS] or runs(here):
        return refuted("GPU operator", "runs" if runs(here) else "not there")
    found = heard_anywhere(here, "api-timeout")
    return Told(bool(found), "log of the GPU operator", "the API", found[0].line if found else "says nothing of it")


@tells("op-clusterpolicy-missing-or-duplicate", CLUSTER_POLICIES, GPU_DEPLOYMENTS)
def policies(here: View) -> Told:
    found = here[CLUSTER_POLICIES]
    if found is None or not runs(here):
        return refuted("ClusterPolicies", "no operator that runs")
    return Told(len(found) != 1, "ClusterPolicies", "one", said([one.name for one in found]))


@tells("op-user-namespaces-pod", PENDING_PODS)
def own_users(here: View) -> Told:
    """A pod with a GPU and hostUsers false, whose container did not start."""
    pods = [pod for pod in here[PENDING_PODS] if pod.own_users and pod.gpus and pod.node]
    found = [f"{pod}: {one.words}" for pod in pods for one in pod.containers if "sync socket" in one.words]
    return Told(bool(found), "GPU pods", "without hostUsers: false", found[0] if found else "none fails for that")


@tells("op-crd-stale", SETTINGS, RELEASES)
def stale_definition(here: View) -> Told:
    """Our release writes these parts, and the living object has lost some."""
    wanted = release_name(here)
    ours = next((one for one in here[RELEASES] if (one.namespace, one.name) == wanted), None)
    found = here[SETTINGS]
    if not found or ours is None or not ours.ours or ours.status != "deployed":
        return refuted("fields of the ClusterPolicy", "no release of ours")
    lost = sorted({part for one in found for part in ALWAYS if part not in one.parts})
    what = "fields of the ClusterPolicy that the chart writes"
    return Told(bool(lost), what, "kept", f"dropped: {said(lost)}" if lost else "kept")


def release_name(here: View) -> tuple[str, str]:
    return here.spec.gpu.namespace, here.spec.gpu.release


@tells("st-clusterpolicy-stale", CLUSTER_POLICIES, GPU_DEPLOYMENTS)
def stale(here: View) -> Told:
    if not here[CLUSTER_POLICIES]:
        return refuted("GPU operator", "no ClusterPolicy")
    return Told(not runs(here), "GPU operator", "runs", "runs" if runs(here) else "does not run")
