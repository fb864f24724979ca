"""Judges what the inventory says: every mistake with file, key, what was found and what is allowed, all at once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpustack.config.ansible.cfg import AnsibleCfg
from gpustack.config.ansible.connection import READ, connection, secret
from gpustack.config.complaint import Complaint, nearest
from gpustack.config.host import CONTROL_PLANE, NODE, STANDALONE, Host, HostSpec
from gpustack.config.pydantic_errors import complain
from gpustack.config.sections.cluster_spec import cluster_spec, spec_file
from gpustack.config.spec import Spec

Variables = Mapping[str, Mapping[str, Any]]
OF_CLUSTER = (CONTROL_PLANE, NODE)
GROUPS = (*OF_CLUSTER, STANDALONE)
SHOWN_HOSTS = 3


def judge(
    source: Path | None,
    groups: Mapping[str, Sequence[str]],
    variables: Variables,
    cfg: AnsibleCfg,
    password: str | None,
) -> tuple[tuple[Host, ...], Spec, list[Complaint]]:
    """Hosts and spec as far as they could be made, and the complaints; with a complaint the two are not to be used."""
    file = str(source or "")
    names = list(dict.fromkeys(name for group in GROUPS for name in groups.get(group, ())))
    hosts: list[Host] = []
    wrong: dict[Complaint, list[str]] = {}
    for name in names:
        host, complaints = host_of(name, groups, variables.get(name, {}), cfg, password)
        hosts.append(host)
        for complaint in complaints:
            wrong.setdefault(complaint, []).append(name)
    spec, of_spec = cluster_spec(source, names, variables, hosts)
    spoken = variables.get(names[0], {}).get("gpustack") if names else None
    jinja = templates(spec_file(source), "gpustack", spoken)
    about_hosts = [replace(complaint, file=of(file, where)) for complaint, where in wrong.items()]
    return (
        tuple(replace(host, timeout_factor=spec.timeout_factor) for host in hosts),
        spec,
        [*grouped(file, groups), *about_hosts, *find_duplicate_addresses(file, hosts), *jinja, *of_spec],
    )


def host_of(
    name: str, groups: Mapping[str, Sequence[str]], given: Mapping[str, Any], cfg: AnsibleCfg, password: str | None
) -> tuple[Host, list[Complaint]]:
    """Complaints have no file yet: one that is the same for many hosts is reported once."""
    membership = frozenset(group for group in GROUPS if name in groups.get(group, ()))
    flat = {key: value for key, value in given.items() if key.startswith("gpustack_")}
    found = [wrong for key in (*READ, *flat) for wrong in unread(key, given.get(key))]
    readable = {key: value for key, value in given.items() if not any(wrong.key == key for wrong in found)}
    fields, wrong = connection(name, readable, cfg, password)
    try:
        settings = HostSpec.model_validate({key: value for key, value in flat.items() if key in readable})
    except ValidationError as error:
        settings, wrong = HostSpec(), [*wrong, *complain("", "", error, HostSpec)]
    return Host(**fields, groups=membership, spec=settings), found + wrong


def of(file: str, names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN_HOSTS])
    more = f" and {len(names) - SHOWN_HOSTS} more" if len(names) > SHOWN_HOSTS else ""
    return f"{file}, host{'s' if len(names) > 1 else ''} {shown}{more}"


def unread(key: str, value: Any) -> list[Complaint]:
    """What ansible-inventory hands on unread: Jinja unexpanded, single vaulted values encrypted."""
    if isinstance(value, Mapping) and "__ansible_vault" in value:
        allowed = "a plain value in a vaulted file, or -K" if secret(key) else "a plain value"
        return [Complaint("", key, "a single vaulted value", allowed, "become-vaulted-value")]
    return templates("", key, value)


def templates(file: str, key: str, value: Any) -> list[Complaint]:
    """Jinja in what we read would be taken literally, so it is refused."""
    if isinstance(value, Mapping):
        return [wrong for name, inner in value.items() for wrong in templates(file, f"{key}.{name}", inner)]
    if isinstance(value, list):
        return [wrong for at, inner in enumerate(value) for wrong in templates(file, f"{key}.{at}", inner)]
    if isinstance(value, str) and ("{{" in value or "{%" in value):
        found = "a template" if secret(key) else value
        return [Complaint(file, key, found, "a plain value, no Jinja", "config-jinja")]
    return []


def grouped(file: str, groups: Mapping[str, Sequence[str]]) -> list[Complaint]:
    found = [
        Complaint(
            file, f"{STANDALONE}.hosts.{name}", f"{name}, which is in {group} too", "one of the two", "host-in-both"
        )
        for group in OF_CLUSTER
        for name in groups.get(group, ())
        if name in groups.get(STANDALONE, ())
    ]
    needed = () if groups.get(STANDALONE) and not any(map(groups.get, OF_CLUSTER)) else OF_CLUSTER
    for group in needed:
        if not groups.get(group):
            others = [name for name in groups if name not in (*GROUPS, "all", "ungrouped")]
            likely, allowed = nearest(group, others), "at least one host"
            found.append(Complaint(file, group, "no host in this group", allowed, "inventory-group-empty", likely))
    if len(groups.get(CONTROL_PLANE, ())) > 1:
        many, allowed = ", ".join(groups[CONTROL_PLANE]), "exactly one host in this release"
        found.append(Complaint(file, CONTROL_PLANE, many, allowed, "control-plane-several"))
    return found


def find_duplicate_addresses(file: str, hosts: Sequence[Host]) -> list[Complaint]:
    """Two names for one address would be two nodes on one host."""
    reached = [
        (f"{host.address}" + (f" port {host.port}" if host.port not in (None, 22) else ""), host) for host in hosts
    ]
    nodes = [(str(host.spec.gpustack_node_ip), host) for host in hosts if host.spec.gpustack_node_ip]
    found = []
    for what, pairs in (("ansible_host", reached), ("gpustack_node_ip", nodes)):
        first: dict[str, str] = {}
        for address, host in pairs:
            if address in first:
                text = f"{address} for {first[address]} and {host.name}"
                found.append(Complaint(file, what, text, "an address per host", "inventory-address-twice"))
            first.setdefault(address, host.name)
    return found
