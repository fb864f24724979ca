"""Objects of the platform that somebody changed by hand after the program that owns them, by the managers of their
fields: the next installation or upgrade writes them again."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.recent_changes import shorten_names
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.kubernetes.object_writes import OBJECT_WRITES, ObjectWrite
from gpustack.steps.platform_namespaces import list_platform_namespaces

KINDS = ("ConfigMap", "DaemonSet", "Deployment", "ClusterPolicy", "Prometheus")
"""Kinds of objects that configure programs. Nodes and namespaces are labelled by hand as a rule."""
WITHOUT_NAMESPACE = ("ClusterPolicy",)
PROBES = {kind: OBJECT_WRITES[kind] for kind in KINDS}
RECENT_TIME = timedelta(days=1)
MAX_FIELDS = 5


def observe_edits(view: View) -> Iterator[AbnormalState]:
    for kind, probes in PROBES.items():
        writes_by_name: dict[str, list[ObjectWrite]] = {}
        for write in (write for probe in probes if view.has_fact(probe) for write in view[probe]):
            writes_by_name.setdefault(write.name, []).append(write)
        for name, edit, owner in find_edits(writes_by_name):
            namespace = name.rpartition("/")[0]
            is_ours = kind in WITHOUT_NAMESPACE or namespace in list_platform_namespaces(view)
            if is_ours and view.started_at - edit.written_at < RECENT_TIME:
                yield build_state(kind, edit, owner)


def find_edits(
    writes_by_name: Mapping[str, Iterable[ObjectWrite]],
) -> Iterator[tuple[str, ObjectWrite, ObjectWrite]]:
    """Find the last write of a person to each object that a program has written before, and that program's last one."""
    for name, writes in writes_by_name.items():
        sorted_writes = sorted(writes, key=lambda write: write.written_at)
        owners = [write for write in sorted_writes if not write.by_hand]
        edits = [write for write in sorted_writes if write.by_hand and select_fields(write)]
        if owners and edits and edits[-1].written_at > owners[-1].written_at:
            yield name, edits[-1], owners[-1]


def select_fields(write: ObjectWrite) -> list[str]:
    """Select the fields that are more than labels and annotations, which `kubectl rollout restart` writes too."""
    return [path for path in write.fields if not path.startswith("metadata.") and ".metadata." not in path]


def build_state(kind: str, edit: ObjectWrite, owner: ObjectWrite) -> AbnormalState:
    message = f"{edit.manager} changed {shorten_names(select_fields(edit), MAX_FIELDS)} after {owner.manager}"
    namespace, _, name = edit.name.rpartition("/")
    place = ("-n", namespace) if namespace else ()
    command = Command("kubectl", *place, "get", kind.lower(), name, "-o", "yaml")
    subject = f"{kind.lower()} {edit.name}"
    return AbnormalState("object-edited", "note", (CLUSTER,), (subject,), message, command, edit.written_at)


OBSERVERS = (
    Observer(
        "object-edits", "Objects changed by hand", observe_edits,
        tuple(probe for probes in PROBES.values() for probe in probes),
    ),
)  # fmt: skip
