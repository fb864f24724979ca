"""Layer `helm`: releases of ours that are not deployed, and why. Those of others are theirs."""

from collections.abc import Mapping
from datetime import timedelta

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.config.resolved import charts_of
from gpustack.doctor.check import check, names
from gpustack.probes.gpu.cluster import GPU_DEPLOYMENTS
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.helm import CHARTS, GPU_JOBS, MONITORING_JOBS, RELEASES, RUNNING_HELMS, TIMEOUT, HookJob, Release
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.namespaces import ENDING
from gpustack.probes.kubernetes.workloads import MONITORING_DAEMON_SETS, MONITORING_DEPLOYMENTS
from gpustack.probes.monitoring.workloads import DEFINITIONS, GROUP
from gpustack.steps.gpu.hosts import expected
from gpustack.steps.monitoring.step import KINDS

# What a namespace may take to go in peace: its content goes first, and has 30 s by default.
GRACE = timedelta(seconds=30)
# The chart's key in the version set, by the step that brings it.
MONITORING, GPU = "kube-prometheus-stack", "gpu-operator"
POLICIES = "clusterpolicies.nvidia.com"


def ours(here: View) -> Mapping[str, Release]:
    """The newest revision of each, by its chart."""
    wanted = {
        (here.spec.monitoring.namespace, here.spec.monitoring.release): MONITORING,
        (here.spec.gpu.namespace, here.spec.gpu.release): GPU,
    }
    found = ((wanted.get((one.namespace, one.name)), one) for one in here[RELEASES])
    return {chart: one for chart, one in found if chart}


def undeployed(here: View) -> Mapping[str, Release]:
    return {chart: one for chart, one in ours(here).items() if one.status != "deployed"}


def words(found: Mapping[str, Release]) -> str:
    return as_text([f"{one.namespace}/{one.name} is {one.status}" for one in found.values()])


@check("st-helm-failed", RELEASES)
def helm_failed(here: View) -> Result:
    found = undeployed(here)
    return Result("Helm releases", "deployed", words(found or ours(here)), ok=not found)


def doubt_stuck(here: View, release: Release) -> str:
    """Return why a Helm may still be at work on a pending release, and "" where none can be. The Helm of a person runs
    anywhere and waits for as long as they told it to; gpustack's runs on the control plane, with a known limit."""
    limit = TIMEOUT.total_seconds() * here.spec.timeout_factor
    if not release.is_from_gpustack:
        return "by a Helm that is not gpustack's and may run anywhere"
    if not release.created:
        return "and no label says since when"
    if here.taken.timestamp() - release.created <= limit:
        return f"for less than the {limit:.0f} s that gpustack's Helm waits"
    return ""


@check("helm-release-pending", RELEASES, RUNNING_HELMS)
def release_pending(here: View) -> Result:
    """A rollback ends what a Helm is doing, so a release is only called stuck where none can be at work on it."""
    what = "Helm releases"
    pending = {key: one for key, one in undeployed(here).items() if one.status.startswith("pending-")}
    if not pending:
        return ok(what, f"none pending: {words(ours(here))}")
    if here[RUNNING_HELMS]:
        return ok(what, f"{words(pending)}, with a Helm process running")
    doubts = {key: doubt_stuck(here, one) for key, one in pending.items()}
    stuck = {key: one for key, one in pending.items() if not doubts[key]}
    if not stuck:
        raise FactUnavailable(as_text([f"{words({key: one})}, {doubts[key]}" for key, one in pending.items()]))
    called = names(NAMESPACE=[one.namespace for one in stuck.values()], RELEASE=[one.name for one in stuck.values()])
    return Result(
        what,
        "deployed, or being changed by a running Helm",
        f"{words(stuck)}, with no Helm process running",
        names=called,
    )


@check("helm-wait-timeout", RELEASES, MONITORING_DEPLOYMENTS, MONITORING_DAEMON_SETS, GPU_DEPLOYMENTS)
def wait_timeout(here: View) -> Result:
    """Helm timed out, and a workload of the release is not running. Helm was killed if the release is pending."""
    found = {chart: one for chart, one in undeployed(here).items() if one.status == "failed"}
    down = sorted({name for chart in found for name in not_running(here, chart)})
    if not down:
        return ok("Helm releases", f"{words(found or ours(here))}, with all workloads running")
    return Result("workloads of the releases", "running", f"{words(found)}; not running: {as_text(down)}")


def not_running(here: View, chart: str) -> list[str]:
    if chart == GPU:
        return [name for name, one in here[GPU_DEPLOYMENTS].items() if not one.runs]
    deployments, daemon_sets = here[MONITORING_DEPLOYMENTS], here[MONITORING_DAEMON_SETS]
    found = {**deployments, **daemon_sets}
    return [name for name, one in found.items() if not one.runs]


