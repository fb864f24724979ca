"""Which hosts: the operator's own Ansible inventory, read once, judged whole, as frozen values.

`-i PATH`, else GPUSTACK_INVENTORY, else the inventory of the ansible.cfg in force; without any, the local host as a
one-node cluster, whose spec may stand in /etc/gpustack-cluster/gpustack.yml.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from gpustack.command import Command, join_hints
from gpustack.config.ansible.cfg import ansible_cfg
from gpustack.config.ansible.inventory_listing import Listing, begin, chosen, finished
from gpustack.config.complaint import Complaint, refuse
from gpustack.config.dashboards.files import read_dashboards
from gpustack.config.dashboards.json_model import Dashboard
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.config.secrets.secret_file import secret
from gpustack.config.sections.receiver import secrets_of
from gpustack.config.spec import Mirror, Proxy, Spec
from gpustack.config.validate import judge
from gpustack.config.values import find_unknown_files, theirs
from gpustack.config.versions import version_set
from gpustack.config.yaml_files import describe_error, read_yaml_text
from gpustack.errors import ConfigError
from gpustack.files.document import DocumentError
from gpustack.files.yaml_text import Rules, parse_yaml

LOCAL_RULES = Rules(aliases=True, unique=True)
LOCAL_SPEC = Path("/etc/gpustack-cluster/gpustack.yml")
EARLIER_SPEC = Path("/etc/gpustack/gpustack.yml")


@dataclass(frozen=True)
class Inventory:
    """`source` is None for the local host. Hosts are in the order of the inventory, control planes first, those
    without Kubernetes last. `values` are the operator's, by Helm release, `file_secrets` what stands in the files that
    the spec names, `dashboards` are those of the operator's files; of a recording no file is opened. `typed_password`
    is what -K asked for: Ansible offers it to every host whose variables hold none, and reads those of hosts itself."""

    source: Path | None
    hosts: tuple[Host, ...]
    spec: Spec
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    file_secrets: tuple[str, ...] = field(default=(), repr=False, compare=False)
    typed_password: str | None = field(default=None, repr=False)
    dashboards: tuple[Dashboard, ...] = field(default=(), repr=False)

    @cached_property
    def by_name(self) -> Mapping[str, Host]:
        return {host.name: host for host in self.hosts}

    @property
    def secrets(self) -> tuple[str, ...]:
        """All that are known, to be taken out of whatever leaves."""
        passwords = [host.become_password for host in self.hosts if host.become_password]
        return tuple(dict.fromkeys((*passwords, *self.file_secrets)))

    @cached_property
    def control_planes(self) -> tuple[Host, ...]:
        return tuple(host for host in self.hosts if host.control_plane)

    @cached_property
    def in_cluster(self) -> tuple[Host, ...]:
        """Those that are nodes, or are to be."""
        return tuple(host for host in self.hosts if not host.standalone)

    @property
    def summary(self) -> str:
        """The first line of every command."""
        if self.source is None:
            spec = f", spec {LOCAL_SPEC}" if LOCAL_SPEC.is_file() else ""
            return f"this host ({self.hosts[0].name}), as a one-node cluster{spec}"
        count = "1 host" if len(self.hosts) == 1 else f"{len(self.hosts)} hosts"
        return f"{count} of inventory {self.source}"


@dataclass(frozen=True)
class Raw:
    """What ansible-inventory printed: groups and merged host variables."""

    source: Path | None
    groups: Mapping[str, tuple[str, ...]]
    variables: Mapping[str, Mapping[str, Any]]


def local() -> Raw:
    """The local host. Its spec, if it wants another than the default, stands in /etc/gpustack-cluster/gpustack.yml, in
    the same form as in group_vars. Raises ConfigError when that file is not YAML, or stands where earlier releases
    read it."""
    name = socket.gethostname()
    variables: dict[str, Any] = {"ansible_connection": "local", "ansible_host": own_address()}
    if LOCAL_SPEC.is_file():
        variables |= mapping(LOCAL_SPEC)
    elif EARLIER_SPEC.is_file():
        raise ConfigError(
            "config-earlier-folder",
            f"{EARLIER_SPEC} is no longer read; the spec of this host is {LOCAL_SPEC}.",
            "Another product of the name gpustack has that folder too. Without the spec, defaults would be installed.",
            join_hints(
                Command("mkdir", "-p", str(LOCAL_SPEC.parent)),
                Command("mv", str(EARLIER_SPEC), f"{LOCAL_SPEC.parent}/"),
                by=" && ",
                note="and the folder values",
            ),
        )
    return Raw(None, {CONTROL_PLANE: (name,), NODE: (name,)}, {name: variables})


def mapping(path: Path) -> dict[str, Any]:
    text, wrong = read_yaml_text(path)
    refuse([wrong] if wrong else [])
    found: Any = {}
    try:
        found = parse_yaml(text, LOCAL_RULES) or {}
    except DocumentError as error:
        refuse([describe_error(path, error)])
    if not isinstance(found, dict):
        raise ConfigError(
            "config-not-yaml", f"{path} is not a mapping.", "It starts with `gpustack:`.", Command("cat", str(path))
        )
    return found


def own_address() -> str:
    """The address of the default route. Connecting a datagram socket sends nothing; 192.0.2.1 is for documentation
    (RFC 5737)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def read(source: Path | None, started: Listing | None = None) -> Raw:
    """Asks ansible-inventory, so that what counts for Ansible counts for us. Raises ConfigError with its words."""
    if source is None:
        return local()
    listed = finished(started or begin(source))
    variables: dict[str, Mapping[str, Any]] = plainly(listed.pop("_meta", {}).get("hostvars", {}))
    groups = {name: tuple(members(name, listed)) for name in listed}
    for host in groups.get("all", ()):
        variables.setdefault(host, {})
    return Raw(source, groups, variables)


