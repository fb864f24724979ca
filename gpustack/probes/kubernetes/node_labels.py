"""Labels and taints of nodes, with who set them.

The API server notes in managedFields who set each label: those that gpustack applied have its field manager and the
operation Apply. All taints of a node are one field there (listType=atomic in the API's types), which the node lifecycle
controller writes as well, so that the managers do not tell whose a taint is. Those that gpustack set are named in an
annotation, which counts as long as nobody else has written it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import UNREADABLE, Api, Probe
from gpustack.files.json_text import load_json
from gpustack.probes.kubernetes.applied_objects import Path, list_leaves
from gpustack.probes.kubernetes.node_records import NODE_MANAGER
from gpustack.probes.kubernetes.nodes import parse_each
from gpustack.probes.proof import join_paths, list_field_paths

TAINT_RECORD = "gpustack.io/taints"
"""The annotation with the taints that gpustack set, a JSON list of texts as `format_whole_taint` writes them."""


@dataclass(frozen=True)
class NodeLabels:
    """Describe a node: `taints` as KEY=VALUE:EFFECT. `own_labels` are the keys that gpustack applied, and
    `label_managers` name who else set a label. `own_taints` are those that gpustack recorded as its own."""

    name: str
    uid: str
    labels: Mapping[str, str]
    taints: tuple[str, ...]
    own_labels: frozenset[str]
    label_managers: Mapping[str, str]
    own_taints: tuple[str, ...]


def format_whole_taint(taint: Mapping[str, Any]) -> str:
    """Format a taint of the API as `key=value:effect`, without the equals sign where it has no value."""
    value = taint.get("value", "")
    return f"{taint['key']}{'=' if value else ''}{value}:{taint['effect']}"


def parse_node_labels(entry: Any) -> NodeLabels:
    metadata = entry["metadata"]
    own_labels, label_managers = set[str](), dict[str, str]()
    record_manager = ""
    for field_set in metadata.get("managedFields", ()):
        manager, is_applied = str(field_set["manager"]), field_set.get("operation") == "Apply"
        for path in list_leaves(field_set.get("fieldsV1", {})):
            if label := find_key(path, "labels"):
                if manager == NODE_MANAGER and is_applied:
                    own_labels.add(label)
                else:
                    label_managers[label] = manager
            elif find_key(path, "annotations") == TAINT_RECORD:
                record_manager = manager
    record = metadata.get("annotations", {}).get(TAINT_RECORD, "")
    return NodeLabels(
        metadata["name"],
        metadata["uid"],
        dict(metadata.get("labels", {})),
        tuple(format_whole_taint(taint) for taint in entry.get("spec", {}).get("taints", ())),
        frozenset(own_labels),
        label_managers,
        parse_taint_record(record) if record_manager == NODE_MANAGER else (),
    )


def find_key(path: Path, kind: str) -> str:
    """Find the key of a label or an annotation in the path of a managed field; empty where the path has none."""
    return path[2] if len(path) == 3 and path[:2] == ("metadata", kind) else ""


def parse_taint_record(text: str) -> tuple[str, ...]:
    """Parse the record of taints; empty for a text that is none."""
    try:
        taints = load_json(text)
    except UNREADABLE:
        return ()
    is_list = isinstance(taints, list) and all(isinstance(taint, str) for taint in taints)
    return tuple(taints) if is_list else ()


NODE_LABELS = Probe(
    "node.labels",
    Api(
        "/api/v1/nodes",
        join_paths(
            list_field_paths("metadata", "name", "uid", "labels"),
            list_field_paths("metadata.annotations", r"gpustack\.io/taints"),
            list_field_paths("metadata.managedFields", "manager", "operation"),
            list_field_paths("metadata.managedFields.fieldsV1.f:metadata", "f:labels"),
            list_field_paths("metadata.managedFields.fieldsV1.f:metadata.f:annotations", r"f:gpustack\.io/taints"),
            ("spec.taints",),
        ),
    ),
    parse_each(parse_node_labels),
)
