"""Pods that have GPUs and do nothing with them: whose they are, and since when."""

import re
from collections.abc import Collection, Iterator

from gpustack.capacity import raw
from gpustack.capacity.source import Source
from gpustack.capacity.state import IdlePod
from gpustack.config import usage_series as series
from gpustack.files.json_text import dump_json
from gpustack.metrics.prometheus import Series

LEAST = 3600
"""Seconds: who was busy since then is not idle."""
ENOUGH = 0.9
"""Of the samples of that time: a pod that is younger is none."""
BACK, STEP = 7 * 86400, 900
"""How far back it is looked for when a pod last did something, and how finely."""
Pod = tuple[str, str]


def read_idle(source: Source, at: float) -> Iterator[IdlePod]:
    """Pods all of whose GPUs were never busy in the last hour."""
    inner, interval = f"{source.select(series.HELD)}[{LEAST}s]", series.INTERVAL
    if not source.recorded:
        inner, interval = f"({raw.expand(series.HELD, source.team_label)})[{LEAST}s:{raw.INTERVAL}s]", raw.INTERVAL
    asked = f"max_over_time({inner}) and count_over_time({inner}) >= {LEAST / interval * ENOUGH:.0f}"
    pods: dict[Pod, list[Series]] = {}
    for one in source.prometheus.instant(f"max by (node, UUID, GPU_I_ID, namespace, pod, team) ({asked})").series:
        pods.setdefault(pod_of(one), []).append(one)
    idle = {pod: found for pod, found in pods.items() if all(one.points[-1][1] < series.IDLE_BELOW for one in found)}
    since = find_since(source, at, idle) if idle and source.recorded else {}
    owners = find_owners(source, idle) if idle else {}
    for pod, found in idle.items():
        begun, least = since.get(pod, (at - LEAST, True))
        nodes = tuple(sorted({one.labels.get("node", "") for one in found}))
        yield IdlePod(*pod, found[0].labels.get("team", ""), owners.get(pod, ""), nodes, len(found), begun, least)


def pod_of(one: Series) -> Pod:
    return one.labels.get("namespace", ""), one.labels.get("pod", "")


def named(pods: Collection[Pod]) -> str:
    """A matcher of their names, which others may have elsewhere."""
    return f"pod=~{dump_json('|'.join(map(re.escape, sorted({name for _, name in pods}))))}"


def find_owners(source: Source, pods: Collection[Pod]) -> dict[Pod, str]:
    """As Job/train-0."""
    owners = source.select("kube_pod_owner", f'owner_is_controller="true",{named(pods)}')
    found = source.prometheus.instant(f"max by (namespace, pod, owner_kind, owner_name) ({owners})").series
    return {pod_of(one): f"{one.labels.get('owner_kind', '')}/{one.labels.get('owner_name', '')}" for one in found}


def find_since(source: Source, at: float, pods: Collection[Pod]) -> dict[Pod, tuple[float, bool]]:
    """When each last did something, or got its GPUs; and whether that is only where the search began."""
    expr = f"max by (namespace, pod) (max_over_time({source.select(series.HELD, named(pods))}[{STEP}s]))"
    end = at // STEP * STEP
    found: dict[Pod, tuple[float, bool]] = {}
    for one in source.prometheus.range(expr, end - BACK, end, STEP).series:
        busy = [moment for moment, most in one.points if most >= series.IDLE_BELOW]
        begun = busy[-1] if busy else one.points[0][0] - STEP
        found[pod_of(one)] = begun, not busy and begun <= end - BACK
    return found
