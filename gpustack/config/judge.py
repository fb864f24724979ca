"""Judges what the inventory says: every mistake with file, key, what was found and what is allowed, all at once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from gpustack.config.ansible_cfg import AnsibleCfg
from gpustack.config.complaint import Complaint, nearest
from gpustack.config.connection import connection
from gpustack.config.host import CONTROL_PLANE, NODE, Host, HostSpec
from gpustack.config.spec import Spec

Variables = Mapping[str, Mapping[str, Any]]
GROUPS = (CONTROL_PLANE, NODE)


def judge(
    source: Path | None, groups: Mapping[str, Sequence[str]], variables: Variables, cfg: AnsibleCfg, password: str | None
) -> tuple[tuple[Host, ...], Spec, list[Complaint]]:
    """Hosts and spec as far as they could be made, and the complaints; with a complaint the other two are not to be used."""
    file = str(source or "")
    names = list(dict.fromkeys(name for group in GROUPS for name in groups.get(group, ())))
    complaints = grouped(file, groups)
    hosts = []
    for name in names:
        given = variables.get(name, {})
        membership = frozenset(group for group in GROUPS if name in groups.get(group, ()))
        complaints += templated(f"{file}, host {name}", given)
        settings, wrong = host_spec(file, name, given)
        complaints += wrong
        host, wrong = connection(file, name, given, cfg, password)
        complaints += wrong
        hosts.append(Host(**host, groups=membership, spec=settings))
    complaints += twice(file, hosts)
    spec, wrong = cluster_spec(source, names, variables)
    return tuple(hosts), spec, complaints + wrong


def grouped(file: str, groups: Mapping[str, Sequence[str]]) -> list[Complaint]:
    found = []
    for group in GROUPS:
        if not groups.get(group):
            likely = nearest(group, [name for name in groups if name not in (*GROUPS, "all", "ungrouped")])
            found.append(Complaint(file, group, "no host in this group", "at least one host", "inventory-group-empty", likely))
    if len(groups.get(CONTROL_PLANE, ())) > 1:
        many = ", ".join(groups[CONTROL_PLANE])
        found.append(Complaint(file, CONTROL_PLANE, many, "exactly one host in this release", "control-plane-several"))
    return found


def templated(where: str, given: Mapping[str, Any], prefix: str = "") -> list[Complaint]:
    """Jinja in what we read would arrive unexpanded, so it is refused rather than taken literally."""
    found = []
    for key, value in given.items():
        if isinstance(value, Mapping):
            found += templated(where, value, f"{prefix}{key}.")
        elif isinstance(value, str) and "{{" in value and f"{prefix}{key}".startswith(("gpustack", "ansible_")):
            found.append(Complaint(where, f"{prefix}{key}", value, "a plain value, no Jinja", "config-jinja"))
    return found


def host_spec(file: str, name: str, given: Mapping[str, Any]) -> tuple[HostSpec, list[Complaint]]:
    flat = {key: value for key, value in given.items() if key.startswith("gpustack_")}
    try:
        return HostSpec(**flat), []
    except ValidationError as error:
        return HostSpec(), complain(f"{file}, host {name}", "", error, HostSpec)


def twice(file: str, hosts: Sequence[Host]) -> list[Complaint]:
    """Two names for one address would be two nodes on one host."""
    found = []
    for what, key in (("ansible_host", lambda host: (host.address, host.port)), ("gpustack_node_ip", lambda host: host.spec.gpustack_node_ip)):
        seen: dict[Any, str] = {}
        for host in hosts:
            value = key(host)
            if value is None:
                continue
            if first := seen.get(value):
                address = value[0] if isinstance(value, tuple) else str(value)
                found.append(Complaint(file, what, f"{address} for {first} and {host.name}", "an address per host", "inventory-address-twice"))
            seen.setdefault(value, host.name)
    return found


def spec_file(source: Path | None) -> str:
    """Where the operator most likely wrote the spec."""
    if source is None:
        return "/etc/gpustack/gpustack.yml"
    base = source if source.is_dir() else source.parent
    candidates = [base / "group_vars" / "all" / f"gpustack.{end}" for end in ("yml", "yaml")] + [base / "group_vars" / "all.yml"]
    return str(next((path for path in candidates if path.exists()), candidates[0]))


def cluster_spec(source: Path | None, names: Sequence[str], variables: Variables) -> tuple[Spec, list[Complaint]]:
    file = spec_file(source)
    said = [variables.get(name, {}).get("gpustack", {}) for name in names]
    given: Any = next(iter(said), {})
    if any(other != given for other in said):
        differing = [name for name, other in zip(names, said, strict=True) if other != given]
        found = f"another `gpustack:` for {', '.join(differing)}"
        return Spec(), [Complaint(file, "gpustack", found, "one for all, in group_vars/all/gpustack.yml only", "config-spec-split")]
    if not isinstance(given, Mapping):
        return Spec(), [Complaint(file, "gpustack", repr(given), "a mapping of settings")]
    try:
        return Spec(**given), []
    except ValidationError as error:
        return Spec(), complain(file, "gpustack", error, Spec)


def complain(file: str, prefix: str, error: ValidationError, model: type[BaseModel]) -> list[Complaint]:
    found = []
    for entry in error.errors():
        path = [str(part) for part in entry["loc"]]
        key = ".".join(part for part in (prefix, *path) if part)
        if entry["type"] == "extra_forbidden":
            known = known_keys(model, path[:-1])
            found.append(Complaint(file, key, "a key that does not exist", f"one of {', '.join(known)}", "config-unknown-key", nearest(path[-1], known)))
        else:
            text = entry["msg"].removeprefix("Value error, ")
            found.append(Complaint(file, key or "gpustack", shown(entry["input"]), text[:1].lower() + text[1:]))
    return found


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def known_keys(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    """The keys that are allowed at a place of the model, as the operator writes them."""
    for part in path:
        for name, info in model.model_fields.items():
            if part in (name, info.alias):
                candidates = [info.annotation, *getattr(info.annotation, "__args__", ())]
                nested = [kind for kind in candidates if isinstance(kind, type) and issubclass(kind, BaseModel)]
                if nested:
                    model = nested[0]
                break
    return [info.alias or name for name, info in model.model_fields.items()]
