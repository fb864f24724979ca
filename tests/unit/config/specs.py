"""Specs that an operator may have written are judged, with complaints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpustack.config.ansible.cfg import AnsibleCfg
from gpustack.config.complaint import Complaint
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
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
    host_variables: Mapping[str, Any] | None = None,
    password: str | None = None,
    **hosts: Mapping[str, Any],
) -> tuple[tuple[Host, ...], Spec, list[Complaint]]:
    """Judge a spec with `host_variables` of all hosts, and `h1=` and `h2=` of one."""
    names = dict.fromkeys(name for members in groups.values() for name in members)
    variables = {name: {**HOSTS.get(name, {}), **(host_variables or {}), **hosts.get(name, {})} for name in names}
    if spec is not None:
        variables = {name: {"gpustack": spec, **options} for name, options in variables.items()}
    return judge_inventory(SOURCE, groups, variables, AnsibleCfg(None, "", "", "", ""), password)


def build_inventory(**spec: Any) -> Inventory:
    """Build an inventory of the two hosts with a spec that is right."""
    hosts, _, _ = judge_spec(None, h1={"gpustack_node_ip": "10.9.9.1"})
    return Inventory(Path("hosts.yml"), hosts, Spec.model_validate(spec))


def list_complaints(spec: Any = None, **options: Any) -> list[Complaint]:
    return judge_spec(spec, **options)[2]


def list_complaint_ids(spec: Any = None, **options: Any) -> list[tuple[str, str]]:
    """List (key, reference) of every complaint."""
    return [(complaint.key, complaint.reference) for complaint in list_complaints(spec, **options)]
