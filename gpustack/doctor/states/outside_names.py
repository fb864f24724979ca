"""Names outside the cluster that the host resolves, and pods on it do not."""

from collections.abc import Iterator

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.network.outside_name import NO_NAME, OUTSIDE_NAME
from gpustack.probes.network.pod_network import POD_PATHS


def observe_outside_name(view: View) -> Iterator[AbnormalState]:
    """List the name where the cluster's DNS answers pods for names of the cluster alone. A host that does not resolve
    the name either says nothing of pods, and where DNS answers nothing st-dns-broken is reported. That there is no such
    name is an answer: a site may tell its names to hosts alone."""
    lookup = view[OUTSIDE_NAME]
    if lookup is None or lookup.host_result != "ok" or lookup.pod_result in ("", "ok", NO_NAME):
        return
    if any(path.result != "ok" for path in view[POD_PATHS].list_paths("dns") if path.target == lookup.server):
        return
    yield AbnormalState(
        "name-not-resolved",
        "risk",
        (view.location,),
        (f"name {lookup.name}",),
        f"DNS at {lookup.server} gives pods no address for it ({lookup.pod_result}). The host itself resolves it.",
        Command("kubectl", "-n", "kube-system", "logs", "-l", "k8s-app=kube-dns", "--tail", "20"),
    )


OBSERVERS = (
    Observer("outside-names", "Names outside the cluster", observe_outside_name, (OUTSIDE_NAME, POD_PATHS), "host"),
)
