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
        known = (mark.node, mark.kind) in standing
        nodes.setdefault((f"{PREFIX}{mark.kind}={mark.text}", known), []).append(mark.node)
    return " && ".join(
        f"kubectl {ADMIN} annotate {'--overwrite ' if known else ''}node {shlex.join(some)} {shlex.quote(text)}"
        for (text, known), some in nodes.items()
    )


def build_pod_removal(node: str) -> str:
    """Delete the pods of gpustack on a node that have ended, each at its own deadline; others may be at work there."""
    ended = ",".join((f"spec.nodeName={node}", "status.phase!=Pending", "status.phase!=Running"))
    chosen = f"--selector {RUN} --field-selector {shlex.quote(ended)}"
    return f"kubectl {ADMIN} --namespace {PROOF_NAMESPACE} delete pods {chosen} --timeout=20s"


def build_unmark_commands(places: Iterable[Place]) -> str:
    nodes = dict[str, list[str]]()
    for node, what in places:
        nodes.setdefault(what, []).append(node)
    return " && ".join(
        f"kubectl {ADMIN} annotate node {shlex.join(some)} {PREFIX}{what}-" for what, some in nodes.items()
    )
