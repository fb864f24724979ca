"""The package sources of driver containers beside a mirror, which has the packages of gpustack and not those of the
system."""

from typing import Any

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.config.sections.sources import Mirror
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS
from gpustack.steps.gpu.operator_values import DRIVER, build_release, needs_release

PROXY_VARIABLES = {"http_proxy", "https_proxy"}


def describe_missing_sources(view: View) -> str:
    """Describe what driver containers need beside a mirror; empty where a setting or a value of the operator's gives
    it, where such containers run already, where there are none, and where that is unknown."""
    if not isinstance(view.spec.source, Mirror):
        return ""
    try:
        if not needs_release(view):
            return ""
        driver = build_release(view).values["driver"] or {}
        if not driver.get("enabled") or has_way(driver) or has_running_drivers(view):
            return ""
    except FactUnavailable:
        return ""
    return (
        "driver containers install the headers of the kernel from the public archive of the system, which "
        "source.mirror is not: where they do not reach it they end and start for ever. Set gpu.driver.repo_config to "
        "sources that they reach, or proxy, or gpu.driver.mode: host (docs/gpu.md)"
    )


def has_way(driver: dict[str, Any]) -> bool:
    """Tell whether values of the driver name sources, a proxy, or an image that needs no headers."""
    names = {str(entry.get("name", "")).lower() for entry in driver.get("env") or ()}
    sources = (driver.get("repoConfig") or {}).get("configMapName")
    return bool(sources or driver.get("secretEnv") or driver.get("usePrecompiled") or names & PROXY_VARIABLES)


def has_running_drivers(view: View) -> bool:
    """Tell whether the driver containers of the cluster are ready: then they reached some archive."""
    try:
        workloads = [workload for name, workload in view[GPU_DAEMON_SETS].items() if name.startswith(DRIVER)]
    except FactUnavailable:
        return False
    return bool(workloads) and all(workload.desired_pods and workload.runs for workload in workloads)
