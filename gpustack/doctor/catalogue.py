"""Reader of the catalogue, gpustack/doctor/catalogue/<layer>.yaml, which graph.py joins into one graph."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpustack.doctor.entry import ARROW, Edge, Fault, Group, Layer, State
from gpustack.files.yaml_text import parse_shipped

FOLDER = Path(__file__).parent / "catalogue"
KEYS = {"faults", "states", "graph", "graph_conditions", "graph_pairs", "correlated"}
# The order, from host to monitoring, is that of an installation, and that of findings in a report.
LAYERS = (
    "host", "containerd", "kubeadm", "etcd", "scheduling", "kube-proxy", "network", "dns", "registry", "cni",
    "gpu-host", "gpu-operator", "monitoring", "helm", "autoscaling",
)  # fmt: skip


@cache
def load_layers() -> tuple[Layer, ...]:
    """Load all layers of the catalogue. Raise ValueError for an entry of another form."""
    texts = {name: (FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in LAYERS}
    return tuple(build_layer(name, parse_shipped(text)) for name, text in texts.items())


def build_layer(name: str, content: Mapping[str, Any]) -> Layer:
    """Build a layer from the content of its file. Raise ValueError (pydantic's too) for unknown keys and entries."""
    from pydantic import TypeAdapter

    if odd := set(content) - KEYS:
        raise ValueError(f"{name}: unknown keys {sorted(odd)}")
    faults = TypeAdapter(tuple[Fault, ...]).validate_python(content.get("faults", ()), extra="forbid")
    state_entries = [{"id": id, "layer": name, **entry} for id, entry in content.get("states", {}).items()]
    states = TypeAdapter(tuple[State, ...]).validate_python(state_entries, extra="forbid")
    groups = TypeAdapter(tuple[Group, ...]).validate_python(content.get("correlated", ()), extra="forbid")
    if strange := [fault.id for fault in faults if fault.layer != name]:
        raise ValueError(f"{name}: of another layer: {strange}")
    conditions, pairs = content.get("graph_conditions", {}), content.get("graph_pairs", {})
    edges = tuple(parse_edges(content.get("graph", ()), conditions, pairs))
    conditional = {edge.id for edge in edges if edge.condition}
    odd = (set(conditions) - conditional) | (set(pairs) - {edge.id for edge in edges})
    return Layer(name, faults, states, edges, groups, tuple(sorted(odd)))


def parse_edges(lines: Any, conditions: Mapping[str, str], pairs: Mapping[str, str]) -> Iterator[Edge]:
    """Parse lines of the form `cause -> effect, effect?`. A question mark stands for an edge with a condition. Raise
    ValueError where `conditions` has no words for it."""
    for line in lines:
        cause, _, effects = line.partition(ARROW)
        for word in effects.split(","):
            effect = word.strip()
            id = f"{cause}{ARROW}{effect.rstrip('?')}"
            if effect.endswith("?") and id not in conditions:
                raise ValueError(f"{id}: no condition says when it holds")
            condition = conditions[id] if effect.endswith("?") else ""
            yield Edge(cause, effect.rstrip("?"), condition, pairs.get(id, ""))
