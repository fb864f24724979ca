"""Where the cluster spec stands, and whether it is right: one `gpustack:` for all hosts, in group_vars/all."""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpustack.config.complaint import Complaint
from gpustack.config.host import Host
from gpustack.config.pydantic_errors import complain, path_of
from gpustack.config.secrets.secret_file import judged as judged_file
from gpustack.config.sections import exporter_rules, receiver, serve
from gpustack.config.spec import Mirror, Proxy, Spec
from gpustack.files.read import read_text

KEY = "gpustack"
STANDS = re.compile(rf"""^["']?{KEY}["']?\s*:""", re.MULTILINE)


def spec_file(source: Path | None) -> str:
    """Where the operator wrote the spec, or should have."""
    if source is None:
        return "/etc/gpustack-cluster/gpustack.yml"
    usual = sibling_dir(source) / "group_vars" / "all" / "gpustack.yml"
    return str(next((path for path in (usual, *general(source)) if says_spec(path)), usual))


def sibling_dir(source: Path) -> Path:
    """Ansible looks for group_vars and host_vars in the inventory's folder."""
    return source if source.is_dir() else source.parent


def general(source: Path) -> list[Path]:
    """The files of variables for all hosts: group_vars/all, all.yml, or everything in all/."""
    folder = sibling_dir(source) / "group_vars"
    return [*files(folder / "all"), *files(folder, "all"), *files(folder, "all.*")]


def files(folder: Path, pattern: str = "**/*") -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def says_spec(path: Path) -> bool:
    """False for a vaulted file: its content is unknown, and the spec holds no secrets."""
    try:
        return bool(STANDS.search(read_text(path)))
    except (OSError, ValueError):
        return False


def find_misplaced_specs(source: Path | None) -> list[Complaint]:
    """A copy for one host or group would replace the whole mapping there, so it is refused wherever it stands."""
    if source is None:
        return []
    base, right = sibling_dir(source), general(source)
    suspects = [*files(base / "host_vars"), *(path for path in files(base / "group_vars") if path not in right)]
    allowed = "gpustack_… settings of hosts; the spec stands in group_vars/all/gpustack.yml only"
    return [
        Complaint(str(path), KEY, "a cluster spec", allowed, "config-spec-split")
        for path in suspects
        if says_spec(path)
    ]


def cluster_spec(
    source: Path | None, names: Sequence[str], variables: Mapping[str, Mapping[str, Any]], hosts: Sequence[Host]
) -> tuple[Spec, list[Complaint]]:
    """With a complaint the spec is not to be used. Null counts as unset."""
    file = spec_file(source)
    if found := find_misplaced_specs(source):
        return Spec(), found
    specs = [variables.get(name, {}).get(KEY) or {} for name in names]
    given: Any = next(iter(specs), {})
    if any(other != given for other in specs):
        differing = [name for name, other in zip(names, specs, strict=True) if other != given]
        allowed = "one for all, in group_vars/all/gpustack.yml only"
        found = [Complaint(file, KEY, f"another `{KEY}:` for {', '.join(differing)}", allowed, "config-spec-split")]
        return Spec(), found
    if not isinstance(given, Mapping):
        return Spec(), [Complaint(file, KEY, repr(given), "a mapping of settings")]
    spec, wrong, complaints = judged(file, given)
    return spec, complaints + [entry for keys, entry in contradictions(file, spec, hosts, source) if not wrong & keys]


def judged(file: str, given: Mapping[str, Any]) -> tuple[Spec, set[str], list[Complaint]]:
    """The spec, the keys that are wrong, and complaints. The rest of a wrong spec is judged as if those were unset, so
    that contradictions are reported together with them."""
    try:
        return Spec.model_validate(given), set(), []
    except ValidationError as error:
        complaints = complain(file, KEY, error, Spec)
        paths = [path_of(entry) for entry in error.errors()]
        wrong = {".".join(path[:depth]) for path in paths for depth in range(1, len(path) + 1)}
    # What is left of an entry may be none: then the whole list goes.
    for chosen in (paths, [before_list(path) for path in paths]):
        rest = deepcopy(dict(given))
        for path in chosen:
            forget(rest, path)
        try:
            return Spec.model_validate(rest), wrong, complaints
        except ValidationError:
            continue
    return Spec(), {*Spec.model_fields, *wrong}, complaints


def before_list(path: Sequence[str]) -> Sequence[str]:
    """A number in first place is a key of the operator's."""
    return path[: next((index for index, part in enumerate(path) if index and part.isdecimal()), len(path))]