@check("helm-wait-timeout -> helm-release-pending", RELEASES, RUNNING_HELMS)
def killed_while_waiting(here: View) -> Result:
    return release_pending(here)


def hooks(here: View) -> list[HookJob]:
    """Those that did not succeed."""
    return [job for job in (*here[MONITORING_JOBS], *here[GPU_JOBS]) if not job.done]


@check("helm-hook-job-failed", MONITORING_JOBS, GPU_JOBS, RUNNING_HELMS)
def hook_failed(here: View) -> Result:
    """A job that runs while Helm does is still in progress."""
    found = [job.name for job in hooks(here) if job.failed or not here[RUNNING_HELMS]]
    what = "jobs of Helm hooks"
    if not found:
        return ok(what, "none unfinished")
    of_gpus = any(job.name in found for job in here[GPU_JOBS])
    of_monitoring = any(job.name in found for job in here[MONITORING_JOBS])
    spaces = [here.spec.gpu.namespace] * of_gpus + [here.spec.monitoring.namespace] * of_monitoring
    return Result(what, "completed", as_text(found), names=names(NAMESPACE=spaces, JOB=found))


@check("helm-hook-job-failed guard", MONITORING_JOBS, GPU_JOBS)
def failed_by_itself(here: View) -> Result:
    """A pod that waits for a node or an image has not failed."""
    found = [f"{job.name}: {job.failed} pods failed" for job in hooks(here) if job.failed]
    return Result("failed pods of the job", "none", as_text(found), ok=not found)


@check("helm-repo-unreachable", RELEASES, CHARTS, GPU_DEVICES, IDENTITY)
def repo_unreachable(here: View) -> Result:
    """Only if a chart is still needed and not downloaded yet."""
    what, urls, there = "charts", charts_of(here.spec), ours(here)
    wanted = [MONITORING] if here.spec.monitoring.enabled else []
    if here.spec.gpu.stack == "operator" and (GPU in there or expected(here)):
        wanted.append(GPU)
    missing = [chart for chart in wanted if chart not in there or there[chart].status != "deployed"]
    if not missing:
        return ok(what, "none left to download")
    away = {url: one for chart in missing if not (one := here[CHARTS][url := urls[chart]]).there}
    found = [f"{url}: {one.why}" for url, one in away.items() if not one.slow]
    if away and not found:
        raise FactUnavailable(f"slow: {as_text([f'{url}: {one.why}' for url, one in away.items()])}")
    return Result(what, "available", as_text(found) if found else "available", ok=not found)


@check("helm-crd-missing", RELEASES, DEFINITIONS)
def crd_missing(here: View) -> Result:
    """Of a release in the cluster."""
    what, there = "CRDs of the charts", ours(here)
    needed = [f"{kind}.{GROUP}" for kind in KINDS] if MONITORING in there else []
    needed += [POLICIES] if GPU in there else []
    known = here[DEFINITIONS]
    if missing := [name for name in needed if name not in known]:
        return Result(what, "all present", f"no {as_text(missing)}")
    return ok(what, f"all {len(needed)} present" if needed else "no release in the cluster")


@check("helm-uninstall-stuck-namespace", ENDING)
def stuck_namespace(here: View) -> Result:
    """A namespace of gpustack that has been terminating for too long, with the reason that its controller reports."""
    mine = {here.spec.monitoring.namespace, here.spec.gpu.namespace, "kube-flannel", "local-path-storage"}
    old = {name: one for name, one in here[ENDING].items() if name in mine and here.taken - one.since > GRACE}
    found = {name: f"{name}: {'; '.join(one.kept)}" for name, one in old.items() if one.kept}
    if not found:
        return ok("namespaces", "none stuck in Terminating")
    return Result("namespaces", "active or deleted", as_text(list(found.values())), names=names(NAME=found))


@check("st-helm-failed -> st-no-gpu-labels", RELEASES)
def operator_never_stood(here: View) -> Result:
    found = undeployed(here).get(GPU)
    first = found is not None and found.revision == 1
    return Result(
        "release of the GPU operator", "deployed once", words({GPU: found}) if found else "deployed", ok=not first
    )


@check("st-helm-failed -> st-target-missing", RELEASES)
def of_monitoring(here: View) -> Result:
    found = undeployed(here)
    return Result(
        "releases of the monitoring and the exporter", "deployed", words(found) if found else "deployed", ok=not found
    )


CHECKS = (
    helm_failed,
    release_pending,
    wait_timeout,
    killed_while_waiting,
    hook_failed,
    failed_by_itself,
    repo_unreachable,
    crd_missing,
    stuck_namespace,
    operator_never_stood,
    of_monitoring,
)
