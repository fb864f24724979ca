"""Layer `kube-proxy`: whether the service address of the API answers the host itself."""

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.tells import Told, confirmed, refuted, tells
from gpustack.probes.kubeadm import FILES, MANIFESTS
from gpustack.probes.leftovers import LEFTOVERS
from gpustack.probes.pod_network import WAYS

API_SERVER = MANIFESTS[1]


@tells("st-service-ip-broken", LEFTOVERS, WAYS)
def service_ip_broken(here: View) -> Told:
    """While the API answers at its own address: else nothing can be said of services."""
    what = "the API's service, from the host"
    if not here[LEFTOVERS].servers:
        return refuted(what, "the host belongs to no cluster yet")
    found = {way.kind: way for way in here[WAYS].host}
    if found["service"].result == "ok":
        return refuted(what, f"{found['service'].target} answers")
    if found["api"].result != "ok":
        raise FactUnavailable(f"the API does not answer at {found['api'].target} either: {found['api'].result}")
    return confirmed(what, "answers", f"{found['service'].target}: {found['service'].result}")


@tells("st-service-ip-broken -> mon-admission-webhook-down", FILES)
def on_control_plane(here: View) -> Told:
    found = API_SERVER in here[FILES].modes
    return Told(found, "API server", "on this host", "on this host" if found else "on another")
