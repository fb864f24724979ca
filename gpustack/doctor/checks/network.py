"""Layer `network`: whether the service address of the API answers the pods of a host."""

from gpustack.ask.judge import Result, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.startup import api_known
from gpustack.probes.control_plane.control_plane import STARTED
from gpustack.probes.network.pod_network import POD_PATHS


@check("st-api-from-pods-timeout", POD_PATHS, STARTED)
def api_from_pods(here: View) -> Result:
    """The address is translated before the host's rules apply, so it has to be tested. A network policy may deny one
    pod and not another, so one successful pod is enough. A Service without endpoints refuses."""
    what, found = "Service of the API from pods", here[POD_PATHS]
    if not found.pods:
        return ok(what, "no pod with its own network on this host")
    asked = list(found.of("service"))
    results = ", ".join(dict.fromkeys(f"{way.target}: {way.result}" for way in asked))
    if all(way.result == "refused" for way in asked):
        api_known(here)
    return Result(what, "reachable", results, ok=any(way.result == "ok" for way in asked))


CHECKS = (api_from_pods,)
