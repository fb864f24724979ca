"""The answers of kubelets to the client certificate of the API server, which `kubectl logs` and `kubectl exec` need."""

from collections.abc import Mapping

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.parsing import parse_integer


def parse_access(answer: Answer) -> Mapping[str, int]:
    """Parse the HTTP statuses by host, 0 where no answer came. Raise ValueError where a line has another shape."""
    return {host: parse_integer(status) for host, status in (line.split(" ") for line in answer.stdout.splitlines())}


ACCESS = Probe(
    "kubelet.access",
    Lines(read_script(__file__, "access.sh")),
    parse_access,
    manual_command="curl -sk --cert /etc/kubernetes/pki/apiserver-kubelet-client.crt"
    " --key /etc/kubernetes/pki/apiserver-kubelet-client.key https://NODE:10250/containerLogs/default/none/none",
)
