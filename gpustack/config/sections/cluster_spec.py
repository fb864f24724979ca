"""The place of the cluster spec and its judgement: one `gpustack:` for all hosts, in group_vars/all."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpustack.config.addresses import is_ipv4_address
from gpustack.config.ansible.inventory_files import locate_inventory_dir
from gpustack.config.ansible.origins import Origins
from gpustack.config.certificate_file import judge_certificate_file
from gpustack.config.complaint import Complaint
from gpustack.config.endpoint import extract_name
from gpustack.config.host import Host
from gpustack.config.package_sources import judge_package_sources
from gpustack.config.ports import find_port_collisions
from gpustack.config.pydantic_errors import build_complaints, extract_path, format_input
from gpustack.config.secrets.secret_file import judge_secret_file as judged_file
from gpustack.config.sections import care, exporter_rules, receiver, serve
from gpustack.config.sections.sources import Mirror, Proxy
from gpustack.config.spec import Spec

KEY = "gpustack"
LOCAL_SPEC = Path("/etc/gpustack-cluster/gpustack.yml")


def locate_spec_key(origins: Origins, local_spec: Path, key: str, *, is_stated: bool = False) -> str:
    """Return the file in which the operator wrote the spec, with the line of a dotted key, or the file in which it
    should stand."""
    settings = [setting for setting in origins.list_settings(KEY) if setting.owner == "all"]
    if settings:
        return settings[-1].locate_key(key.removeprefix(KEY).lstrip("."))
    if is_stated and origins.source and origins.source.exists():
        return " or ".join(map(str, origins.opaque_files or [origins.source]))
    path = locate_inventory_dir(origins.source) / "group_vars/all/gpustack.yml" if origins.source else local_spec
    return str(path)


def find_misplaced_specs(origins: Origins) -> list[Complaint]:
    """Return a complaint for a spec of one host or group, and for a second one of all hosts. It would replace the whole
    mapping, or be replaced by it."""
    settings = [setting for setting in origins.list_settings(KEY) if setting.owner]
    rule = "gpustack_… variables of hosts; the spec stands in group_vars/all/gpustack.yml only"
    complaints = [
        Complaint(setting.locate_key(), KEY, f"a cluster spec for {setting.owner} alone", rule, "config-spec-split")
        for setting in settings
        if setting.owner != "all"
    ]
    places = [setting.locate_key() for setting in reversed(settings) if setting.owner == "all"]
    if len(places) > 1:
        actual = f"a cluster spec, beside another in {', '.join(places[1:])}"
        rule = "one file; Ansible does not merge them"
        complaints.append(Complaint(places[0], KEY, actual, rule, "config-spec-split"))
    return complaints


def build_cluster_spec(
    source: Path | None, names: Sequence[str], variables: Mapping[str, Mapping[str, Any]], hosts: Sequence[Host]
) -> tuple[Spec, list[Complaint]]:
    """Build the spec of the cluster. With a complaint, which has no file yet, it is not to be used. Null counts as
    unset."""
    file = ""
    host_values = [variables.get(name, {}).get(KEY) for name in names]
    specs: list[Any] = [{} if value is None else value for value in host_values]
    settings: Any = next(iter(specs), {})
    if any(host_spec != settings for host_spec in specs):
        differing_hosts = [name for name, host_spec in zip(names, specs, strict=True) if host_spec != settings]
        rule = "one for all, in group_vars/all/gpustack.yml only"
        misplaced_specs = [
            Complaint(file, KEY, f"another `{KEY}:` for {', '.join(differing_hosts)}", rule, "config-spec-split")
        ]
        return Spec(), misplaced_specs
    if not isinstance(settings, Mapping):
        return Spec(), [Complaint(file, KEY, format_input(settings), "a mapping, or nothing")]
    spec, wrong, complaints = validate_spec(file, settings)
    return spec, complaints + [
        entry for keys, entry in find_contradictions(file, spec, hosts, source) if not wrong & keys
    ]


def validate_spec(file: str, settings: Mapping[str, Any]) -> tuple[Spec, set[str], list[Complaint]]:
    """Return the spec, the keys that are wrong, and complaints. Keys that are wrong count as unset, so that
    contradictions in the rest are reported together with them."""
    try:
        return Spec.model_validate(settings), set(), []
    except ValidationError as error:
        complaints = build_complaints(file, KEY, error, Spec)
        paths = [extract_path(entry) for entry in error.errors()]
        wrong = {".".join(path[:depth]) for path in paths for depth in range(1, len(path) + 1)}
    # What is left of an entry may be none: then the whole list goes.
    for removed_paths in (paths, [cut_at_list(path) for path in paths]):
        rest = deepcopy(dict(settings))
        for path in removed_paths:
            forget_setting(rest, path)
        try:
            return Spec.model_validate(rest), wrong, complaints
        except ValidationError:
            continue
    return Spec(), {*Spec.model_fields, *wrong}, complaints


def cut_at_list(path: Sequence[str]) -> Sequence[str]:
    """Cut a path before the first number that is an index. A number in first place is a key of the operator's."""
    return path[: next((index for index, part in enumerate(path) if index and part.isdecimal()), len(path))]