def plainly(value: Any) -> Any:
    """`!unsafe` says that a text is meant literally, as we take every text."""
    if isinstance(value, dict):
        return (
            value["__ansible_unsafe"]
            if set(value) == {"__ansible_unsafe"}
            else {key: plainly(inner) for key, inner in value.items()}
        )
    return [plainly(inner) for inner in value] if isinstance(value, list) else value


def members(group: str, listed: Mapping[str, Any]) -> list[str]:
    """Hosts of a group and of its children, each once, in the order of the inventory."""
    entry = listed.get(group, {})
    found = dict.fromkeys(entry.get("hosts", ()))
    for child in entry.get("children", ()):
        found |= dict.fromkeys(members(child, listed))
    return list(found)


def load(option: Path | None, *, become_password: str | None = None, started: Listing | None = None) -> Inventory:
    """The inventory in force, read and judged; `started` is its reading, where that has begun. Raises ConfigError with
    all mistakes at once."""
    raw = read(started.source if started else chosen(option), started)
    hosts, spec, complaints = judge(raw.source, raw.groups, raw.variables, ansible_cfg(), become_password)
    values, of_values = values_of(raw.source, spec)
    dashboards, of_dashboards = read_dashboards(raw.source, spec)
    refuse([*complaints, *of_values, *of_dashboards])
    if raw.source is None:
        # The variables of this host stand in no inventory that Ansible reads.
        become_password = hosts[0].become_password
    return Inventory(raw.source, hosts, spec, values, file_secrets(spec), become_password, dashboards)


def file_secrets(spec: Spec) -> tuple[str, ...]:
    """Of the proxy, the mirror and the receivers of alerts. Raises ConfigError when a file cannot be used."""
    sections = [section for section in (spec.proxy, spec.source) if isinstance(section, Proxy | Mirror)]
    files = [section.password_file for section in sections if section.password_file]
    return tuple(filter(None, (*map(secret, files), *secrets_of(spec.alerts.receivers).values())))


def values_of(source: Path | None, spec: Spec) -> tuple[dict[str, dict[str, Any]], list[Complaint]]:
    """The operator's values by Helm release, and what is wrong with them."""
    charts = version_set(spec.versions).charts
    releases = {
        spec.monitoring.release: "kube-prometheus-stack",
        spec.gpu.release: "gpu-operator",
        spec.autoscaling.release: "keda",
    }
    found, complaints = {}, find_unknown_files(source, releases)
    for release, chart in releases.items():
        values, wrong = theirs(source, release, f"{chart}-{charts[chart].version}")
        complaints += wrong
        if values:
            found[release] = values
    return found, complaints
