"""Kubelets that refuse the API server: pods run there, and nobody reads their logs."""

from collections.abc import Iterator

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.kubelet.access import ACCESS
from gpustack.probes.kubelet.settings import FILE

NO_DEBUGGING = 405
"""The kubelet's answer where enableDebuggingHandlers is false (kubernetes/kubernetes pkg/kubelet/server)."""
REFUSALS = {401: "401 Unauthorized", 403: "403 Forbidden", NO_DEBUGGING: "405 Method Not Allowed"}
"""The kubelet's answers to a certificate of another CA than its clientCAFile, to one without rights, and to all."""


def observe_access(view: View) -> Iterator[AbnormalState]:
    """List the kubelets that refuse a control plane. One that does not answer has other states."""
    for host, status in view[ACCESS].items():
        if refusal := REFUSALS.get(status):
            certificate = "to the client certificate of the API server"
            cause = "with enableDebuggingHandlers false" if status == NO_DEBUGGING else certificate
            message = f"it answers {refusal} {cause}: kubectl logs and exec fail"
            command = Command("grep", "-A", "3", "-E", "x509|enableDebuggingHandlers", FILE)
            location = host if host in view.snapshot.inventory.by_name else CLUSTER
            yield AbnormalState("access-refused", "broken", (location,), (f"kubelet of {host}",), message, command)


OBSERVERS = (Observer("kubelet-access", "Access to kubelets", observe_access, (ACCESS,), scope="host"),)
