"""The overlay: an inventory beside the operator's own that holds only the resolved spec. It holds no secret.

Ansible reads the operator's inventory first and this one after it. Our two variables are host variables, which win
over group_vars wherever the operator wrote the spec; every other variable of the operator's is kept. The file stays
in the run's folder, so that the printed command line works.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.endpoint import endpoint_of
from gpustack.config.flows import flows, node_addresses
from gpustack.config.host import CONTROL_PLANE, NODE
from gpustack.config.inventory import Inventory
from gpustack.config.resolved import driver_version_of, resolved
from gpustack.files.write import write_file
from gpustack.probes.host.system import HOSTNAME, IDENTITY, OS
from gpustack.steps.apt_repository import taken_sources
from gpustack.steps.containerd.version import cluster_patch
from gpustack.steps.firewall.guard import choose_guard_state
from gpustack.steps.gpu.count import gpu_count, gpus
from gpustack.steps.gpu.mode import mode
from gpustack.steps.gpu.mode import wanted as wanted_driver
from gpustack.steps.node_address import find_node_address, find_unconfirmed_hosts
from gpustack.steps.objects import OBJECTS
from gpustack.steps.releases import RELEASES
from gpustack.steps.standalone import exporters, monitoring
from gpustack.steps.standalone.files import part_of


def host_facts(snapshot: Snapshot, name: str) -> dict[str, Any] | None:
    """The variable `gpustack_host`, or None when the host is not known well enough to change it."""
    here = View(snapshot, name)
    try:
        system = here[OS]
        address = "" if here.host.standalone else find_node_address(here)
        named = here[HOSTNAME]
    except FactUnavailable:
        return None
    return {
        "name": named,
        "node_ip": address,
        "os": system.id,
        "codename": system.codename,
        "version": system.version,
        "arch": system.arch,
        "gpu_driver": gpu_driver(here),
        "gpu_driver_packages": gpu_driver_packages(here),
        "gpus": gpu_number(here),
        "standalone": here.host.standalone,
        "metrics_guard": metrics_guard(here),
        "sources": dict(taken_sources(here)),
    }


def machine_ids(snapshot: Snapshot) -> dict[str, dict[str, str]]:
    """The variable `gpustack_machine_id` of each host that has it: playbooks/tasks/same-machine.yml compares."""
    views = (View(snapshot, host.name) for host in snapshot.inventory.hosts)
    return {
        here.where: {"gpustack_machine_id": here[IDENTITY].machine_id} for here in views if here.available(IDENTITY)
    }


def gpu_driver(here: View) -> str:
    """Who brings the driver; empty without GPUs, and where that is unknown: then nothing is done about it."""
    with suppress(FactUnavailable):
        return mode(here) if gpus(here) else ""
    return ""


def gpu_driver_packages(here: View) -> str:
    """As apt-install.sh reads them; empty without GPUs, and where that is unknown."""
    with suppress(FactUnavailable):
        if gpus(here):
            return " ".join(f"{name}={driver_version_of(here.spec)}-*" for name in wanted_driver(here))
    return ""


def gpu_number(here: View) -> int:
    """GPUs for Kubernetes; 0 where that is unknown."""
    with suppress(FactUnavailable):
        return gpu_count(here)
    return 0


def metrics_guard(here: View) -> str:
    """`present` or `absent`; empty where that is unknown: then nothing is done about it."""
    with suppress(FactUnavailable):
        return choose_guard_state(here)
    return ""


def cluster_variables(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """`gpustack_releases`: of each Helm release its chart and values; `gpustack_objects`: what else the roles of steps
    apply. What depends on something that is unknown is left out; its role refuses then."""
    here = View(snapshot, CLUSTER)
    releases: dict[str, Any] = {}
    objects: dict[str, Any] = {}
    for step, brought in RELEASES.items():
        with suppress(FactUnavailable):
            releases[step] = brought.release(here).resolved(here) if brought.wanted(here) else {}
    for step, wanted in OBJECTS.items():
        with suppress(FactUnavailable):
            objects[step] = wanted(here)
    return {"gpustack_releases": releases, "gpustack_objects": objects}


def standalone_variables(here: View) -> dict[str, dict[str, Any]]:
    """`gpustack_standalone`: by step, what its role brings to a host without Kubernetes. What depends on something that
    is unknown is left out; its role refuses then."""
    found: dict[str, Any] = {}
    for module in (exporters, monitoring):
        with suppress(FactUnavailable):
            found[module.STEP.id] = part_of(module.wanted(here))
    return {"gpustack_standalone": found}


def overlay(snapshot: Snapshot, more: Mapping[str, Mapping[str, Any]] = MappingProxyType({})) -> dict[str, Any]:
    """A YAML inventory as a value. `more` are further variables by host, also of hosts that are not known well."""
    inventory = snapshot.inventory
    facts = {host.name: found for host in inventory.hosts if (found := host_facts(snapshot, host.name))}
    addresses = {name: found["node_ip"] for name, found in facts.items() if found["node_ip"]}
    spec = resolved(inventory, endpoint_of(inventory), addresses)
    spec["containerd"]["patch"] = cluster_patch(View(snapshot, CLUSTER))
    if not find_unconfirmed_hosts(snapshot):
        # Rules that lack the address of a node would shut it out; without rules the role refuses.
        spec["firewall"]["flows"] = flows(inventory.spec, node_addresses(inventory, addresses))
    hosts: dict[str, dict[str, Any]] = {
        name: {"gpustack": spec, "gpustack_host": found} for name, found in facts.items()
    }
    for name in hosts:
        if inventory.by_name[name].standalone:
            hosts[name] |= standalone_variables(View(snapshot, name))
    for host in inventory.control_planes:
        if host.name in hosts:
            hosts[host.name] |= cluster_variables(snapshot)
    for further in (machine_ids(snapshot), more):
        for name, variables in further.items():
            hosts[name] = {**hosts.get(name, {}), **variables}
    if inventory.source is None:
        # Without an inventory of the operator's, this is the whole one.
        here = {"ansible_connection": "local"}
        members = {name: here | variables for name, variables in hosts.items()}
        names: dict[str, dict[str, Any]] = {name: {} for name in members}
        return {"all": {"hosts": members, "children": {CONTROL_PLANE: {"hosts": names}, NODE: {"hosts": names}}}}
    return {"all": {"hosts": hosts}}


def write(snapshot: Snapshot, folder: Path, more: Mapping[str, Mapping[str, Any]] = MappingProxyType({})) -> Path:
    path = folder / "overlay.yml"
    write_file(path, dump_yaml(overlay(snapshot, more)))
    return path


TEXT = "tag:yaml.org,2002:str"
# libyaml and PyYAML break long lines at other places.
UNBROKEN = 2**31 - 1


class Literal(str):
    """A text that Ansible takes as it is."""

    __slots__ = ()


def dump_yaml(found: Any) -> str:
    """The overlay as YAML, every text in it `!unsafe`. Ansible would expand Jinja in variables of an inventory, here on
    the controller: a host whose name is a template would run commands of its own choice.

    It reads such a text as if it had no quotes: `off` would become false, `1.36` a number. What would not stay a text
    holds no template either, and is quoted instead."""
    import yaml

    # Dashboards and rules make 250 KB of it: libyaml writes them in 10 ms, PyYAML itself in 110.
    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        pass

    resolver: Any = yaml.resolver.Resolver()

    def represent(dumper: Any, text: Literal) -> Any:
        stays = resolver.resolve(yaml.ScalarNode, str(text), (True, False)) == TEXT
        return dumper.represent_scalar("!unsafe" if stays else TEXT, str(text), style="'")

    Dumper.add_representer(Literal, represent)
    return str(yaml.dump(mark_unsafe(found), Dumper=Dumper, sort_keys=False, width=UNBROKEN))


def mark_unsafe(value: Any) -> Any:
    """Names of variables and hosts stay what they are."""
    if isinstance(value, dict):
        return {key: mark_unsafe(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [mark_unsafe(inner) for inner in value]
    return Literal(value) if isinstance(value, str) else value


def sources(inventory: Inventory, written: Path) -> list[str]:
    """Inventory sources in the order in which Ansible merges them."""
    return [str(inventory.source.resolve()), str(written)] if inventory.source else [str(written)]
