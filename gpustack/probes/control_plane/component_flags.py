"""Flags in the manifests that kubeadm writes for the components of a control plane."""

from collections.abc import Mapping

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.control_plane.kubeadm import COMPONENTS


def parse_component_flags(answer: Answer) -> Mapping[str, Mapping[str, str]]:
    """Parse lines `COMPONENT --flag=value` to the values by flag, by component. Raise ValueError where a line has
    another shape."""
    flags: dict[str, dict[str, str]] = {}
    for line in answer.stdout.splitlines():
        component, flag = line.split(" --", 1)
        name, _, value = flag.partition("=")
        if component not in COMPONENTS:
            raise ValueError(line)
        flags.setdefault(component, {})[name] = value.strip("\"'")
    return flags


COMPONENT_FLAGS = Probe(
    "kubeadm.component-flags",
    Lines(read_script(__file__, "component_flags.sh").replace("COMPONENTS", " ".join(COMPONENTS))),
    parse_component_flags,
    manual_command="grep -e '- --' /etc/kubernetes/manifests/*.yaml",
)
