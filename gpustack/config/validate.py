"""Judge an inventory: every mistake with file, key, actual value and rule, all at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpustack.config.ansible.cfg import AnsibleCfg
from gpustack.config.ansible.connection import ADDRESS, READ_VARIABLES, is_secret, name_variable, parse_connection
from gpustack.config.ansible.origins import Origins, read_origins
from gpustack.config.complaint import Complaint, find_nearest
from gpustack.config.host import CLUSTER_GROUPS, CONTROL_PLANE, GROUPS, IGNORE_VARIABLE, STANDALONE, Host, HostSpec
from gpustack.config.misspellings import find_misspellings, is_misspelt_in, locate_word
from gpustack.config.pydantic_errors import build_complaints, format_input
from gpustack.config.sections.cluster_spec import (
    KEY,
    LOCAL_SPEC,
    build_cluster_spec,
    find_misplaced_specs,
    locate_spec_key,
)
from gpustack.config.spec import Spec

Variables = Mapping[str, Mapping[str, Any]]
SHOWN_HOSTS = 3


def judge_inventory(
    source: Path | None,
    groups: Mapping[str, Sequence[str]],
    variables: Variables,
    cfg: AnsibleCfg,
    password: str | None,
    local_spec: Path = LOCAL_SPEC,
) -> tuple[tuple[Host, ...], Spec, list[Complaint]]:
    """Return hosts and spec as far as they could be built, and the complaints. With a complaint the two are not to be
    used. `local_spec` is the file of the local host, whose inventory has no path."""
    file = str(source or local_spec)
    origins = read_origins(source, groups, local_spec)
    names = list(dict.fromkeys(name for group in GROUPS for name in groups.get(group, ())))

    def locate(host: str, key: str) -> str:
        return locate_variable(origins, cfg, host, key, variables.get(host, {})) or file

    hosts: list[Host] = []
    wrong: dict[tuple[str, Complaint], list[str]] = {}
    for name in names:
        host, complaints = build_host(name, groups, variables.get(name, {}), cfg, password)
        hosts.append(host)
        for complaint in complaints:
            wrong.setdefault((locate(name, complaint.key), complaint), []).append(name)
    misplaced_specs = find_misplaced_specs(origins)
    spec, spec_complaints = (Spec(), []) if misplaced_specs else build_cluster_spec(source, names, variables, hosts)
    raw_spec = variables.get(names[0], {}).get(KEY) if names and not misplaced_specs else None
    templates = find_templates("", KEY, raw_spec)
    template_keys = {complaint.key for complaint in templates}
    spec_complaints = [
        replace(complaint, file=locate_spec_key(origins, local_spec, complaint.key, is_stated=raw_spec is not None))
        for complaint in (*templates, *(wrong for wrong in spec_complaints if wrong.key not in template_keys))
    ]
    host_complaints = [
        replace(complaint, file=format_hosts(place, host_names)) for (place, complaint), host_names in wrong.items()
    ]
    return (
        tuple(replace(host, timeout_factor=spec.timeout_factor) for host in hosts),
        spec,
        [
            *judge_groups(file, groups, origins.texts),
            *find_misspellings(source, groups, variables, origins.texts, file),
            *host_complaints,
            *find_duplicate_addresses(hosts, locate),
            *misplaced_specs,
            *spec_complaints,
        ],
    )


def build_host(
    name: str, groups: Mapping[str, Sequence[str]], variables: Mapping[str, Any], cfg: AnsibleCfg, password: str | None
) -> tuple[Host, list[Complaint]]:
    """Build a host. Complaints have no file yet: one that is the same for many hosts is reported once."""
    membership = frozenset(group for group in GROUPS if name in groups.get(group, ()))
    keys = [key for key in variables if key.startswith("gpustack_") and key != IGNORE_VARIABLE]
    complaints = [wrong for key in (*READ_VARIABLES, *keys) for wrong in find_templates("", key, variables.get(key))]
    if variables.get(IGNORE_VARIABLE, False) is not False:
        names = ", ".join(group for group in GROUPS if group in membership)
        rule = f"a host in no group of gpustack: take the host out of {names}, or remove the variable"
        complaints.append(
            Complaint("", IGNORE_VARIABLE, f"{format_input(variables[IGNORE_VARIABLE])} for a host in {names}", rule)
        )
    readable = {key: value for key, value in variables.items() if not any(wrong.key == key for wrong in complaints)}
    fields, wrong = parse_connection(name, readable, cfg, password)
    try:
        settings = HostSpec.model_validate({key: variables[key] for key in keys if key in readable})
    except ValidationError as error:
        settings, wrong = HostSpec(), [*wrong, *build_complaints("", "", error, HostSpec)]
    return Host(**fields, groups=membership, spec=settings), complaints + wrong


def locate_variable(origins: Origins, cfg: AnsibleCfg, host: str, key: str, variables: Mapping[str, Any]) -> str:
    """Return file and line of a host's variable, the possible ones where that is unknown, and an empty text where none
    is. What the inventory does not set is the setting of ansible.cfg."""
    name = name_variable(key.partition(".")[0], variables)
    if name not in variables:
        return str(cfg.path or "") if name.startswith("ansible_") and name not in ADDRESS else ""
    return " or ".join(origins.find_places(host, name, variables[name]))


def format_hosts(file: str, names: Sequence[str]) -> str:
    shown_names = ", ".join(names[:SHOWN_HOSTS])
    suffix = f" and {len(names) - SHOWN_HOSTS} more" if len(names) > SHOWN_HOSTS else ""
    return f"{file}, host{'s' if len(names) > 1 else ''} {shown_names}{suffix}"


def find_templates(file: str, key: str, document: Any) -> list[Complaint]:
    """Return a complaint for Jinja, which ansible-inventory leaves unexpanded and which would be taken literally, and
    for a single vaulted value, which it leaves encrypted."""
    if isinstance(document, Mapping) and "__ansible_vault" in document:
        rule = "a plain value; for a password a file that is vaulted as a whole, or -K"
        return [Complaint(file, key, "a single vaulted value", rule, "become-vaulted-value")]
    if isinstance(document, Mapping):
        return [wrong for name, inner in document.items() for wrong in find_templates(file, f"{key}.{name}", inner)]
    if isinstance(document, list):
        return [
            wrong for index, inner in enumerate(document) for wrong in find_templates(file, f"{key}.{index}", inner)
        ]
    if isinstance(document, str) and ("{{" in document or "{%" in document):
        actual = "a template" if is_secret(key) else document
        return [Complaint(file, key, actual, "a plain value, no Jinja", "config-jinja")]
    return []


def judge_groups(file: str, groups: Mapping[str, Sequence[str]], texts: Mapping[Path, str]) -> list[Complaint]:
    place = locate_word(STANDALONE, texts) or file
    complaints = [
        Complaint(place, f"{STANDALONE}.hosts.{name}", f"{name}, in {group} too", "one of the two", "host-in-both")
        for group in CLUSTER_GROUPS
        for name in groups.get(group, ())
        if name in groups.get(STANDALONE, ())
    ]
    required_groups = () if groups.get(STANDALONE) and not any(map(groups.get, CLUSTER_GROUPS)) else CLUSTER_GROUPS
    for group in required_groups:
        if not groups.get(group) and not is_misspelt_in(group, groups):
            other_groups = [name for name in groups if name not in (*GROUPS, "all", "ungrouped")]
            nearest, rule = find_nearest(group, other_groups), "at least one host"
            place = locate_word(group, texts) or file
            complaints.append(Complaint(place, group, "no host in this group", rule, "inventory-group-empty", nearest))
    if len(groups.get(CONTROL_PLANE, ())) > 1:
        members, rule = ", ".join(groups[CONTROL_PLANE]), "exactly one host in this release"
        place = locate_word(CONTROL_PLANE, texts) or file
        complaints.append(Complaint(place, CONTROL_PLANE, members, rule, "control-plane-several"))
    return complaints


def find_duplicate_addresses(hosts: Sequence[Host], locate: Callable[[str, str], str]) -> list[Complaint]:
    """Return a complaint for an address with two names, which would be two nodes on one host. `locate` returns the
    place of a variable of a host."""
    ssh_pairs = [
        (f"{host.address}" + (f" port {host.port}" if host.port not in (None, 22) else ""), host) for host in hosts
    ]
    node_pairs = [(str(host.spec.gpustack_node_ip), host) for host in hosts if host.spec.gpustack_node_ip]
    complaints = []
    for variable, pairs in (("ansible_host", ssh_pairs), ("gpustack_node_ip", node_pairs)):
        first_names: dict[str, str] = {}
        for address, host in pairs:
            if address in first_names:
                text = f"{address} for {first_names[address]} and {host.name}"
                place = locate(host.name, variable)
                complaints.append(Complaint(place, variable, text, "an address per host", "inventory-address-twice"))
            first_names.setdefault(address, host.name)
    return complaints
