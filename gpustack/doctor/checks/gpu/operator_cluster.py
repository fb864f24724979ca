"""Faults of the layer `gpu-operator` of the cluster: the operator, its policy, its definitions and its images."""

import re

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Prose
from gpustack.doctor.check import check
from gpustack.doctor.checks.gpu.driver import DRIVER_PODS
from gpustack.doctor.checks.gpu.images import GONE, list_failed_pulls
from gpustack.doctor.checks.gpu.operator import NFD
from gpustack.doctor.checks.monitoring.exporter import find_log_lines_anywhere
from gpustack.doctor.checks.monitoring.stack import out_of_memory
from gpustack.probes.gpu.cluster import CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_DEPLOYMENTS
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.logs import LOGS
from gpustack.probes.gpu.settings import GPU_CONFIG_MAPS, SETTINGS
from gpustack.probes.helm import RELEASES
from gpustack.probes.kubernetes.pod_states import GPU_PODS, PENDING_PODS
from gpustack.steps.gpu.count import gpus
from gpustack.steps.gpu.operator_values import SHARING

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


@check("op-no-gpu-nodes-false-ready", CLUSTER_POLICIES, GPU_DEVICES)
def content(here: View) -> Result:
    """By the reason of the policy, with no GPU on any host. With a GPU the node lacks a label, which is another
    fault."""
    reasons = [one.reason for one in here[CLUSTER_POLICIES] or ()]
    found = [reason for reason in reasons if reason in NOTHING_TO_DO]
    if not found:
        return ok("reason of the ClusterPolicy", as_text({reason or "none" for reason in reasons}))
    with_gpus = [host.name for host in here.hosts if gpus(here.on(host.name))]
    if with_gpus:
        return ok("hosts with GPUs", as_text(with_gpus))
    return Result("reason of the ClusterPolicy", "Reconciled", f"{found[0]}, with no GPU on any host")


@check("op-no-gpu-nodes-false-ready guard", GPU_DAEMON_SETS, GPU_DEVICES)
def labeller_runs(here: View) -> Result:
    workers = [one for name, one in here[GPU_DAEMON_SETS].items() if NFD in name]
    fine = any(one.ready for one in workers) and not any(gpus(here.on(host.name)) for host in here.hosts)
    return Result(
        "Node Feature Discovery on hosts without a GPU",
        "not running",
        "running" if fine else "not running, or hosts with a GPU",
        ok=not fine,
    )


@check("op-ngc-image-pull-auth", GPU_PODS)
def login(here: View) -> Result:
    pods = here[GPU_PODS]
    found = [f"{pod}: {words}" for pod, words in list_failed_pulls(pods) if LOGIN.search(words)]
    return Result("images of the GPU stack", "public", found[0] if found else "no login required", ok=not found)


@check("op-image-tag-removed", GPU_PODS)
def removed(here: View) -> Result:
    """An image of the driver is another fault."""
    pods = [pod for pod in here[GPU_PODS] if pod.app != DRIVER_PODS]
    found = [
        f"{pod}: {words}" for pod, words in list_failed_pulls(pods) if GONE.search(words) and not LOGIN.search(words)
    ]
    return Result("images of the GPU stack", "present", found[0] if found else "none missing", ok=not found)


@check("op-device-plugin-config-missing", SETTINGS, GPU_CONFIG_MAPS)
def plugin_config(here: View) -> Result:
    """The ConfigMap in the policy and its default key. A name other than gpustack's was set by the operator of the
    cluster."""
    maps, what = here[GPU_CONFIG_MAPS], "settings of the device plugin"
    for one in here[SETTINGS] or ():
        name, default = one.plugin_config, one.plugin_default
        change = Prose(
            "gpustack did not set it: create ConfigMap {} in {}, or unset devicePlugin.config in ClusterPolicy",
            name,
            here.spec.gpu.namespace,
        )
        person = NO_HINT if name == SHARING else change
        if name and name not in maps:
            return Result(what, f"ConfigMap {name}", "no such ConfigMap", person=person)
        if name and default and default not in maps[name]:
            return Result(what, f"key {default}", f"{as_text(maps[name])}", person=person)
    return ok(what, as_text({one.plugin_config or "none" for one in here[SETTINGS] or ()}))


@check("op-operator-oom", GPU_PODS)
def operator_oom(here: View) -> Result:
    pods = [pod for pod in here[GPU_PODS] if pod.app == OPERATOR]
    found = out_of_memory(here, pods)
    return Result("GPU operator", "within its memory limit", found or "not OOM-killed", ok=not found)


@check("op-operator-api-timeout", GPU_DEPLOYMENTS, LOGS)
def api_timeout(here: View) -> Result:
    """While the operator is not running: a running one has reached the API."""
    if OPERATOR not in here[GPU_DEPLOYMENTS] or runs(here):
        return ok("GPU operator", "running" if runs(here) else "missing")
    found = find_log_lines_anywhere(here, "api-timeout")
    return Result(
        "log of the GPU operator", "no timeout of the API", found[0].line if found else "no such message", ok=not found
    )


@check("op-clusterpolicy-missing-or-duplicate", CLUSTER_POLICIES, GPU_DEPLOYMENTS)
def policies(here: View) -> Result:
    found = here[CLUSTER_POLICIES]
    if found is None or not runs(here):
        return ok("ClusterPolicies", "no running operator")
    return Result("ClusterPolicies", "one", as_text([one.name for one in found]), ok=len(found) == 1)


@check("op-user-namespaces-pod", PENDING_PODS)
def own_users(here: View) -> Result:
    """A pod with a GPU and hostUsers: false, whose container did not start."""
    pods = [pod for pod in here[PENDING_PODS] if pod.own_users and pod.gpus and pod.node]
    found = [f"{pod}: {one.words}" for pod in pods for one in pod.containers if "sync socket" in one.words]
    return Result("GPU pods", "without hostUsers: false", found[0] if found else "none fails with it", ok=not found)


@check("op-crd-stale", SETTINGS, RELEASES)
def stale_definition(here: View) -> Result:
    """gpustack's release sets these fields, and the object in the API has lost some of them."""
    wanted = release_name(here)
    ours = next((one for one in here[RELEASES] if (one.namespace, one.name) == wanted), None)
    found = here[SETTINGS]
    if not found or ours is None or not ours.ours or ours.status != "deployed":
        return ok("fields of the ClusterPolicy", "no release by gpustack")
    lost = sorted({part for one in found for part in ALWAYS if part not in one.parts})
    what = "fields of the ClusterPolicy that the chart writes"
    return Result(what, "kept", f"dropped: {as_text(lost)}" if lost else "kept", ok=not lost)


def release_name(here: View) -> tuple[str, str]:
    return here.spec.gpu.namespace, here.spec.gpu.release


@check("st-clusterpolicy-stale", CLUSTER_POLICIES, GPU_DEPLOYMENTS)
def stale(here: View) -> Result:
    if not here[CLUSTER_POLICIES]:
        return ok("GPU operator", "no ClusterPolicy")
    return Result("GPU operator", "running", "running" if runs(here) else "not running", ok=bool(runs(here)))


CHECKS = (
    content,
    labeller_runs,
    login,
    removed,
    plugin_config,
    operator_oom,
    api_timeout,
    policies,
    own_users,
    stale_definition,
    stale,
)
