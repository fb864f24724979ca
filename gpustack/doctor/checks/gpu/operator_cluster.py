"""Faults of the layer `gpu-operator` in the cluster: the operator, its policy, its definitions and its images."""

import re

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Prose
from gpustack.doctor.check import check
from gpustack.doctor.checks.gpu.driver import DRIVER_PODS
from gpustack.doctor.checks.gpu.images import MISSING_IMAGE, list_failed_pulls
from gpustack.doctor.checks.gpu.operator import NFD
from gpustack.doctor.checks.monitoring.exporter import find_log_lines_anywhere
from gpustack.doctor.checks.monitoring.stack import find_oom_kill
from gpustack.probes.gpu.cluster import CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_DEPLOYMENTS
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.logs import LOGS
from gpustack.probes.gpu.settings import GPU_CONFIG_MAPS, SETTINGS
from gpustack.probes.helm import RELEASES
from gpustack.probes.kubernetes.pod_states import GPU_PODS, PENDING_PODS
from gpustack.steps.gpu.count import list_gpus
from gpustack.steps.gpu.operator_values import SHARING

OPERATOR = "gpu-operator"
# "failed to authorize" is left out, because containerd begins so too where the token service cannot be reached. A proxy
# that wants a login (407) and a file of the host are not errors of the registry.
LOGIN = re.compile(
    r"\b40[13]\b|unauthorized|authorization failed|(?<!proxy )authentication required|(?<!permission )denied",
    re.IGNORECASE,
)
# Fields that the chart always writes into its policy, and that an older definition drops.
CHART_FIELDS = ("cdi", "hostPaths", "dcgmExporter.serviceMonitor")
NOTHING_TO_DO = ("NoGPUNodes", "NFDLabelsMissing")


def is_operator_running(view: View) -> bool:
    workload = view[GPU_DEPLOYMENTS].get(OPERATOR)
    return workload is not None and workload.ready > 0


@check("op-no-gpu-nodes-false-ready", CLUSTER_POLICIES, GPU_DEVICES)
def content(view: View) -> Result:
    """Judge the reason of the policy where no host has a GPU. With a GPU the node lacks a label, which is another
    fault."""
    reasons = [policy.reason for policy in view[CLUSTER_POLICIES] or ()]
    idle_reasons = [reason for reason in reasons if reason in NOTHING_TO_DO]
    if not idle_reasons:
        return build_ok_result("reason of the ClusterPolicy", format_value({reason or "none" for reason in reasons}))
    with_gpus = [host.name for host in view.hosts if list_gpus(view.select_host(host.name))]
    if with_gpus:
        return build_ok_result("hosts with GPUs", format_value(with_gpus))
    return Result("reason of the ClusterPolicy", "Reconciled", f"{idle_reasons[0]}, with no GPU on any host")


@check("op-no-gpu-nodes-false-ready guard", GPU_DAEMON_SETS, GPU_DEVICES)
def labeller_runs(view: View) -> Result:
    workers = [workload for name, workload in view[GPU_DAEMON_SETS].items() if NFD in name]
    is_running = any(worker.ready for worker in workers) and not any(
        list_gpus(view.select_host(host.name)) for host in view.hosts
    )
    return Result(
        "Node Feature Discovery on hosts without a GPU",
        "not running",
        "running" if is_running else "not running, or hosts with a GPU",
        ok=not is_running,
    )


@check("op-ngc-image-pull-auth", GPU_PODS)
def login(view: View) -> Result:
    pods = view[GPU_PODS]
    errors = [f"{pod}: {words}" for pod, words in list_failed_pulls(pods) if LOGIN.search(words)]
    return Result("images of the GPU stack", "public", errors[0] if errors else "no login required", ok=not errors)


@check("op-image-tag-removed", GPU_PODS)
def lacks_image_tag(view: View) -> Result:
    """Look for missing images of the GPU stack. An image of the driver is another fault."""
    pods = [pod for pod in view[GPU_PODS] if pod.app != DRIVER_PODS]
    errors = [
        f"{pod}: {words}"
        for pod, words in list_failed_pulls(pods)
        if MISSING_IMAGE.search(words) and not LOGIN.search(words)
    ]
    return Result("images of the GPU stack", "present", errors[0] if errors else "none missing", ok=not errors)


