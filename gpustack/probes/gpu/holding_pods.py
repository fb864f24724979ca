"""The pods of a host that hold GPUs, by the kubelet's own record: an answer without the API, and of that host alone.

The kubelet writes which pod has which device (kubernetes/kubernetes pkg/kubelet/cm/devicemanager/checkpoint), and
leaves ended pods in it until the next one comes (kubernetes/kubernetes issue 137010). So a pod counts while it has its
cgroup, which ends with it. Its name is that of its folder of logs, NAMESPACE_NAME_UID
(pkg/kubelet/kuberuntime/helpers.go).
"""

import re

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.gpu.packages import NO_GPU, ONLY_WITH_GPU

POD = re.compile(r"([a-z0-9][a-z0-9-]{0,62})_([a-z0-9][a-z0-9.-]{0,252})")


def parse_holding_pods(answer: Answer) -> tuple[str, ...]:
    """Parse the pods as `NAMESPACE/NAME`. Raise ValueError for a line that names none."""
    if answer.stdout == f"{NO_GPU}\n":
        return ()
    matches = [(line, POD.fullmatch(line)) for line in answer.stdout.splitlines()]
    if unknown_lines := [line for line, match in matches if match is None]:
        raise ValueError(unknown_lines[0][:80])
    return tuple(sorted(f"{match[1]}/{match[2]}" for _, match in matches if match))


HOLDING_PODS = Probe(
    "gpu.holding-pods",
    Lines(ONLY_WITH_GPU + read_script(__file__, "holding_pods.sh")),
    parse_holding_pods,
    manual_command="cat /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
)
