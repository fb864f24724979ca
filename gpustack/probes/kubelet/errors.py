"""Errors in the log of a kubelet that runs: what it tries again and again without success.

klog marks an error by the first letter of the line, and names the place in the source that logged it (k8s.io/klog).
"""

from dataclasses import dataclass

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.log_lines import strip_prefix
from gpustack.probes.parsing import parse_integer


@dataclass(frozen=True)
class KubeletError:
    """Hold the last message of one place in the source, and how many it logged within five minutes."""

    count: int
    message: str


def parse_kubelet_errors(answer: Answer) -> tuple[KubeletError, ...]:
    """Parse lines `COUNT LINE`, the most frequent first. Raise ValueError where a line has another shape."""
    pairs = (line.partition(" ") for line in answer.stdout.splitlines())
    return tuple(KubeletError(parse_integer(count), shorten_message(strip_prefix(line))) for count, _, line in pairs)


KUBELET_ERRORS = Probe(
    "kubelet.errors",
    Lines(read_script(__file__, "errors.sh")),
    parse_kubelet_errors,
    manual_command="journalctl -u kubelet --since -5min | grep ' E[0-9]'",
)
