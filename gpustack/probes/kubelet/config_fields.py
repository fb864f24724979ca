"""The single values in the file of a kubelet. kubeadm writes it from the ConfigMap kubelet-config.

Addresses and headers of a server of static pods are left out: a header may have a password.
"""

from collections.abc import Mapping

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.kubelet.settings import FILE
from gpustack.probes.parsing import parse_yaml_mapping


def parse_config_fields(answer: Answer) -> Mapping[str, str]:
    """Parse the fields, each value as YAML writes it. Raise ValueError where they are no YAML mapping."""
    return {name: str(value) for name, value in parse_yaml_mapping(answer.stdout).items()} if answer.stdout else {}


CONFIG_FIELDS = Probe(
    "kubelet.config-fields",
    Lines(f"[ -e {FILE} ] || exit 0\nsed -nE '/URL/d;/^[a-zA-Z0-9]+: *[^ #{{[|>&*].*/p' {FILE}"),
    parse_config_fields,
    manual_command=f"cat {FILE}",
)
