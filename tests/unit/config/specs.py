"""What an operator may have written, as the judge gets it, and what the judge says about it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpustack.config.ansible.cfg import AnsibleCfg
from gpustack.config.complaint import Complaint
from gpustack.config.host import Host
from gpustack.config.spec import Spec
from gpustack.config.validate import judge_inventory

SOURCE = Path("nowhere/site/hosts.yml")
SPEC_FILE = "nowhere/site/group_vars/all/gpustack.yml"
GROUPS = {"kube_control_plane": ("h1",), "kube_node": ("h1", "h2")}
HOSTS: Mapping[str, Mapping[str, Any]] = {"h1": {"ansible_host": "192.0.2.1"}, "h2": {"ansible_host": "192.0.2.2"}}


def judge_spec(
    spec: Any = None,
    *,
    groups: Mapping[str, tuple[str, ...]] = GROUPS,
    every: Mapping[str, Any] | None = None,
    password: str | None = None,
    **hosts: Mapping[str, Any],
) -> tuple[tuple[Host, ...], Spec, list[Complaint]]:
    """`every` are variables of all hosts, `h1=` and `h2=` those of one."""
    names = dict.fromkeys(name for members in groups.values() for name in members)
    variables = {name: {**HOSTS.get(name, {}), **(every or {}), **hosts.get(name, {})} for name in names}
    if spec is not None:
        variables = {name: {"gpustack": spec, **given} for name, given in variables.items()}
    return judge_inventory(SOURCE, groups, variables, AnsibleCfg(None, "", "", "", ""), password)


def complaints(spec: Any = None, **other: Any) -> list[Complaint]:
    return judge_spec(spec, **other)[2]


def complaint_ids(spec: Any = None, **other: Any) -> list[tuple[str, str]]:
    """(key, reference) of every complaint."""
    return [(found.key, found.reference) for found in complaints(spec, **other)]
