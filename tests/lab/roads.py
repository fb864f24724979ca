"""Roads to what hosts fetch, as tests lay them: an internet of one's own with faults in it, and changed inventories."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from gpustack.events import ignore_event
from gpustack_lab import lab
from gpustack_lab.lab import background, official_names
from gpustack_lab.lab.internet import Internet, Twist
from tests.lab.http_proxy import run_server


@contextmanager
def run_internet(
    running_lab: lab.Lab, twist: Twist | None = None, address: str = "", port: int = 443
) -> Iterator[Internet]:
    """Run an internet in place of the lab's own, which is back afterwards. With another address hosts cannot find it by
    themselves."""
    record = running_lab.record
    assert record.source
    background.end(record, official_names.PART)
    upstream = urlsplit(record.source.url).netloc
    server_address = address or record.gateway
    server = Internet(server_address, upstream, official_names.locate_certificates(record), twist, port=port)
    try:
        with run_server(server):
            yield server
    finally:
        official_names.start(record, record.source, ignore_event)


def copy_inventory(running_lab: lab.Lab, folder: Path, hosts: list[str], **spec: Any) -> Path:
    """Copy the lab's inventory with some of its hosts, the first one as control plane, and changes to the spec."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(running_lab.inventory, folder)
    change(folder / "hosts.yml", lambda values: select_hosts(values, hosts))
    change(folder / "group_vars" / "all" / "gpustack.yml", lambda values: values["gpustack"].update(spec))
    return folder


def set_spec(running_lab: lab.Lab, **spec: Any) -> None:
    """Set keys of the cluster spec."""
    change(
        running_lab.inventory / "group_vars" / "all" / "gpustack.yml", lambda values: values["gpustack"].update(spec)
    )


def merge_spec(running_lab: lab.Lab, **spec: dict[str, Any]) -> None:
    """Set keys below keys of the cluster spec; their neighbours stay."""
    merge_into(running_lab.inventory, spec)


def merge_into(inventory: Path, spec: Mapping[str, Any]) -> None:
    """Set keys below keys of the spec in any inventory."""

    def merge(values: dict[str, Any]) -> None:
        for key, value in spec.items():
            values["gpustack"][key] = values["gpustack"].get(key, {}) | value

    change(inventory / "group_vars" / "all" / "gpustack.yml", merge)


def select_hosts(values: dict[str, Any], hosts: list[str]) -> None:
    groups = values["all"]["children"]
    nodes: Mapping[str, Any] = groups["kube_node"]["hosts"]
    groups["kube_node"]["hosts"] = {name: nodes[name] for name in hosts}
    groups["kube_control_plane"]["hosts"] = {hosts[0]: None}


def change(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    document = yaml.safe_load(path.read_text())
    edit(document)
    path.write_text(yaml.safe_dump(document, sort_keys=False))
