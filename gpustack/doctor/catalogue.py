"""Reads the catalogue, gpustack/doctor/catalogue/<layer>.yaml, into typed entries. What joins them is graph.py."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpustack.doctor.entry import ARROW, Edge, Fault, Group, Layer, State
from gpustack.files.yaml_text import parse_shipped

FOLDER = Path(__file__).parent / "catalogue"
KEYS = {"faults", "states", "graph", "graph_conditions", "graph_pairs", "correlated"}
# From host to monitoring: the order in which a cluster comes to be, and in which findings are reported.
LAYERS = (
    "host", "containerd", "kubeadm", "etcd", "scheduling", "kube-proxy", "network", "dns", "registry", "cni",
    "gpu-host", "gpu-operator", "monitoring", "helm", "autoscaling",
)  # fmt: skip


@cache
def layers() -> tuple[Layer, ...]:
    """All of the catalogue that ships. Raises ValueError for an entry of another form."""
    texts = {name: (FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in LAYERS}
    return tuple(layer(name, parse_shipped(text)) for name, text in texts.items())


def layer(name: str, content: Mapping[str, Any]) -> Layer:
    """Of a file's content. Raises ValueError (pydantic's too) for keys and entries that are not known."""
    from pydantic import TypeAdapter

    if odd := set(content) - KEYS:
        raise ValueError(f"{name}: unknown keys {sorted(odd)}")
    faults = TypeAdapter(tuple[Fault, ...]).validate_python(content.get("faults", ()), extra="forbid")
    named = [{"id": id, "layer": name, **entry} for id, entry in content.get("states", {}).items()]
    states = TypeAdapter(tuple[State, ...]).validate_python(named, extra="forbid")
    groups = TypeAdapter(tuple[Group, ...]).validate_python(content.get("correlated", ()), extra="forbid")
    if strange := [fault.id for fault in faults if fault.layer != name]:
        raise ValueError(f"{name}: of another layer: {strange}")
    conditions, pairs = content.get("graph_conditions", {}), content.get("graph_pairs", {})
    found = tuple(edges(content.get("graph", ()), conditions, pairs))
    conditional = {edge.id for edge in found if edge.condition}
    odd = (set(conditions) - conditional) | (set(pairs) - {edge.id for edge in found})
    return Layer(name, faults, states, found, groups, tuple(sorted(odd)))


def edges(lines: Any, conditions: Mapping[str, str], pairs: Mapping[str, str]) -> Iterator[Edge]:
    """`cause -> effect, effect?`: a question mark for an edge that has a condition. Raises ValueError for one without
    it."""
    for line in lines:
        cause, _, effects = line.partition(ARROW)
        for word in effects.split(","):
            effect = word.strip()
            id = f"{cause}{ARROW}{effect.rstrip('?')}"
            if effect.endswith("?") and id not in conditions:
                raise ValueError(f"{id}: no condition says when it holds")
            condition = conditions[id] if effect.endswith("?") else ""
            yield Edge(cause, effect.rstrip("?"), condition, pairs.get(id, ""))
