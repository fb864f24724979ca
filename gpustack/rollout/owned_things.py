"""Judge which things of a host a reset may remove or restore, by the host's records and the table of decisions."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from gpustack.ownership.decision import DATA_OF, MAY_CHANGE, Decision, decide_thing
from gpustack.ownership.record import ABSENT
from gpustack.probes.host.declaration import find_kinds
from gpustack.probes.host.ownership import Ownership, Thing

COPIES = "/var/lib/gpustack-cluster/before"
ACTIONS = {Decision.REMOVE: "remove", Decision.RESTORE: "restore"}
# Kinds of which nothing is said: what is in a folder is said, and a link is shown by itself.
UNSPOKEN = {"folder", "link", "store"}


@dataclass(frozen=True)
class Agreement:
    """Name the action that scripts on the host may take on a path, as long as it has this state there."""

    path: str
    kind: str
    action: str
    state: str


@dataclass(frozen=True)
class HostOwnership:
    """Hold what a reset may change on a host. `cluster` tells whether the cluster on the host may go: its containers,
    chains and links, too. `others` is data of a cluster that is not known as gpustack's. `left` has (path, why) of what
    stays, `edited` files with lines of gpustack in which somebody else wrote since."""

    agreements: tuple[Agreement, ...] = ()
    cluster: bool = False
    others: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()
    edited: tuple[str, ...] = ()

    def has_agreed(self, path: str) -> bool:
        """Tell whether a path may go or be restored, or anything below it. A folder goes only when it is empty, so it
        alone is no reason."""
        return any(
            one.kind != "folder" and (one.path == path or one.path.startswith(f"{path}/")) for one in self.agreements
        )


UNKNOWN_HOST = HostOwnership()
"""The ownership of a host whose record cannot be used: nothing may be changed there."""


def judge_things(found: Ownership, *, foreign: bool, storage: bool) -> HostOwnership:
    """Judge all things of a host. `foreign`: data of other clusters may go, too; `storage`: what containerd keeps."""
    decisions = [(thing, decide_thing(thing.record, thing.kind, thing.actual)) for thing in found.things]
    others = [
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
            if thing.path in others and thing.actual
        ]
    left = tuple(
        explain_left(thing, decision) for thing, decision in decisions if stays(thing, decision, foreign=foreign)
    )
    edited = tuple(
        thing.path for thing, decision in decisions if thing.kind == "lines" and decision is Decision.CHANGED
    )
    return HostOwnership(
        tuple(agreements), foreign or owns_cluster(found), () if foreign else tuple(others), left, edited
    )


def stays(thing: Thing, decision: Decision, *, foreign: bool) -> bool:
    """Tell whether a thing stays that somebody may take for gpustack's."""
    if decision in {*MAY_CHANGE, Decision.FORGET} or thing.kind in UNSPOKEN:
        return False
    return not (foreign and thing.kind == "data")


def owns_cluster(found: Ownership) -> bool:
    """Tell whether the cluster on the host is the one that gpustack recorded there.

    After a reset that was killed there may be no CA any more: then no data may be there that is not recorded. A link
    that is recorded is of that cluster.
    """
    links = [thing for thing in found.things if thing.kind == "link" and thing.actual != ABSENT]
    if any(decide_thing(thing.record, thing.kind, thing.actual) in MAY_CHANGE for thing in links) and not found.cluster:
        return not any(thing.kind == "data" and thing.actual != ABSENT and not thing.record for thing in found.things)
    data = [thing for thing in found.things if thing.kind == "data"]
    clusters = {thing.record.cluster for thing in data if thing.record and thing.record.cluster}
    if not clusters or found.cluster is None:
        return False
    present = [thing for thing in data if thing.actual not in {ABSENT, None}]
    ours = [thing for thing in present if decide_thing(thing.record, thing.kind, thing.actual) in MAY_CHANGE]
    return found.cluster in clusters or (not found.cluster and ours == present)


def explain_left(thing: Thing, decision: Decision) -> tuple[str, str]:
    """Explain why a thing stays, with the command that shows more."""
    record, why = thing.record, decision.value
    if decision is Decision.CHANGED and record and thing.kind != "data":
        why += f" (left as {shorten_state(record.after)}, now {shorten_state(thing.actual or '')})"
        if record.before == ABSENT:
            why += f"; look at it: sudo cat {shlex.quote(thing.path)}"
        else:
            why += f"; compare: sudo sh -c 'diff {COPIES}/*-{thing.path.rpartition('/')[2]} {thing.path}'"
    elif decision is Decision.INTERRUPTED:
        why += "; gpustack install completes it"
    elif thing.kind == "data" and thing.actual:
        why = f"data of a cluster ({thing.actual.removeprefix(DATA_OF)}) that gpustack has not recorded as its own"
    return thing.path, why


def shorten_state(state: str) -> str:
    """Shorten a state to what people compare: the beginning of a digest."""
    return next(iter(state.split()[-1:]), "unknown")[:12]


def list_undeclared(found: Ownership) -> Iterator[str]:
    """Describe records of paths that no step declares: nothing follows from them."""
    if found.undeclared:
        yield f"the record names {len(found.undeclared)} paths that no step declares; they count for nothing"


def is_declared(path: str) -> bool:
    """Tell whether a path is one that a step may touch."""
    return bool(find_kinds(path))
