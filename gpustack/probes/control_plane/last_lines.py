"""The last lines of components of the control plane that have to run and do not. They are read from the files of their
logs, also while the API server is down."""

from collections.abc import Mapping

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.control_plane.control_plane import FIND_LOG
from gpustack.probes.control_plane.kubeadm import COMPONENTS
from gpustack.probes.kubernetes.container_logs import parse_line, select_last_lines
from gpustack.probes.sections import index_sections, split_sections


def parse_component_lines(answer: Answer) -> Mapping[str, tuple[str, ...]]:
    """Parse the last lines by component. Raise ValueError where a line has another shape, or a component is unknown."""
    sections = index_sections(split_sections(answer.stdout))
    if unknown_names := set(sections) - set(COMPONENTS):
        raise ValueError(sorted(unknown_names))
    return {name: select_last_lines([parse_line(line) for line in lines]) for name, lines in sections.items()}


COMPONENT_LINES = Probe(
    "kubeadm.last-lines",
    Lines(FIND_LOG + read_script(__file__, "last_lines.sh").replace("COMPONENTS", " ".join(COMPONENTS))),
    parse_component_lines,
    manual_command="tail /var/log/pods/kube-system_kube-apiserver-*/kube-apiserver/*.log",
)
