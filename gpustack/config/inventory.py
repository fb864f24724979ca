"""The operator's own Ansible inventory, read once, judged as a whole, as frozen values.

It is `-i PATH`, else GPUSTACK_INVENTORY, else the inventory of the ansible.cfg in force; without any, the local host as
a one-node cluster, whose spec may stand in /etc/gpustack-cluster/gpustack.yml.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gpustack.command import Command, join_hints
from gpustack.config.ansible.cfg import read_ansible_cfg
from gpustack.config.ansible.inventory_listing import Listing, finish_listing, select_inventory, start_listing
from gpustack.config.ansible.origins import locate_in_file
from gpustack.config.complaint import Complaint, refuse
from gpustack.config.dashboards.files import read_dashboards
from gpustack.config.dashboards.json_model import Dashboard
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.config.pydantic_errors import format_input
from gpustack.config.receiver_values import find_lost_entries
from gpustack.config.secrets.secret_file import read_secret
from gpustack.config.sections.cluster_spec import LOCAL_SPEC
from gpustack.config.sections.receiver import read_secrets
from gpustack.config.sections.sources import Mirror, Proxy
from gpustack.config.spec import Spec
from gpustack.config.validate import judge_inventory
from gpustack.config.values import find_unknown_files, locate_values_file, read_operator_values
from gpustack.config.versions import read_version_set
from gpustack.config.yaml_files import describe_error, read_yaml_text
from gpustack.errors import ConfigError
from gpustack.files.document import DocumentError
from gpustack.files.yaml_text import Rules, parse_yaml

LOCAL_RULES = Rules(aliases=True, unique=True)
EARLIER_SPEC = Path("/etc/gpustack/gpustack.yml")


@dataclass(frozen=True)
class Inventory:
    """Hold hosts and spec. `source` is None for the local host. Hosts are in the order of the inventory, control planes
    first, those without Kubernetes last. `values` are the operator's, by Helm release; `file_secrets` are the contents
    of the files that the spec names; `dashboards` are those of the operator's files. No file of a recording is opened.
    `typed_password` is the answer to -K: Ansible offers it to every host whose variables hold none, and reads those of
    hosts itself."""

    source: Path | None
    hosts: tuple[Host, ...]
    spec: Spec
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    file_secrets: tuple[str, ...] = field(default=(), repr=False, compare=False)
    typed_password: str | None = field(default=None, repr=False)
    dashboards: tuple[Dashboard, ...] = field(default=(), repr=False)
    recorded: bool = field(default=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Return the inventory as commands to type name it. A recording does not say where it is on this machine."""
        return "INVENTORY" if self.recorded else str(self.source or "")

    @cached_property
    def by_name(self) -> Mapping[str, Host]:
        return {host.name: host for host in self.hosts}

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return all known secrets, which are redacted in everything that leaves this machine."""
        passwords = [host.become_password for host in self.hosts if host.become_password]
        return tuple(dict.fromkeys((*passwords, *self.file_secrets)))

    @cached_property
    def control_planes(self) -> tuple[Host, ...]:
        return tuple(host for host in self.hosts if host.control_plane)

    @cached_property
    def cluster_hosts(self) -> tuple[Host, ...]:
        """Return the hosts that are nodes, or are to be."""
        return tuple(host for host in self.hosts if not host.standalone)

    @property
    def summary(self) -> str:
        """Return the first line of every command."""
        if self.source is None:
            spec = f", spec {LOCAL_SPEC}" if LOCAL_SPEC.is_file() else ""
            return f"this host ({self.hosts[0].name}), as a one-node cluster{spec}"
        return f"{self.host_count} of inventory {self.source}"

    @property
    def recorded_summary(self) -> str:
        """Return the summary of a recording, whose path of the inventory is of another machine."""
        return f"{self.host_count}, recorded with -i {self.source}" if self.source else self.summary

    @property
    def host_count(self) -> str:
        return "1 host" if len(self.hosts) == 1 else f"{len(self.hosts)} hosts"


@dataclass(frozen=True)
class RawInventory:
    """Hold the output of ansible-inventory: groups and merged host variables."""

    source: Path | None
    groups: Mapping[str, tuple[str, ...]]
    variables: Mapping[str, Mapping[str, Any]]


def read_local() -> RawInventory:
    """Read the local host. A spec that differs from the default stands in /etc/gpustack-cluster/gpustack.yml, in the
    same form as in group_vars. Raise ConfigError when that file is not YAML, or stands where earlier releases read
    it."""
    name = socket.gethostname()
    variables: dict[str, Any] = {"ansible_connection": "local"}
    if LOCAL_SPEC.is_file():
        variables |= read_mapping(LOCAL_SPEC)
    elif EARLIER_SPEC.is_file():
        raise ConfigError(
            "config-earlier-directory",
            f"{EARLIER_SPEC} is no longer read; the spec of this host is {LOCAL_SPEC}.",
            "Another product named gpustack has that directory too. Without the spec, defaults would be installed.",
            join_hints(
                Command("mkdir", "-p", str(LOCAL_SPEC.parent)),
                Command("mv", str(EARLIER_SPEC), f"{LOCAL_SPEC.parent}/"),
                separator=" && ",
                note="and the directory values",
            ),
        )
    return RawInventory(None, {CONTROL_PLANE: (name,), NODE: (name,)}, {name: variables})


def read_mapping(path: Path) -> dict[str, Any]:
    text, wrong = read_yaml_text(path)
    refuse([wrong] if wrong else [])
    document: Any = None
    try:
        document = parse_yaml(text, LOCAL_RULES)
    except DocumentError as error:
        refuse([describe_error(path, error)])
    if not isinstance(document, dict | None):
        rule = "a mapping that begins with `gpustack:`, or an empty file"
        refuse([Complaint(f"{path}:1", "", format_input(document), rule, "config-not-yaml")])
    return document or {}


def read_inventory(source: Path | None, listing: Listing | None = None) -> RawInventory:
    """Read an inventory by ansible-inventory, so that the same settings count as for Ansible. Raise ConfigError with
    its words."""
    if source is None:
        return read_local()
    groups_document = finish_listing(listing or start_listing(source))
    variables: dict[str, Mapping[str, Any]] = strip_unsafe(groups_document.pop("_meta", {}).get("hostvars", {}))
    groups = {name: tuple(list_members(name, groups_document)) for name in groups_document}
    for host in groups.get("all", ()):
        variables.setdefault(host, {})
    return RawInventory(source, groups, variables)


def strip_unsafe(value: Any) -> Any:
    """Strip `!unsafe`, which marks a literal text. gpustack takes every text literally."""
    if isinstance(value, dict):
        if set(value) == {"__ansible_unsafe"}:
            return value["__ansible_unsafe"]
        return {key: strip_unsafe(inner) for key, inner in value.items()}
    return [strip_unsafe(inner) for inner in value] if isinstance(value, list) else value


def list_members(group: str, groups: Mapping[str, Any]) -> list[str]:
    """List the hosts of a group and of its children, each once, in the order of the inventory."""
    entry = groups.get(group, {})
    hosts = dict.fromkeys(entry.get("hosts", ()))
    for child in entry.get("children", ()):
        hosts |= dict.fromkeys(list_members(child, groups))
    return list(hosts)


def load_inventory(
    option: Path | None, *, become_password: str | None = None, listing: Listing | None = None
) -> Inventory:
    """Load and judge the inventory in force. `listing` is its reading, where that has begun. Raise ConfigError with all
    mistakes at once."""
    inventory = read_inventory(listing.source if listing else select_inventory(option), listing)
    hosts, spec, complaints = judge_inventory(
        inventory.source, inventory.groups, inventory.variables, read_ansible_cfg(), become_password, LOCAL_SPEC
    )
    values, values_complaints = read_release_values(inventory.source, spec)
    dashboards, dashboard_complaints = read_dashboards(inventory.source, spec)
    located_complaints = [
        replace(complaint, file=locate_in_file(complaint.file, complaint.key))
        for complaint in (*values_complaints, *dashboard_complaints)
    ]
    refuse([*complaints, *located_complaints])
    if inventory.source is None:
        # The variables of this host stand in no inventory that Ansible reads.
        become_password = hosts[0].become_password
    return Inventory(inventory.source, hosts, spec, values, read_file_secrets(spec), become_password, dashboards)


def read_file_secrets(spec: Spec) -> tuple[str, ...]:
    """Read the secrets of the proxy, the mirror and the receivers of alerts. Raise ConfigError when a file cannot be
    used."""
    sections = [section for section in (spec.proxy, spec.source) if isinstance(section, Proxy | Mirror)]
    files = [section.password_file for section in sections if section.password_file]
    return tuple(filter(None, (*map(read_secret, files), *read_secrets(spec.alerts.receivers).values())))


def read_release_values(source: Path | None, spec: Spec) -> tuple[dict[str, dict[str, Any]], list[Complaint]]:
    """Read the operator's values by Helm release, and return them with the complaints about them."""
    charts = map_release_charts(spec)
    values_by_release, complaints = {}, find_unknown_files(source, charts)
    for release, chart in charts.items():
        values, wrong = read_operator_values(source, release, chart)
        complaints += wrong
        if release == spec.monitoring.release:
            file = str(locate_values_file(source, release))
            complaints += find_lost_entries(file, values, spec.alerts.receivers)
        if values:
            values_by_release[release] = values
    return values_by_release, complaints


def map_release_charts(spec: Spec) -> dict[str, str]:
    """Map the Helm releases of a spec to their charts, each as name and version, such as keda-2.20.2."""
    charts = read_version_set(spec.versions).charts
    releases = {
        spec.monitoring.release: "kube-prometheus-stack",
        spec.gpu.release: "gpu-operator",
        spec.autoscaling.release: "keda",
    }
    return {release: f"{chart}-{charts[chart].version}" for release, chart in releases.items()}
