"""Pods that hold the GPUs of nodes during a test, so that no other pod gets one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from gpustack.ask.snapshot import Snapshot
from gpustack.events import Event
from gpustack.proof.connect import open_pods
from gpustack.proof.pod_run import NOT_HELD, Cluster, PodRun, require_pods
from gpustack.proof.silence import silence_alerts
from gpustack.proof.workload import PodResult, build_pod, build_sleeper
from gpustack.rollout.run import Run

Refusals = Mapping[str, str]
"""The reasons why the GPUs of nodes could not be kept, by node."""


@contextmanager
def keep_free(
    run: Run, snapshot: Snapshot, gpu_counts: Mapping[str, int], seconds: float, *, cordoned: bool = False
) -> Iterator[Refusals]:
    """Keep the GPUs of nodes free for a diagnostic, whose alerts are silenced. Yield and raise as hold_gpus."""
    pod_run = PodRun(lambda: open_pods(snapshot, run.private), run.record, run.find_stop_reason)
    holding = hold_gpus(pod_run, gpu_counts, seconds, cordoned=cordoned)
    with silence_alerts(run, list(gpu_counts), seconds, "diag"), holding as refusals:
        yield refusals


@contextmanager
def hold_gpus(
    pod_run: PodRun, gpu_counts: Mapping[str, int], seconds: float, *, cordoned: bool = False
) -> Iterator[Refusals]:
    """Hold this number of GPUs by node, for `seconds` at most. Yield the nodes where that failed, whose pods are
    removed at once. Raise RolloutError where pods cannot be created or followed, and where the namespace was not
    created by gpustack."""
    try:
        with require_pods():
            refusals = start_holding(pod_run, gpu_counts, seconds, cordoned=cordoned)
        yield refusals
    finally:
        if reason := pod_run.remove():
            note = f"pods that keep GPUs were not removed, and end by themselves: {reason}"
            pod_run.report(Event("note", "", note))


def start_holding(
    pod_run: PodRun, gpu_counts: Mapping[str, int], seconds: float, *, cordoned: bool = False
) -> Refusals:
    container = build_sleeper(seconds)
    build = lambda name, node, run: build_pod(name, node, run, seconds, container, cordoned=cordoned)  # noqa: E731
    pod_run.create("hold", gpu_counts, build)
    pod_run.follow(judge_holder, watch=lambda: pod_run.look_error)
    refusals = {pod.node: f"{NOT_HELD}: {pod.reason}" for pod in pod_run.pods.values() if pod.stage != "held"}
    if refusals:
        with pod_run.connect() as cluster:
            for document in cluster.list_pods(pod_run.id):
                if pod_run.pods[document["metadata"]["name"]].node in refusals:
                    cluster.delete(document)
    return refusals


def judge_holder(cluster: Cluster, pod: PodResult) -> PodResult:
    return replace(pod, stage="held") if pod.stage == "running" else pod
