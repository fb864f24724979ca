"""Faults of the layer `helm` in releases of gpustack that are not deployed. Releases of others do not count."""

from collections.abc import Mapping
from datetime import timedelta

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.config.resolution import list_chart_urls
from gpustack.doctor.check import build_names, check, expect_none
from gpustack.probes.gpu.cluster import GPU_DEPLOYMENTS
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.helm import CHARTS, GPU_JOBS, MONITORING_JOBS, RELEASES, RUNNING_HELMS, TIMEOUT, HookJob, Release
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.namespaces import ENDING_NAMESPACES
from gpustack.probes.kubernetes.workloads import MONITORING_DAEMON_SETS, MONITORING_DEPLOYMENTS
from gpustack.probes.monitoring.workloads import DEFINITIONS, GROUP
from gpustack.steps.gpu.hosts import count_host_gpus
from gpustack.steps.monitoring.step import KINDS

# A namespace may take so long to end: its content ends first, and has 30 s by default.
GRACE = timedelta(seconds=30)
# The keys of the charts in the version set, by the step that installs them.
MONITORING, GPU = "kube-prometheus-stack", "gpu-operator"
POLICIES = "clusterpolicies.nvidia.com"


def index_own_releases(view: View) -> Mapping[str, Release]:
    """Index the newest revision of each release of gpustack by its chart."""
    charts = {
        (view.spec.monitoring.namespace, view.spec.monitoring.release): MONITORING,
        (view.spec.gpu.namespace, view.spec.gpu.release): GPU,
    }
    pairs = ((charts.get((release.namespace, release.name)), release) for release in view[RELEASES])
    return {chart: release for chart, release in pairs if chart}


def select_undeployed_releases(view: View) -> Mapping[str, Release]:
    return {chart: release for chart, release in index_own_releases(view).items() if release.status != "deployed"}


def format_releases(releases: Mapping[str, Release]) -> str:
    return format_value([f"{release.namespace}/{release.name} is {release.status}" for release in releases.values()])


@check("st-helm-failed", RELEASES)
def helm_failed(view: View) -> Result:
    releases = select_undeployed_releases(view)
    return Result("Helm releases", "deployed", format_releases(releases or index_own_releases(view)), ok=not releases)


def explain_pending(view: View, release: Release) -> str:
    """Return why a Helm may still be at work on a pending release, and "" where none can be. The Helm of a person may
    run anywhere and wait for any time; gpustack's runs on the control plane, with a known limit."""
    limit = TIMEOUT.total_seconds() * view.spec.timeout_factor
    if not release.is_from_gpustack:
        return "by a Helm that is not gpustack's and may run anywhere"
    if not release.created_at:
        return "and no label says since when"
    if view.started_at.timestamp() - release.created_at <= limit:
        return f"for less than the {limit:.0f} s that gpustack's Helm waits"
    return ""


@check("helm-release-pending", RELEASES, RUNNING_HELMS)
def release_pending(view: View) -> Result:
    """Look for releases that are stuck. A rollback ends what a Helm is doing, so a release only counts where no Helm
    can be at work on it."""
    subject = "Helm releases"
    pending_releases = {
        key: release
        for key, release in select_undeployed_releases(view).items()
        if release.status.startswith("pending-")
    }
    if not pending_releases:
        return build_ok_result(subject, f"none pending: {format_releases(index_own_releases(view))}")
    if view[RUNNING_HELMS]:
        return build_ok_result(subject, f"{format_releases(pending_releases)}, with a Helm process running")
    doubts = {key: explain_pending(view, release) for key, release in pending_releases.items()}
    stuck_releases = {key: release for key, release in pending_releases.items() if not doubts[key]}
    if not stuck_releases:
        raise FactUnavailable(
            format_value(
                [f"{format_releases({key: release})}, {doubts[key]}" for key, release in pending_releases.items()]
            )
        )
    placeholders = build_names(
        NAMESPACE=[release.namespace for release in stuck_releases.values()],
        RELEASE=[release.name for release in stuck_releases.values()],
    )
    return Result(
        subject,
        "deployed, or being changed by a running Helm",
        f"{format_releases(stuck_releases)}, with no Helm process running",
        names=placeholders,
    )


@check("helm-wait-timeout", RELEASES, MONITORING_DEPLOYMENTS, MONITORING_DAEMON_SETS, GPU_DEPLOYMENTS)
def wait_timeout(view: View) -> Result:
    """Look for a Helm that timed out while a workload of the release is not running. A release that is pending is one
    whose Helm was killed."""
    releases = {
        chart: release for chart, release in select_undeployed_releases(view).items() if release.status == "failed"
    }
    stopped_workloads = sorted({name for chart in releases for name in list_stopped_workloads(view, chart)})
    if not stopped_workloads:
        return build_ok_result(
            "Helm releases", f"{format_releases(releases or index_own_releases(view))}, with all workloads running"
        )
    return Result(
        "workloads of the releases",
        "running",
        f"{format_releases(releases)}; not running: {format_value(stopped_workloads)}",
    )


def list_stopped_workloads(view: View, chart: str) -> list[str]:
    if chart == GPU:
        return [name for name, workload in view[GPU_DEPLOYMENTS].items() if not workload.runs]
    deployments, daemon_sets = view[MONITORING_DEPLOYMENTS], view[MONITORING_DAEMON_SETS]
    workloads = {**deployments, **daemon_sets}
    return [name for name, workload in workloads.items() if not workload.runs]