def forget(given: Any, path: Sequence[str]) -> None:
    """Takes away the topmost part of a path that is neither mapping nor a list of such, or its end."""
    for part in path[:-1]:
        inner = given[int(part)] if isinstance(given, list) else given.get(part)
        if not isinstance(inner, dict) and not lists_mappings(inner):
            given.pop(part, None)
            return
        given = inner
    if isinstance(given, list):
        given[int(path[-1])] = {}
    else:
        given.pop(path[-1], None)


def lists_mappings(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(one, dict) for one in given)


def contradictions(
    file: str, spec: Spec, hosts: Sequence[Host], source: Path | None
) -> Iterator[tuple[set[str], Complaint]]:
    """What is right by itself and wrong together: the keys that it is about, and the complaint."""
    pods, services = spec.kubernetes.pod_cidr, spec.kubernetes.service_cidr
    pod_key, service_key = "kubernetes.pod_cidr", "kubernetes.service_cidr"
    if pods.overlaps(services):
        found, allowed = f"{pods}, which overlaps {service_key} {services}", "networks apart from each other"
        yield {pod_key, service_key}, Complaint(file, f"{KEY}.{pod_key}", found, allowed, "config-networks-overlap")
    for key, network in ((pod_key, pods), (service_key, services)):
        inside = [f"{address} of {host.name}" for host in hosts for address in addresses(host) if address in network]
        if inside:
            found, allowed = f"{network}, which holds {', '.join(inside)}", "a network that no host is in"
            yield {key}, Complaint(file, f"{KEY}.{key}", found, allowed, "config-networks-overlap")
    yield from unheeded(file, spec)
    yield from logins(file, spec, source)
    access = spec.monitoring.access
    if access.type == "node-port" and access.node_port == access.prometheus_node_port:
        key = "monitoring.access.prometheus_node_port"
        found, allowed = f"{access.node_port}, which is node_port", "a port of its own"
        yield {key, "monitoring.access.node_port"}, Complaint(file, f"{KEY}.{key}", found, allowed)
    yield from exporter_rules.complaints(file, spec.gpu, spec.versions)
    yield from serve.complaints(file, spec)
    yield from receiver.complaints(file, spec.alerts.receivers, source if source and source.is_dir() else None)


def unheeded(file: str, spec: Spec) -> Iterator[tuple[set[str], Complaint]]:
    """Settings that another one leaves without effect."""
    repositories = [name for name, value in spec.fingerprints if value]
    if repositories and isinstance(spec.source, Mirror):
        allowed = "nothing beside a mirror: source.fingerprint is its key"
        yield {"fingerprints", "source"}, Complaint(file, f"{KEY}.fingerprints", ", ".join(repositories), allowed)


def logins(file: str, spec: Spec, source: Path | None) -> Iterator[tuple[set[str], Complaint]]:
    """Of the proxy and of the mirror: user and password go together, the file is there and private, and a mirror that
    gets them has TLS."""
    folder = source if source and source.is_dir() else None
    if spec.proxy and not (spec.proxy.http or spec.proxy.https):
        yield {"proxy"}, Complaint(file, f"{KEY}.proxy", "neither http nor https", "an address for one of them or both")
    mirror = spec.source if isinstance(spec.source, Mirror) else None
    if mirror and (mirror.user or mirror.password_file) and not mirror.mirror.startswith("https://"):
        found, allowed = f"{mirror.mirror} beside a login", "https://, or neither user nor password_file"
        yield {"source"}, Complaint(file, f"{KEY}.source.mirror", found, allowed, "config-login-in-clear")
    for key, section in (("proxy", spec.proxy), ("source", spec.source)):
        if not isinstance(section, (Proxy, Mirror)):
            continue
        if (section.user is None) != (section.password_file is None):
            present, other = ("user", "password_file") if section.user else ("password_file", "user")
            yield {key}, Complaint(file, f"{KEY}.{key}", f"{present} without {other}", "both or none")
        if section.password_file and (wrong := judged_file(section.password_file, folder)):
            found, allowed = f"{section.password_file}: {wrong[0]}", wrong[1]
            yield {key}, Complaint(file, f"{KEY}.{key}.password_file", found, allowed, "config-secret-file")


def addresses(host: Host) -> list[IPv4Address]:
    """Those that are known without asking anybody."""
    named = IPv4Network(host.address) if re.fullmatch(r"\d+(\.\d+){3}", host.address) else None
    found = [named.network_address] if named else []
    return list(dict.fromkeys([*found, *([host.spec.gpustack_node_ip] if host.spec.gpustack_node_ip else [])]))
