"""Labs of other shapes, by name: how they are brought up, and what their inventories say beside."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpustack.lab import Lab

ONE_HOST = "one-node"


@dataclass(frozen=True)
class Shape:
    """`up`: words of `gpustack lab up`. `spec`: of the cluster, beside what a lab says. `before`: a script of sh for
    each host, before it is installed."""

    name: str
    does: str
    up: tuple[str, ...]
    spec: Mapping[str, Any] = field(default_factory=dict)
    before: str = ""


@cache
def shapes() -> Mapping[str, Shape]:
    read = yaml.safe_load(Path(__file__).with_name("shapes.yaml").read_text())
    return {name: Shape(name, shape["does"], tuple(shape["up"].split()), shape.get("spec", {}), shape.get("before", ""))
            for name, shape in read.items()}  # fmt: skip


def prepare(made: Lab, shape: Shape) -> None:
    """Raises RuntimeError for a script that fails."""
    path = made.inventory / "group_vars" / "all" / "gpustack.yml"
    inventory = yaml.safe_load(path.read_text())
    for key, value in shape.spec.items():
        inventory["gpustack"][key] = {**inventory["gpustack"].get(key, {}), **value}
    path.write_text(yaml.safe_dump(inventory, sort_keys=False))
    for host in made.hosts if shape.before else ():
        done = made.exec(host.name, ["sudo", "sh", "-es"], text=shape.before)
        if done.returncode:
            raise RuntimeError(f"{shape.name}: {host.name}: {done.stderr or done.stdout}")
