"""The overlay: an inventory beside the operator's own that holds only the resolved spec. It holds no secret.

Ansible reads the operator's inventory first and the overlay after it. The variables in it are host variables, which win
over group_vars wherever the operator wrote the spec; every other variable of the operator's is kept. The file stays in
the run's folder, so that the printed command line works.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.endpoint import resolve_endpoint
from gpustack.config.host import CONTROL_PLANE, NODE
from gpustack.config.inventory import Inventory
from gpustack.config.resolution import resolve_driver_version
from gpustack.files.write import write_file
from gpustack.probes.host.system import HOSTNAME, IDENTITY, OS
from gpustack.rollout.resolved_spec import resolve_spec
from gpustack.steps.apt_repository import find_usable_sources
from gpustack.steps.containerd.version import choose_version
from gpustack.steps.firewall.flows import build_controller_entries, build_flow_entries, list_node_addresses
from gpustack.steps.firewall.guard import choose_guard_state
from gpustack.steps.firewall.node_ports import choose_node_ports_state
from gpustack.steps.firewall.packets import list_controllers, uses_node_ports
from gpustack.steps.gpu.count import count_gpus, list_gpus
from gpustack.steps.gpu.mode import choose_driver_mode, list_expected_packages
from gpustack.steps.node_address import find_node_address, find_unconfirmed_hosts
from gpustack.steps.objects import OBJECTS
from gpustack.steps.prereqs.way_out import choose_document
from gpustack.steps.releases import RELEASES
from gpustack.steps.standalone import care, exporters, monitoring
from gpustack.steps.standalone.files import build_variables


def build_host_facts(snapshot: Snapshot, name: str) -> dict[str, Any] | None:
    """Build the variable `gpustack_host`. Return None when the host is not known well enough to change it."""
    view = View(snapshot, name)
    try:
        system = view[OS]
        address = "" if view.host.standalone else find_node_address(view)
        hostname = view[HOSTNAME]
    except FactUnavailable:
        return None
    return {
        "name": hostname,
        "node_ip": address,
        "os": system.id,
        "codename": system.codename,
        "version": system.version,
        "arch": system.arch,
        "gpu_driver": find_gpu_driver(view),
        "gpu_driver_packages": format_driver_packages(view),
        "gpus": count_gpus_of_host(view),
        "standalone": view.host.standalone,
        "firewall_tables": {
            "metrics": find_table_state(choose_guard_state, view),
            "node-ports": find_table_state(choose_node_ports_state, view),
        },
        "controller_flows": build_controller_flows(view),
        "sources": dict(find_usable_sources(view)),
        "way_out": choose_document(view),
    }


def build_machine_ids(snapshot: Snapshot) -> dict[str, dict[str, str]]:
    """Build the variable `gpustack_machine_id` of each host that has one, which playbooks/tasks/same-machine.yml
    compares."""
    views = (View(snapshot, host.name) for host in snapshot.inventory.hosts)
    return {
        view.location: {"gpustack_machine_id": view[IDENTITY].machine_id} for view in views if view.has_fact(IDENTITY)
    }


def find_gpu_driver(view: View) -> str:
    """Return the mode of the driver; empty without GPUs, and where it is unknown: then nothing is done about the
    driver."""
    with suppress(FactUnavailable):
        return choose_driver_mode(view) if list_gpus(view) else ""
    return ""


def format_driver_packages(view: View) -> str:
    """Format the packages of the driver as apt-install.sh reads them; empty without GPUs, and where they are
    unknown."""
    with suppress(FactUnavailable):
        if list_gpus(view):
            return " ".join(f"{name}={resolve_driver_version(view.spec)}-*" for name in list_expected_packages(view))
    return ""


def count_gpus_of_host(view: View) -> int:
    """Count the GPUs for Kubernetes; 0 where that is unknown."""
    with suppress(FactUnavailable):
        return count_gpus(view)
    return 0


def find_table_state(choose_state: Callable[[View], str], view: View) -> str:
    """Return `present` or `absent`; empty where that is unknown: then nothing is done about the table."""
    with suppress(FactUnavailable):
        return choose_state(view)
    return ""


def build_controller_flows(view: View) -> list[dict[str, Any]]:
    """Build the flows from addresses of this machine; none where the rules of the host are unknown: then the step is,
    too."""
    with suppress(FactUnavailable):
        return build_controller_entries(view.spec, list_controllers(view))
    return []


def build_cluster_variables(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """Build `gpustack_releases`, the chart and values of each Helm release, and `gpustack_objects`, the other objects
    that the roles of steps apply, both by step. A value that depends on an unknown fact is left out, and its role
    refuses."""
    view = View(snapshot, CLUSTER)
    releases: dict[str, Any] = {}
    objects: dict[str, Any] = {}
    for step, step_release in RELEASES.items():
        with suppress(FactUnavailable):
            releases[step] = step_release.builder(view).build_variables(view) if step_release.condition(view) else {}
    for step, build_objects in OBJECTS.items():
        with suppress(FactUnavailable):
            objects[step] = build_objects(view)
    return {"gpustack_releases": releases, "gpustack_objects": objects}


def build_standalone_variables(view: View) -> dict[str, dict[str, Any]]:
    """Build `gpustack_standalone`, the installation on a host without Kubernetes by step. A value that depends on an
    unknown fact is left out, and its role refuses."""
    parts: dict[str, Any] = {}
    for module in (exporters, monitoring):
        with suppress(FactUnavailable):
            parts[module.STEP.id] = build_variables(module.build_installation(view))
    with suppress(FactUnavailable):
        parts[care.STEP.id] = care.build_part(view)
    return {"gpustack_standalone": parts}


def build_overlay(
    snapshot: Snapshot, host_variables: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
) -> dict[str, Any]:
    """Build a YAML inventory as a value. `host_variables` are further variables by host, also of hosts that are not
    known well."""
    inventory = snapshot.inventory
    facts = {
        host.name: facts_of_host for host in inventory.hosts if (facts_of_host := build_host_facts(snapshot, host.name))
    }
    addresses = {name: fact["node_ip"] for name, fact in facts.items() if fact["node_ip"]}
    spec = resolve_spec(inventory, resolve_endpoint(inventory), addresses)
    spec["containerd"]["patch"] = choose_version(View(snapshot, CLUSTER))
    if not find_unconfirmed_hosts(snapshot):
        # Rules that lack the address of a node would shut it out; without rules the role refuses.
        nodes = list_node_addresses(inventory, addresses)
        with suppress(FactUnavailable):
            node_ports = uses_node_ports(View(snapshot, CLUSTER))
            spec["firewall"]["flows"] = build_flow_entries(inventory.spec, nodes, node_ports=node_ports)
    hosts: dict[str, dict[str, Any]] = {
        name: {"gpustack": spec, "gpustack_host": host_facts} for name, host_facts in facts.items()
    }
    for name in hosts:
        if inventory.by_name[name].standalone:
            hosts[name] |= build_standalone_variables(View(snapshot, name))
    for host in inventory.control_planes:
        if host.name in hosts:
            hosts[host.name] |= build_cluster_variables(snapshot)
    for further in (build_machine_ids(snapshot), host_variables):
        for name, variables in further.items():
            hosts[name] = {**hosts.get(name, {}), **variables}
    if inventory.source is None:
        # Without an inventory of the operator's, this is the whole one.
        connection = {"ansible_connection": "local"}
        members = {name: connection | variables for name, variables in hosts.items()}
        names: dict[str, dict[str, Any]] = {name: {} for name in members}
        return {"all": {"hosts": members, "children": {CONTROL_PLANE: {"hosts": names}, NODE: {"hosts": names}}}}
    return {"all": {"hosts": hosts}}


def write_overlay(
    snapshot: Snapshot, folder: Path, host_variables: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
) -> Path:
    path = folder / "overlay.yml"
    write_file(path, dump_yaml(build_overlay(snapshot, host_variables)))
    return path


TEXT = "tag:yaml.org,2002:str"
# Lines are not broken: libyaml and PyYAML would break long ones at different places.
LINE_WIDTH = 2**31 - 1


class Literal(str):
    """Mark a text that Ansible takes as it is."""

    __slots__ = ()


def dump_yaml(document: Any) -> str:
    """Render the overlay as YAML, every text in it `!unsafe`. Ansible would expand Jinja in variables of an inventory
    on the controller: a host whose name is a template would run commands of its own choice.

    Ansible reads such a text as if it had no quotes: `off` would become false, `1.36` a number. A text that would not
    stay a text holds no template either, and is quoted instead.
    """
    import yaml

    # Dashboards and rules make 250 KB of it: libyaml writes them in 10 ms, PyYAML itself in 110.
    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        pass

    resolver: Any = yaml.resolver.Resolver()

    def represent(dumper: Any, text: Literal) -> Any:
        stays = resolver.resolve(yaml.ScalarNode, str(text), (True, False)) == TEXT
        return dumper.represent_scalar("!unsafe" if stays else TEXT, str(text), style="'")

    Dumper.add_representer(Literal, represent)
    return str(yaml.dump(mark_unsafe(document), Dumper=Dumper, sort_keys=False, width=LINE_WIDTH))


def mark_unsafe(document: Any) -> Any:
    """Mark every text of a value, but no key: names of variables and hosts stay what they are."""
    if isinstance(document, dict):
        return {key: mark_unsafe(inner) for key, inner in document.items()}
    if isinstance(document, (list, tuple)):
        return [mark_unsafe(inner) for inner in document]
    return Literal(document) if isinstance(document, str) else document


def list_sources(inventory: Inventory, overlay_path: Path) -> list[str]:
    """List inventory sources in the order in which Ansible merges them."""
    return [str(inventory.source.resolve()), str(overlay_path)] if inventory.source else [str(overlay_path)]
