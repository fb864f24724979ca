"""Reader of the catalogue, gpustack/doctor/catalogue/<layer>.yaml, which graph.py joins into one graph."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from gpustack.doctor.entry import ARROW, Edge, Fault, Group, Layer, State
from gpustack.files.yaml_text import parse_shipped

FOLDER = Path(__file__).parent / "catalogue"
Entry = TypeVar("Entry", Fault, State)
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

    if unknown_keys := set(content) - KEYS:
        raise ValueError(f"{name}: unknown keys {sorted(unknown_keys)}")
    faults = validate_entries(Fault, name, content.get("faults", ()))
    states = validate_entries(State, name, [{"id": id, **entry} for id, entry in content.get("states", {}).items()])
    groups = TypeAdapter(tuple[Group, ...]).validate_python(content.get("correlated", ()), extra="forbid")
    conditions, pairs = content.get("graph_conditions", {}), content.get("graph_pairs", {})
    edges = tuple(parse_edges(content.get("graph", ()), conditions, pairs))
    conditional_ids = {edge.id for edge in edges if edge.condition}
    unknown_ids = (set(conditions) - conditional_ids) | (set(pairs) - {edge.id for edge in edges})
    return Layer(name, faults, states, edges, groups, tuple(sorted(unknown_ids)))


def validate_entries(kind: type[Entry], layer: str, entries: Iterable[Mapping[str, Any]]) -> tuple[Entry, ...]:
    """Validate the entries of a file, whose name is their layer. Raise ValueError with the id of an entry of another
    form."""
    from pydantic import TypeAdapter, ValidationError

    adapter: TypeAdapter[Entry] = TypeAdapter(kind)
    result = []
    for entry in entries:
        if "layer" in entry:
            raise ValueError(f"{layer}: {entry.get('id')}: the name of the file is the layer")
        try:
            result.append(adapter.validate_python({**entry, "layer": layer}, extra="forbid"))
        except ValidationError as error:
            raise ValueError(f"{layer}: {entry.get('id')}: {error}") from error
    return tuple(result)


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
