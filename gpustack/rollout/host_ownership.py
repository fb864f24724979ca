"""Judge which things of a host a reset may remove or restore, by the host's records and the table of decisions."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from gpustack.ownership.decision import DATA_OF, MAY_CHANGE, Decision, decide_by_kind
from gpustack.ownership.record import ABSENT
from gpustack.probes.host.ownership import Ownership, Thing

COPIES = "/var/lib/gpustack-cluster/before"
CONTAINERD = "/etc/containerd/config.toml"
"""Others write it anew. playbooks/roles/containerd/tasks/reset.yml takes out the lines that gpustack added."""
ACTIONS = {Decision.REMOVE: "remove", Decision.RESTORE: "restore"}
# A reset does not list these kinds: it lists what is in a folder, and links by themselves.
SILENT_KINDS = {"folder", "link", "store"}


@dataclass(frozen=True)
class Agreement:
    """Name the action that scripts on the host may take on a path, as long as it has this state there."""

    path: str
    kind: str
    action: str
    state: str


@dataclass(frozen=True)
class HostOwnership:
    """Hold what a reset may change on a host. `cluster` tells whether the cluster on the host may be removed, with its
    containers, chains and links. `foreign_data` is data of a cluster that is not known as gpustack's. `kept_resources`
    has (path, reason) of what stays, `edited_files` files with lines of gpustack in which somebody else wrote since."""

    agreements: tuple[Agreement, ...] = ()
    cluster: bool = False
    foreign_data: tuple[str, ...] = ()
    kept_resources: tuple[tuple[str, str], ...] = ()
    edited_files: tuple[str, ...] = ()

    def has_agreed(self, path: str) -> bool:
        """Tell whether a path may be removed or restored, or anything below it. A folder is removed only when it is
        empty, so it alone is no reason."""
        return any(
            agreement.kind != "folder" and (agreement.path == path or agreement.path.startswith(f"{path}/"))
            for agreement in self.agreements
        )


UNKNOWN_HOST = HostOwnership()
"""The ownership of a host whose record cannot be used: nothing may be changed there."""


def judge_things(ownership: Ownership, *, foreign: bool, storage: bool) -> HostOwnership:
    """Judge all things of a host. `foreign` allows the removal of data of other clusters, `storage` that of
    containerd's data."""
    decisions = [(thing, decide_by_kind(thing.record, thing.kind, thing.actual)) for thing in ownership.things]
    foreign_data = [
        thing.path
        for thing, decision in decisions
        if thing.kind == "data" and decision not in {*MAY_CHANGE, Decision.FORGET}
    ]
    agreements = [
        Agreement(thing.path, thing.kind, ACTIONS[decision], thing.actual or "")
        for thing, decision in decisions
        if decision in MAY_CHANGE and (thing.kind != "store" or storage)
    ]
    if foreign:
        agreements += [
            Agreement(thing.path, thing.kind, "remove", thing.actual)
            for thing, _ in decisions
            if thing.path in foreign_data and thing.actual
        ]
    kept_resources = tuple(
        explain_kept_resource(thing, decision)
        for thing, decision in decisions
        if needs_explanation(thing, decision, foreign=foreign)
    )
    edited_files = tuple(
        thing.path for thing, decision in decisions if thing.kind == "lines" and decision is Decision.LATER_CHANGE
    )
    return HostOwnership(
        tuple(agreements),
        foreign or owns_cluster(ownership),
        () if foreign else tuple(foreign_data),
        kept_resources,
        edited_files,
    )


def needs_explanation(thing: Thing, decision: Decision, *, foreign: bool) -> bool:
    """Tell whether a thing stays that somebody may take for gpustack's."""
    if decision in {*MAY_CHANGE, Decision.FORGET} or thing.kind in SILENT_KINDS:
        return False
    return not (foreign and thing.kind == "data")


def owns_cluster(ownership: Ownership) -> bool:
    """Tell whether the cluster on the host is the one that gpustack recorded there.

    After a reset that was killed there may be no CA any more: then no data may be there that is not recorded. A link
    that is recorded is of that cluster.
    """
    links = [thing for thing in ownership.things if thing.kind == "link" and thing.actual != ABSENT]
    if (
        any(decide_by_kind(thing.record, thing.kind, thing.actual) in MAY_CHANGE for thing in links)
        and not ownership.cluster
    ):
        return not any(
            thing.kind == "data" and thing.actual != ABSENT and not thing.record for thing in ownership.things
        )
    data = [thing for thing in ownership.things if thing.kind == "data"]
    clusters = {thing.record.cluster for thing in data if thing.record and thing.record.cluster}
    if not clusters or ownership.cluster is None:
        return False
    present = [thing for thing in data if thing.actual not in {ABSENT, None}]
    recorded_data = [thing for thing in present if decide_by_kind(thing.record, thing.kind, thing.actual) in MAY_CHANGE]
    return ownership.cluster in clusters or (not ownership.cluster and recorded_data == present)


def explain_kept_resource(thing: Thing, decision: Decision) -> tuple[str, str]:
    """Explain why a thing stays, with the command that shows more."""
    record, reason = thing.record, decision.value
    if thing.path == CONTAINERD and decision is Decision.LATER_CHANGE:
        reason = "others wrote in it after gpustack, as NVIDIA's toolkit does: it stays, without gpustack's own lines"
    if decision is Decision.LATER_CHANGE and record and thing.kind != "data":
        reason += f" (left as {shorten_state(record.after)}, now {shorten_state(thing.actual or '')})"
        if record.before == ABSENT:
            reason += f"; look at it: sudo cat {shlex.quote(thing.path)}"
        else:
            reason += f"; compare: sudo sh -c 'diff {COPIES}/*-{thing.path.rpartition('/')[2]} {thing.path}'"
    elif decision is Decision.INTERRUPTION:
        reason += "; gpustack install completes it"
    elif thing.kind == "data" and thing.actual:
        reason = f"data of a cluster ({thing.actual.removeprefix(DATA_OF)}) that gpustack has not recorded as its own"
    return thing.path, reason


def shorten_state(state: str) -> str:
    """Shorten a state to what people compare: the beginning of a digest."""
    return next(iter(state.split()[-1:]), "unknown")[:12]


def list_undeclared(ownership: Ownership) -> Iterator[str]:
    """Describe records of paths that no step declares. Nothing follows from them."""
    if ownership.undeclared_paths:
        yield f"the record names {len(ownership.undeclared_paths)} paths that no step declares; they count for nothing"