def forget_setting(settings: Any, path: Sequence[str]) -> None:
    """Remove the topmost part of a path that is neither mapping nor a list of such, or its end."""
    for part in path[:-1]:
        inner = settings[int(part)] if isinstance(settings, list) else settings.get(part)
        if not isinstance(inner, dict) and not is_mapping_list(inner):
            settings.pop(part, None)
            return
        settings = inner
    if isinstance(settings, list):
        settings[int(path[-1])] = {}
    else:
        settings.pop(path[-1], None)


def is_mapping_list(entries: Any) -> bool:
    return isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)


def find_contradictions(
    file: str, spec: Spec, hosts: Sequence[Host], source: Path | None
) -> Iterator[tuple[set[str], Complaint]]:
    """Yield settings that are right alone and wrong together, as the keys and the complaint."""
    pods, services = spec.kubernetes.pod_cidr, spec.kubernetes.service_cidr
    pod_key, service_key = "kubernetes.pod_cidr", "kubernetes.service_cidr"
    if pods.overlaps(services):
        actual, rule = f"{pods}, which overlaps {service_key} {services}", "networks apart from each other"
        yield {pod_key, service_key}, Complaint(file, f"{KEY}.{pod_key}", actual, rule, "config-networks-overlap")
    for key, network in ((pod_key, pods), (service_key, services)):
        addresses = [
            f"{address} of {host.name}" for host in hosts for address in list_addresses(host) if address in network
        ]
        if addresses:
            actual, rule = f"{network}, which holds {', '.join(addresses)}", "a network that no host is in"
            yield {key}, Complaint(file, f"{KEY}.{key}", actual, rule, "config-networks-overlap")
        endpoint = spec.kubernetes.endpoint or ""
        if is_ipv4_address(name := extract_name(endpoint)) and IPv4Address(name) in network:
            rule = f"an address outside of {key} {network}"
            place = f"{KEY}.kubernetes.endpoint"
            yield {key, "kubernetes.endpoint"}, Complaint(file, place, endpoint, rule, "config-networks-overlap")
    yield from find_ineffective_settings(file, spec)
    yield from judge_logins(file, spec, source)
    yield from judge_driver_sources(file, spec, source)
    yield from judge_driver_mode(file, spec, hosts)
    yield from find_port_collisions(file, spec, hosts)
    yield from exporter_rules.judge_exporter(file, spec.gpu, spec.versions)
    yield from serve.judge_serve(file, spec)
    yield from care.judge_care(file, spec)
    yield from receiver.judge_receivers(file, spec.alerts.receivers, source if source and source.is_dir() else None)


def find_ineffective_settings(file: str, spec: Spec) -> Iterator[tuple[set[str], Complaint]]:
    """Yield settings that another one leaves without effect."""
    repositories = [name for name, value in spec.fingerprints if value]
    if repositories and isinstance(spec.source, Mirror):
        rule = "nothing beside a mirror: source.fingerprint is its key"
        yield {"fingerprints", "source"}, Complaint(file, f"{KEY}.fingerprints", ", ".join(repositories), rule)


