"""Faults of the layer `network` in the connection of pods to the Service address of the API."""

from gpustack.ask.judge import Result, build_ok_result
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.startup import require_settled_api
from gpustack.probes.control_plane.control_plane import STATIC_PODS
from gpustack.probes.network.pod_network import POD_PATHS


@check("st-api-from-pods-timeout", POD_PATHS, STATIC_PODS)
def api_from_pods(view: View) -> Result:
    """Judge connections of pods to the API. The address is translated before the host's rules apply, so it has to be
    tested. A network policy may deny one pod and not another, so one successful pod is enough. A Service without
    endpoints refuses."""
    subject, pod_paths = "Service of the API from pods", view[POD_PATHS]
    if not pod_paths.pods:
        return build_ok_result(subject, "no pod with its own network on this host")
    service_paths = list(pod_paths.list_paths("service"))
    results = ", ".join(dict.fromkeys(f"{path.target}: {path.result}" for path in service_paths))
    if all(path.result == "refused" for path in service_paths):
        require_settled_api(view)
    return Result(subject, "reachable", results, ok=any(path.result == "ok" for path in service_paths))
