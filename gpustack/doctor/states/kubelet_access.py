"""Kubelets that refuse the API server: pods run there, and nobody reads their logs."""

from collections.abc import Iterator

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.kubelet.access import ACCESS

REFUSALS = {401: "401 Unauthorized", 403: "403 Forbidden"}
"""The kubelet's answers to a certificate of another CA than its clientCAFile, and to one without rights."""


def observe_access(view: View) -> Iterator[AbnormalState]:
    """List the kubelets that refuse a control plane. One that does not answer has other states."""
    for host, status in view[ACCESS].items():
        if refusal := REFUSALS.get(status):
            message = f"it answers {refusal} to the client certificate of the API server: kubectl logs and exec fail"
            command = Command("grep", "-A", "3", "x509", "/var/lib/kubelet/config.yaml")
            location = host if host in view.snapshot.inventory.by_name else CLUSTER
            yield AbnormalState("access-refused", "broken", (location,), (f"kubelet of {host}",), message, command)


OBSERVERS = (Observer("kubelet-access", "Access to kubelets", observe_access, (ACCESS,), scope="host"),)