@check("op-device-plugin-config-missing", SETTINGS, GPU_CONFIG_MAPS)
def plugin_config(view: View) -> Result:
    """Look for the ConfigMap of the policy and its default key. A name other than gpustack's was set by a person."""
    maps, subject = view[GPU_CONFIG_MAPS], "settings of the device plugin"
    for policy_settings in view[SETTINGS] or ():
        name, default_profile = policy_settings.plugin_config, policy_settings.plugin_default
        change = Prose(
            "gpustack did not set it: create ConfigMap {} in {}, or unset devicePlugin.config in ClusterPolicy",
            name,
            view.spec.gpu.namespace,
        )
        person = NO_HINT if name == SHARING else change
        if name and name not in maps:
            return Result(subject, f"ConfigMap {name}", "no such ConfigMap", person=person)
        if name and default_profile and default_profile not in maps[name]:
            return Result(subject, f"key {default_profile}", f"{format_value(maps[name])}", person=person)
    return build_ok_result(
        subject, format_value({settings.plugin_config or "none" for settings in view[SETTINGS] or ()})
    )


@check("op-operator-oom", GPU_PODS)
def operator_oom(view: View) -> Result:
    pods = [pod for pod in view[GPU_PODS] if pod.app == OPERATOR]
    oom_kill = find_oom_kill(view, pods)
    return Result("GPU operator", "within its memory limit", oom_kill or "not OOM-killed", ok=not oom_kill)


@check("op-operator-api-timeout", GPU_DEPLOYMENTS, LOGS)
def api_timeout(view: View) -> Result:
    """Look for timeouts in the log while the operator is not running. A running one has reached the API."""
    if OPERATOR not in view[GPU_DEPLOYMENTS] or is_operator_running(view):
        return build_ok_result("GPU operator", "running" if is_operator_running(view) else "missing")
    log_lines = find_log_lines_anywhere(view, "api-timeout")
    return Result(
        "log of the GPU operator",
        "no timeout of the API",
        log_lines[0].line if log_lines else "no such message",
        ok=not log_lines,
    )


@check("op-clusterpolicy-missing-or-duplicate", CLUSTER_POLICIES, GPU_DEPLOYMENTS)
def policies(view: View) -> Result:
    cluster_policies = view[CLUSTER_POLICIES]
    if cluster_policies is None or not is_operator_running(view):
        return build_ok_result("ClusterPolicies", "no running operator")
    return Result(
        "ClusterPolicies",
        "one",
        format_value([policy.name for policy in cluster_policies]),
        ok=len(cluster_policies) == 1,
    )


@check("op-user-namespaces-pod", PENDING_PODS)
def own_users(view: View) -> Result:
    """Look for a pod with a GPU and hostUsers: false, whose container did not start."""
    pods = [pod for pod in view[PENDING_PODS] if pod.own_users and pod.gpus and pod.node]
    errors = [
        f"{pod}: {container.words}" for pod in pods for container in pod.containers if "sync socket" in container.words
    ]
    return Result("GPU pods", "without hostUsers: false", errors[0] if errors else "none fails with it", ok=not errors)


@check("op-crd-stale", SETTINGS, RELEASES)
def stale_definition(view: View) -> Result:
    """Look for fields that gpustack's release sets and the object in the API has lost."""
    own_name = (view.spec.gpu.namespace, view.spec.gpu.release)
    own_release = next((release for release in view[RELEASES] if (release.namespace, release.name) == own_name), None)
    settings = view[SETTINGS]
    if not settings or own_release is None or not own_release.is_managed or own_release.status != "deployed":
        return build_ok_result("fields of the ClusterPolicy", "no release by gpustack")
    dropped_fields = sorted(
        {part for policy_settings in settings for part in CHART_FIELDS if part not in policy_settings.parts}
    )
    subject = "fields of the ClusterPolicy that the chart writes"
    return Result(
        subject, "kept", f"dropped: {format_value(dropped_fields)}" if dropped_fields else "kept", ok=not dropped_fields
    )


@check("st-clusterpolicy-stale", CLUSTER_POLICIES, GPU_DEPLOYMENTS)
def stale(view: View) -> Result:
    if not view[CLUSTER_POLICIES]:
        return build_ok_result("GPU operator", "no ClusterPolicy")
    return Result(
        "GPU operator",
        "running",
        "running" if is_operator_running(view) else "not running",
        ok=bool(is_operator_running(view)),
    )
