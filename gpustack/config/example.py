"""The example inventory of `gpustack init`, generated from the spec's model: every key, its default, its meaning.

A line `# key: value` is a default to be uncommented; every other comment is prose.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gpustack.config.host import CONTROL_PLANE, NODE, STANDALONE, HostSpec
from gpustack.config.pydantic_errors import find_section
from gpustack.config.resolution import (
    resolve_containerd_version,
    resolve_driver_version,
    resolve_fingerprint,
    resolve_kubernetes_version,
)
from gpustack.config.sections.sources import Fingerprints
from gpustack.config.spec import Spec

HOSTS, SPEC = Path("hosts.yml"), Path("group_vars/all/gpustack.yml")
WIDTH = 110

HOSTS_TEXT = """\
# The hosts: an ordinary Ansible inventory. The spec of the whole cluster is in group_vars/all/gpustack.yml.
all:
  vars:
    # The login. Your ~/.ssh/config applies as well. The user is root, or becomes root with sudo.
    # ansible_user: ubuntu
    # ansible_port: 22
    # ansible_ssh_private_key_file: ~/.ssh/id_ed25519
    # ansible_ssh_common_args: -J jump.example.com

{kube_control_plane}
kube_control_plane:
  hosts:
    kube1:
      ansible_host: 192.0.2.11
{settings}

{kube_node}
kube_node:
  hosts:
    gpu1:
      ansible_host: 192.0.2.12
    gpu2:
      ansible_host: 192.0.2.13

{gpu_standalone}
# gpu_standalone:
#   hosts:
#     workstation:
#       ansible_host: 192.0.2.31
"""
GROUP_TEXTS = {
    CONTROL_PLANE: "The control plane (API, controllers, etcd): exactly one host in this release.",
    NODE: "The hosts that run pods. List the control plane here as well if its GPUs are for pods, or if it is the only "
    "host.",
    STANDALONE: "Hosts with GPUs and without Kubernetes, as workstations: driver, metrics, alerts "
    "(docs/standalone.md). The groups above may be left out then.",
}
HOST_EXAMPLES = {
    "gpustack_node_ip": "192.0.2.11",
    "gpustack_gpus": "4",
    "gpustack_mig": "all-1g.10gb",
    "gpustack_sharing": "time-slicing:4",
    "gpustack_labels": "{example.com/pool: research}",
    "gpustack_taints": "['example.com/team=research:NoSchedule']",
}

VERSIONS: Mapping[str, Callable[[Spec], str]] = {
    "Kubernetes": resolve_kubernetes_version,
    "Containerd": resolve_containerd_version,
    "Driver": resolve_driver_version,
}

SPEC_TEXT = """\
# The cluster spec: what applies to the whole cluster, in this file only. What applies to one host are its variables
# (hosts.yml, host_vars). Every key is here with its default. To change one, remove the `# ` before it.
gpustack:
{settings}
"""


def render_example() -> dict[Path, str]:
    """Render the texts of an inventory, by path below its folder."""
    host_settings = "\n".join(
        line for name, field in HostSpec.model_fields.items() for line in render_host_setting(name, field)
    )
    return {
        HOSTS: HOSTS_TEXT.format(
            settings=host_settings,
            **{group: "\n".join(wrap_comment(text, 0)) for group, text in GROUP_TEXTS.items()},
        ),
        SPEC: SPEC_TEXT.format(settings="\n".join(render_settings(Spec, Spec(), 1)).rstrip()),
    }


def render_host_setting(name: str, field: FieldInfo) -> list[str]:
    return [*wrap_comment(describe_field(field), 3), f"      # {name}: {HOST_EXAMPLES[name]}"]


def render_settings(model: type[BaseModel], defaults: BaseModel, depth: int) -> Iterator[str]:
    for name, field in model.model_fields.items():
        key, value = field.alias or name, getattr(defaults, name)
        yield from wrap_comment(describe_field(field), depth)
        if isinstance(value, BaseModel):
            yield f"{'  ' * depth}{key}:"
            yield from render_settings(type(value), value, depth + 1)
        else:
            if (inner := find_section(field.annotation)) and not is_list(field.annotation):
                yield from render_other_form(inner, key, depth, listed=value == ())
            yield f"{'  ' * depth}# {key}: {format_yaml(select_default(model, name, field, value))}"
        if depth == 1:
            yield ""


def is_list(annotation: Any) -> bool:
    """Tell whether a value is a list or none. The description of such a key has an example."""
    return any(get_origin(part) is tuple for part in get_args(annotation))


def select_default(model: type[BaseModel], name: str, field: FieldInfo, value: Any) -> Any:
    """Select the default, or a value that stands for it where the default is found elsewhere."""
    if value is not None:
        return value
    if model is Fingerprints:
        fingerprint = resolve_fingerprint(Spec(), name)
        return None if fingerprint == "{fingerprint}" else fingerprint
    if name == "version":
        return VERSIONS[model.__name__](Spec())
    return (field.examples or [None])[0]


def render_other_form(section: type[BaseModel], key: str, depth: int, *, listed: bool) -> Iterator[str]:
    """Render the other form that a key can have beside its default, as prose."""
    yield f"{'  ' * depth}#     {key}:"
    entry = "- " if listed else "  "
    for name, field in section.model_fields.items():
        value = (field.examples or [""])[0]
        yield f"{'  ' * depth}#     {entry}{field.alias or name}: {value}    # {field.description}"
        entry = "  "


def describe_field(field: FieldInfo) -> str:
    """Describe a field, with its choices where there are some."""
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    choices_text = f" ({' | '.join(str(choice) for choice in choices)})" if choices else ""
    return f"{field.description}{choices_text}"


def wrap_comment(text: str, depth: int) -> list[str]:
    indent = "  " * depth
    return [f"{indent}# {line}" for line in wrap(text, WIDTH - len(indent))]


def format_yaml(value: Any) -> str:
    """Format a value as YAML on one line."""
    import yaml

    plain = (
        value
        if value is None or isinstance(value, (str, int, bool, dict, list))
        else list(value)
        if isinstance(value, tuple)
        else str(value)
    )
    return yaml.safe_dump(plain, default_flow_style=True, width=1000, sort_keys=False).partition("\n")[0]