def judge_logins(file: str, spec: Spec, source: Path | None) -> Iterator[tuple[set[str], Complaint]]:
    """Judge the logins and the CAs of the proxy and of the mirror: user and password go together, the files can be
    used, and a mirror with a login or a CA has TLS."""
    folder = source if source and source.is_dir() else None
    if spec.proxy and not (spec.proxy.http or spec.proxy.https):
        yield {"proxy"}, Complaint(file, f"{KEY}.proxy", "neither http nor https", "an address for one of them or both")
    mirror = spec.source if isinstance(spec.source, Mirror) else None
    if mirror and (mirror.user or mirror.password_file) and not mirror.mirror.startswith("https://"):
        actual, rule = f"{mirror.mirror} beside a login", "https://, or neither user nor password_file"
        yield {"source"}, Complaint(file, f"{KEY}.source.mirror", actual, rule, "config-login-in-clear")
    for key, section in (("proxy", spec.proxy), ("source", spec.source)):
        if not isinstance(section, (Proxy, Mirror)):
            continue
        if (section.user is None) != (section.password_file is None):
            present_key, missing_key = ("user", "password_file") if section.user else ("password_file", "user")
            yield {key}, Complaint(file, f"{KEY}.{key}", f"{present_key} without {missing_key}", "both or none")
        if section.password_file and (wrong := judged_file(section.password_file, folder)):
            actual, rule = f"{section.password_file}: {wrong[0]}", wrong[1]
            yield {key}, Complaint(file, f"{KEY}.{key}.password_file", actual, rule, "config-secret-file")
        if section.ca_file and (wrong := judge_certificate_file(section.ca_file, folder)):
            actual = f"{section.ca_file}: {wrong[0]}"
            yield {key}, Complaint(file, f"{KEY}.{key}.ca_file", actual, wrong[1], "config-ca-file")
    if mirror and mirror.ca_file and not mirror.mirror.startswith("https://"):
        rule = "https://, or no ca_file"
        yield {"source"}, Complaint(file, f"{KEY}.source.mirror", f"{mirror.mirror} beside ca_file", rule)


def judge_driver_sources(file: str, spec: Spec, source: Path | None) -> Iterator[tuple[set[str], Complaint]]:
    """Judge the package sources of driver containers: there are such containers, and the file can be used."""
    key, driver = "gpu.driver.repo_config", spec.gpu.driver
    if not driver.repo_config:
        return
    if driver.mode in ("host", "none") or spec.gpu.stack == "host":
        conflicting_setting = "gpu.stack: host" if spec.gpu.stack == "host" else f"gpu.driver.mode: {driver.mode}"
        rule = "nothing, unless drivers come in containers: on hosts apt uses the sources of the host"
        actual = f"a file beside {conflicting_setting}"
        yield {key, "gpu.driver.mode", "gpu.stack"}, Complaint(file, f"{KEY}.{key}", actual, rule)
    if wrong := judge_package_sources(driver.repo_config, source if source and source.is_dir() else None):
        actual = f"{driver.repo_config}: {wrong[0]}"
        yield {key}, Complaint(file, f"{KEY}.{key}", actual, wrong[1], "config-package-sources")


def judge_driver_mode(file: str, spec: Spec, hosts: Sequence[Host]) -> Iterator[tuple[set[str], Complaint]]:
    """Refuse driver containers where no operator installs them."""
    key = "gpu.driver.mode"
    standalone_hosts = [host.name for host in hosts if host.standalone and host.spec.gpustack_gpus != 0]
    if spec.gpu.driver.mode == "container" and (spec.gpu.stack == "host" or standalone_hosts):
        names = ", ".join(standalone_hosts)
        conflicting_setting = "gpu.stack: host" if spec.gpu.stack == "host" else f"hosts of gpu_standalone: {names}"
        rule = "host, none or auto there: the operator alone installs drivers in containers"
        yield {key, "gpu.stack"}, Complaint(file, f"{KEY}.{key}", f"container beside {conflicting_setting}", rule)


def list_addresses(host: Host) -> list[IPv4Address]:
    """List the addresses of a host that are known without asking it."""
    return [IPv4Address(host.node_address)] if host.node_address else []
