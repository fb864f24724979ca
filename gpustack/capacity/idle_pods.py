"""Pods that have GPUs and do nothing with them, with their owners and the begin of their idle time."""

import re
from collections.abc import Collection, Iterator

from gpustack.capacity import raw_rules
from gpustack.capacity.source import Source
from gpustack.capacity.state import IdlePod
from gpustack.files.json_text import dump_json
from gpustack.metrics.prometheus import Series
from gpustack.vocabulary import usage_series as series

IDLE_SECONDS = 3600
"""Seconds: a pod that was busy within this time is not idle."""
MIN_SAMPLE_SHARE = 0.9
"""Least share of the samples of that time: a younger pod is not idle."""
SEARCH_SECONDS, STEP_SECONDS = 7 * 86400, 900
"""Length and step of the search for the last activity of a pod, in seconds."""
Pod = tuple[str, str]


def query_idle_pods(source: Source, time: float) -> Iterator[IdlePod]:
    """Query the pods all of whose GPUs were never busy in the last hour."""
    inner, interval = f"{source.select(series.HELD_GPUS)}[{IDLE_SECONDS}s]", series.INTERVAL
    if not source.recorded:
        inner, interval = (
            f"({raw_rules.expand_names(series.HELD_GPUS, source.team_label)})[{IDLE_SECONDS}s:{raw_rules.INTERVAL}s]",
            raw_rules.INTERVAL,
        )
    min_samples = IDLE_SECONDS / interval * MIN_SAMPLE_SHARE
    query = f"max_over_time({inner}) and count_over_time({inner}) >= {min_samples:.0f}"
    pods: dict[Pod, list[Series]] = {}
    for sample in source.prometheus.query_instant(f"max by (node, UUID, GPU_I_ID, namespace, pod, team) ({query})"):
        pods.setdefault(extract_pod(sample), []).append(sample)
    idle_pods = {
        pod: pod_samples
        for pod, pod_samples in pods.items()
        if all(pod_sample.points[-1][1] < series.IDLE_BELOW for pod_sample in pod_samples)
    }
    idle_starts = query_idle_starts(source, time, idle_pods) if idle_pods and source.recorded else {}
    owners = query_owners(source, idle_pods) if idle_pods else {}
    for pod, gpu_samples in idle_pods.items():
        idle_since, at_least = idle_starts.get(pod, (time - IDLE_SECONDS, True))
        nodes = tuple(sorted({gpu_sample.labels.get("node", "") for gpu_sample in gpu_samples}))
        team, owner = gpu_samples[0].labels.get("team", ""), owners.get(pod, "")
        yield IdlePod(*pod, team, owner, nodes, len(gpu_samples), idle_since, at_least)


def extract_pod(sample: Series) -> Pod:
    return sample.labels.get("namespace", ""), sample.labels.get("pod", "")


def build_pod_matcher(pods: Collection[Pod]) -> str:
    """Build a matcher of the names of pods, which pods of other namespaces may have, too."""
    return f"pod=~{dump_json('|'.join(map(re.escape, sorted({name for _, name in pods}))))}"


def query_owners(source: Source, pods: Collection[Pod]) -> dict[Pod, str]:
    """Query the controllers of pods, as Job/train-0."""
    owners = source.select("kube_pod_owner", f'owner_is_controller="true",{build_pod_matcher(pods)}')
    samples = source.prometheus.query_instant(f"max by (namespace, pod, owner_kind, owner_name) ({owners})")
    return {
        extract_pod(sample): f"{sample.labels.get('owner_kind', '')}/{sample.labels.get('owner_name', '')}"
        for sample in samples
    }


def query_idle_starts(source: Source, time: float, pods: Collection[Pod]) -> dict[Pod, tuple[float, bool]]:
    """Query when each pod last did something, or got its GPUs, and whether that is only where the search began."""
    selector = source.select(series.HELD_GPUS, build_pod_matcher(pods))
    expr = f"max by (namespace, pod) (max_over_time({selector}[{STEP_SECONDS}s]))"
    end = time // STEP_SECONDS * STEP_SECONDS
    idle_starts: dict[Pod, tuple[float, bool]] = {}
    for pod_series in source.prometheus.query_range(expr, end - SEARCH_SECONDS, end, STEP_SECONDS):
        busy_times = [moment for moment, activity in pod_series.points if activity >= series.IDLE_BELOW]
        idle_since = busy_times[-1] if busy_times else pod_series.points[0][0] - STEP_SECONDS
        idle_starts[extract_pod(pod_series)] = idle_since, not busy_times and idle_since <= end - SEARCH_SECONDS
    return idle_starts
