"""The last lines in the logs of containers: asked for a few containers by name, after an abnormal state was found.

A line of the API server's answer is one of the container, without the time and stream of the file
(https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1, "read log of the specified Pod").
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.redact.redact import redact
from gpustack.ask.script_file import read_script
from gpustack.command import Command
from gpustack.probes.log_lines import strip_prefix
from gpustack.probes.sections import index_sections, split_sections

LOGS = "LOGS"
"""The variable of the script: the texts of logs, with blanks between them."""
MAX_LINES = 10
PREVIOUS = "previous"
NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,252})")
"""The names of namespaces, pods and containers (RFC 1123). The script takes a log whose names are such alone."""
STACK = re.compile(r"goroutine \d+ (?:\S+ )*\[")
"""The line with which Go begins the stacks of a program that panics; its error stands before (runtime/traceback.go)."""
REMOVED_LOG = "unable to retrieve container logs for "
"""The kubelet's words in place of a log that it has removed, with status 200 (kubernetes/kubernetes
pkg/kubelet/kuberuntime)."""


@dataclass(frozen=True)
class ContainerLog:
    """Name the log of a container: that of the run before the present one where it is `previous`."""

    namespace: str
    pod: str
    container: str
    previous: bool

    def __str__(self) -> str:
        return "/".join((self.namespace, self.pod, self.container, *([PREVIOUS] if self.previous else [])))

    @property
    def has_valid_names(self) -> bool:
        return all(NAME.fullmatch(name) for name in (self.namespace, self.pod, self.container))

    @property
    def command(self) -> Command:
        logs = Command("kubectl", "-n", self.namespace, "logs", self.pod, "-c", self.container)
        return logs.extend("--previous") if self.previous else logs


def parse_last_lines(answer: Answer) -> Mapping[str, tuple[str, ...]]:
    """Parse the last MAX_LINES lines of each log by its text, without blank ones and without a stack of Go. Raise
    ValueError where a line has another shape."""
    sections = index_sections(split_sections(answer.stdout))
    return {name: select_last_lines([parse_line(line) for line in lines]) for name, lines in sections.items()}


def parse_line(line: str) -> str:
    if not line.startswith("| "):
        raise ValueError(shorten_message(line))
    return line.removeprefix("| ")


def select_last_lines(lines: list[str]) -> tuple[str, ...]:
    """Select the last lines that say something. Secrets are redacted first, as one may be longer than what is left."""
    if len(lines) == 1 and lines[0].startswith(REMOVED_LOG):
        return ()
    redacted_lines = redact("\n".join(lines)).splitlines()
    stack = next((number for number, line in enumerate(redacted_lines) if STACK.match(line)), None)
    messages = (strip_prefix(line).rstrip() for line in redacted_lines[: stack or None])
    return tuple(shorten_message(message) for message in messages if message)[-MAX_LINES:]


LAST_LINES = Probe(
    "containers.last-lines",
    Lines(read_script(__file__, "container_logs.sh").replace("LOST", REMOVED_LOG)),
    parse_last_lines,
    limit=6,
    manual_command="kubectl -n NAMESPACE logs POD -c CONTAINER --previous --tail 60",
)
