"""Labs of other shapes, by name: the options that bring them up, and additions to their inventories."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpustack_lab.lab import Lab

ONE_HOST = "one-node"


@dataclass(frozen=True)
class Shape:
    """Describe a shape. `up_options` are words of `gpustack lab up`. `spec` is added to that of the lab. `before` is a
    script of sh for each host, before it is installed."""

    name: str
    does: str
    up_options: tuple[str, ...]
    spec: Mapping[str, Any] = field(default_factory=dict)
    before: str = ""


@cache
def load_shapes() -> Mapping[str, Shape]:
    raw_shapes = yaml.safe_load(Path(__file__).with_name("shapes.yaml").read_text())
    return {name: Shape(name, shape["does"], tuple(shape["up"].split()), shape.get("spec", {}), shape.get("before", ""))
            for name, shape in raw_shapes.items()}  # fmt: skip


def prepare_hosts(test_lab: Lab, shape: Shape) -> None:
    """Prepare the hosts of a lab. Raise RuntimeError for a script that fails."""
    path = test_lab.inventory / "group_vars" / "all" / "gpustack.yml"
    inventory = yaml.safe_load(path.read_text())
    for key, value in shape.spec.items():
        inventory["gpustack"][key] = {**inventory["gpustack"].get(key, {}), **value}
    path.write_text(yaml.safe_dump(inventory, sort_keys=False))
    for host in test_lab.hosts if shape.before else ():
        process = test_lab.exec(host.name, ["sudo", "sh", "-es"], text=shape.before)
        if process.returncode:
            raise RuntimeError(f"{shape.name}: {host.name}: {process.stderr or process.stdout}")
