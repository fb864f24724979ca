"""Marks of temporary changes on nodes: annotations gpustack.io/temporary-KIND with a deadline and the former values.

A mark is written before the change and removed after its revert, so that a gpustack that was killed leaves a trace for
the next one.
"""

import shlex
from collections.abc import Collection, Iterable

from gpustack.ask.api import ADMIN
from gpustack.probes.gpu.temporary_changes import PREFIX, Mark
from gpustack.probes.proof import PROOF_NAMESPACE, RUN

Place = tuple[str, str]
"""A node, and the kind of the change there."""


def build_mark_commands(marks: Iterable[Mark], standing: Collection[Place]) -> str:
    """Build one command for all nodes of the same text. Only an annotation that is known to stand is overwritten: the
    API refuses one that another gpustack wrote meanwhile."""
    nodes = dict[tuple[str, bool], list[str]]()
    for mark in marks:
        is_standing = (mark.node, mark.kind) in standing
        nodes.setdefault((f"{PREFIX}{mark.kind}={mark.text}", is_standing), []).append(mark.node)
    return " && ".join(
        f"kubectl {ADMIN} annotate {'--overwrite ' if is_standing else ''}node"
        f" {shlex.join(node_names)} {shlex.quote(text)}"
        for (text, is_standing), node_names in nodes.items()
    )


def build_pod_removal(node: str) -> str:
    """Delete the pods of gpustack on a node that have ended, each at its own deadline; others may be at work there."""
    ended_pods = ",".join((f"spec.nodeName={node}", "status.phase!=Pending", "status.phase!=Running"))
    selectors = f"--selector {RUN} --field-selector {shlex.quote(ended_pods)}"
    return f"kubectl {ADMIN} --namespace {PROOF_NAMESPACE} delete pods {selectors} --timeout=20s"


def build_unmark_commands(places: Iterable[Place]) -> str:
    nodes = dict[str, list[str]]()
    for node, kind in places:
        nodes.setdefault(kind, []).append(node)
    return " && ".join(
        f"kubectl {ADMIN} annotate node {shlex.join(node_names)} {PREFIX}{kind}-" for kind, node_names in nodes.items()
    )
