"""Objects of the API in abnormal states, constructed from Kubernetes' API types (k8s.io/api core/v1), laid over the
healthy cluster."""

import json
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.states.state import AbnormalState
from gpustack.report.doctor.text import render_human
from gpustack.report.terminal import Terminal
from tests.worlds.snapshots.answers import read_case
from tests.worlds.snapshots.healthy import build_healthy_snapshot

GRAFANA = {"app.kubernetes.io/instance": "monitoring", "app.kubernetes.io/name": "grafana"}
"""The labels of the pods of Grafana in the namespace monitoring."""


@cache
def build_healthy() -> Snapshot:
    return build_healthy_snapshot()


def format_time(minutes_ago: float) -> str:
    """Format a time before the recording as the API writes it."""
    return f"{build_healthy().started_at - timedelta(minutes=minutes_ago):%Y-%m-%dT%H:%M:%SZ}"


def read_items(probe: str) -> list[Any]:
    items: list[Any] = json.loads(build_healthy().answers[probe, CLUSTER].stdout)["items"]
    return deepcopy(items)


def read_recorded_items(probe: str, case: str) -> list[Any]:
    """Read the objects of a recorded answer."""
    items: list[Any] = json.loads(read_case(probe, case).stdout)["items"]
    return items


def find_item(items: Iterable[Any], name: str) -> Any:
    """Find the first object whose name begins so."""
    return next(entry for entry in items if entry["metadata"]["name"].startswith(name))


def make_pod(namespace: str, name: str, labels: dict[str, str], **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"namespace": namespace, "name": name, "labels": labels, "creationTimestamp": format_time(60)},
        "spec": {"nodeName": "k2", "containers": [{"resources": {}}]},
        "status": {"phase": "Running", "conditions": [make_unready_condition(20)], **status},
    }


def make_unready_condition(minutes_ago: float) -> dict[str, Any]:
    return {"type": "Ready", "status": "False", "lastTransitionTime": format_time(minutes_ago)}


def make_container(name: str, state: dict[str, Any], last: dict[str, Any] | None = None, **fields: Any) -> Any:
    last_state = {"terminated": last} if last else {}
    return {"name": name, "ready": False, "restartCount": 0, "state": state, "lastState": last_state, **fields}


def make_crash_loop(name: str, exit_code: int, message: str = "", reason: str = "Error", restarts: int = 7) -> Any:
    """Make a container that the kubelet restarts again and again. `message` is its termination message."""
    waiting = {"reason": "CrashLoopBackOff", "message": f"back-off 5m0s restarting failed container={name}"}
    last = {
        "exitCode": exit_code,
        "reason": reason,
        "startedAt": format_time(3),
        "finishedAt": format_time(2),
        **({"message": message} if message else {}),
    }
    return make_container(name, {"waiting": waiting}, last, restartCount=restarts)


def build_snapshot(**items_by_probe: list[Any]) -> Snapshot:
    """Return the healthy cluster with these lists. `gpu__pods` stands for the probe gpu.pods."""
    answers = {
        (name.replace("__", ".").replace("_", "-"), CLUSTER): json.dumps({"items": items})
        for name, items in items_by_probe.items()
    }
    healthy = build_healthy()
    new_answers = {key: Answer(key[0], CLUSTER, 0, stdout) for key, stdout in answers.items()}
    return replace(healthy, answers={**healthy.answers, **new_answers})


def diagnose_items(**items_by_probe: list[Any]) -> Diagnosis:
    return diagnose(build_snapshot(**items_by_probe))


def list_states(diagnosis: Diagnosis, kind: str = "") -> list[AbnormalState]:
    return [state for state in diagnosis.abnormal_states if kind in ("", state.kind)]


def render(diagnosis: Diagnosis, *, verbose: bool = False) -> str:
    """Render the report on a wide screen, so that no sentence is wrapped."""
    with (console := Terminal(width=4000)).capture() as capture:
        render_human(console, diagnosis, verbose=verbose)
    return capture.get()