@check("helm-wait-timeout -> helm-release-pending", RELEASES, RUNNING_HELMS)
def killed_while_waiting(view: View) -> Result:
    return release_pending(view)


def list_unfinished_hooks(view: View) -> list[HookJob]:
    """List the jobs of hooks that did not succeed."""
    return [job for job in (*view[MONITORING_JOBS], *view[GPU_JOBS]) if not job.done]


@check("helm-hook-job-failed", MONITORING_JOBS, GPU_JOBS, RUNNING_HELMS)
def hook_failed(view: View) -> Result:
    """Look for jobs of hooks that failed. A job that runs while Helm does is still in progress."""
    unfinished_jobs = [job.name for job in list_unfinished_hooks(view) if job.failed_pods or not view[RUNNING_HELMS]]
    subject = "jobs of Helm hooks"
    if not unfinished_jobs:
        return build_ok_result(subject, "none unfinished")
    of_gpus = any(job.name in unfinished_jobs for job in view[GPU_JOBS])
    of_monitoring = any(job.name in unfinished_jobs for job in view[MONITORING_JOBS])
    spaces = [view.spec.gpu.namespace] * of_gpus + [view.spec.monitoring.namespace] * of_monitoring
    return Result(
        subject, "completed", format_value(unfinished_jobs), names=build_names(NAMESPACE=spaces, JOB=unfinished_jobs)
    )


@check("helm-hook-job-failed guard", MONITORING_JOBS, GPU_JOBS)
def count_failed_job_pods(view: View) -> Result:
    """Count the failed pods of the job. A pod that waits for a node or an image has not failed."""
    failures = [f"{job.name}: {job.failed_pods} pods failed" for job in list_unfinished_hooks(view) if job.failed_pods]
    return Result("failed pods of the job", "none", format_value(failures), ok=not failures)


@check("helm-repo-unreachable", RELEASES, CHARTS, GPU_DEVICES, IDENTITY)
def repo_unreachable(view: View) -> Result:
    """Check that charts which are still needed and not downloaded yet are available."""
    subject, urls, releases = "charts", list_chart_urls(view.spec), index_own_releases(view)
    charts = [MONITORING] if view.spec.monitoring.enabled else []
    if view.spec.gpu.stack == "operator" and (GPU in releases or count_host_gpus(view)):
        charts.append(GPU)
    missing_charts = [chart for chart in charts if chart not in releases or releases[chart].status != "deployed"]
    if not missing_charts:
        return build_ok_result(subject, "none left to download")
    unavailable_charts = {
        url: chart_state for chart in missing_charts if not (chart_state := view[CHARTS][url := urls[chart]]).available
    }
    failures = [f"{url}: {chart.reason}" for url, chart in unavailable_charts.items() if not chart.slow]
    if unavailable_charts and not failures:
        raise FactUnavailable(
            f"slow: {format_value([f'{url}: {chart.reason}' for url, chart in unavailable_charts.items()])}"
        )
    return expect_none(subject, "available", failures, "available")


@check("helm-crd-missing", RELEASES, DEFINITIONS)
def crd_missing(view: View) -> Result:
    """Look for the CRDs of a release that is in the cluster."""
    subject, releases = "CRDs of the charts", index_own_releases(view)
    expected_names = [f"{kind}.{GROUP}" for kind in KINDS] if MONITORING in releases else []
    expected_names += [POLICIES] if GPU in releases else []
    actual_names = view[DEFINITIONS]
    if missing_names := [name for name in expected_names if name not in actual_names]:
        return Result(subject, "all present", f"no {format_value(missing_names)}")
    return build_ok_result(
        subject, f"all {len(expected_names)} present" if expected_names else "no release in the cluster"
    )


@check("helm-uninstall-stuck-namespace", ENDING_NAMESPACES)
def stuck_namespace(view: View) -> Result:
    """Look for a namespace of gpustack that has been terminating for too long, with the reason that its controller
    reports."""
    own_namespaces = {view.spec.monitoring.namespace, view.spec.gpu.namespace, "kube-flannel", "local-path-storage"}
    old_namespaces = {
        name: ending
        for name, ending in view[ENDING_NAMESPACES].items()
        if name in own_namespaces and view.started_at - ending.deleted_at > GRACE
    }
    stuck_namespaces = {
        name: f"{name}: {'; '.join(ending.blockers)}" for name, ending in old_namespaces.items() if ending.blockers
    }
    if not stuck_namespaces:
        return build_ok_result("namespaces", "none stuck in Terminating")
    return Result(
        "namespaces",
        "active or deleted",
        format_value(list(stuck_namespaces.values())),
        names=build_names(NAME=stuck_namespaces),
    )


@check("st-helm-failed -> st-no-gpu-labels", RELEASES)
def operator_never_stood(view: View) -> Result:
    release = select_undeployed_releases(view).get(GPU)
    first = release is not None and release.revision == 1
    return Result(
        "release of the GPU operator",
        "deployed once",
        format_releases({GPU: release}) if release else "deployed",
        ok=not first,
    )


@check("st-helm-failed -> st-target-missing", RELEASES)
def of_monitoring(view: View) -> Result:
    releases = select_undeployed_releases(view)
    return Result(
        "releases of the monitoring and the exporter",
        "deployed",
        format_releases(releases) if releases else "deployed",
        ok=not releases,
    )
