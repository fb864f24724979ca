"""What is changed for a time stands on the node itself, with its deadline and the values before it: an annotation
gpustack.io/temporary-KIND. It is written before the change and taken away after it was put back, so that a gpustack
that was killed leaves a trace for the next one.
"""

import shlex
from collections.abc import Collection, Iterable

from gpustack.ask.api import ADMIN
from gpustack.probes.gpu.temporary import PREFIX, Mark
from gpustack.probes.proof import PROOF_NAMESPACE, RUN

Place = tuple[str, str]
"""A node, and the kind of what was changed there."""


def write_commands(wanted: Iterable[Mark], standing: Collection[Place]) -> str:
    """One for all nodes of the same text. Only an annotation that is known to stand is overwritten: what another
    gpustack wrote meanwhile is refused."""
    nodes = dict[tuple[str, bool], list[str]]()
    for mark in wanted:
        known = (mark.node, mark.what) in standing
        nodes.setdefault((f"{PREFIX}{mark.what}={mark.text}", known), []).append(mark.node)
    return " && ".join(
        f"kubectl {ADMIN} annotate {'--overwrite ' if known else ''}node {shlex.join(some)} {shlex.quote(text)}"
        for (text, known), some in nodes.items()
    )


def remove_pods_command(node: str) -> str:
    """Delete the pods of gpustack on a node that have ended, each at its own deadline; others may be at work there."""
    ended = ",".join((f"spec.nodeName={node}", "status.phase!=Pending", "status.phase!=Running"))
    chosen = f"--selector {RUN} --field-selector {shlex.quote(ended)}"
    return f"kubectl {ADMIN} --namespace {PROOF_NAMESPACE} delete pods {chosen} --timeout=20s"


def remove_commands(places: Iterable[Place]) -> str:
    nodes = dict[str, list[str]]()
    for node, what in places:
        nodes.setdefault(what, []).append(node)
    return " && ".join(
        f"kubectl {ADMIN} annotate node {shlex.join(some)} {PREFIX}{what}-" for what, some in nodes.items()
    )
