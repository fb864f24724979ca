"""Notifications of the pinned Alertmanager: groups of alerts, posted to it, and what each kind of receiver gets.

The alerts have the labels, annotations and times of rules of gpustack, as Prometheus posts them; one is of the chart's
own. Everything else is Alertmanager's.
"""

import json
import re
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from gpustack.proof.alertmanager import build_alert
from gpustack.steps.alerts import load_groups
from tests.contract.alertmanager import build_configuration, run_alertmanager
from tests.contract.promtool import find_program
from tests.lab.webhook import Webhook, run_webhook
from tests.lab.witness import wait_until

KINDS: Mapping[str, dict[str, str]] = {
    "webhook": {},
    "slack": {"channel": "#gpus"},
    "msteams": {},
    "pagerduty": {},
}
"""The kinds that Alertmanager speaks to over HTTP. Mail needs a server of its own, and is rendered by amtool alone."""
START, END = datetime(2026, 11, 28, 10, 0, tzinfo=UTC), datetime(2026, 11, 28, 10, 20, tzinfo=UTC)
"""The times in what is returned. Alertmanager gets those of the run: it sends the group of an older alert at once."""
TIME, SHOWN_TIME = "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S UTC"
LABEL = re.compile(r"\{\{ \$labels\.(\w+) \}\}")
CONDITION = re.compile(r"\{\{ if .*?\{\{ end \}\}")
"""Words about a label that no alert has here."""
MODEL = {"modelName": "NVIDIA H100 80GB HBM3", "cluster": "demo"}
IDENTIFIER = "GPU-604a1c2d-7e8f-4a5b-9c0d-{:012d}"
FOREIGN_TEXTS = {
    "summary": "One or more targets are unreachable.",
    "description": "5% of <jobs> & targets are down: {{ x }}",
}
NUMBERS = {"one node": 4, "MIG": 1, "many": 64, "foreign": 1}
"""Alerts of each group. The last one of `one node` is resolved before Alertmanager sends the group."""


@cache
def expand_annotations(name: str, labels: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Expand the annotations of a rule of gpustack as Prometheus does, with 1 as the value."""
    rules = chain.from_iterable(group["rules"] for group in load_groups("")["gpu-alerts"])
    annotations = next(rule["annotations"] for rule in rules if rule["alert"] == name)
    return {
        key: re.sub(r"\{\{ \$value[^}]*\}\}", "1", LABEL.sub(lambda match: dict(labels).get(match[1], ""), text))
        for key, text in ((key, CONDITION.sub("", text)) for key, text in annotations.items())
    }


def build_gpu_alert(name: str, severity: str, node: str, index: int, **labels: str) -> dict[str, Any]:
    gpu = {"node": node, "gpu": str(index), "UUID": IDENTIFIER.format(index), **MODEL, **labels}
    gpu_labels = {"alertname": name, "severity": severity, **gpu}
    return build_alert(gpu_labels, expand_annotations(name, tuple(gpu_labels.items())), url="http://prometheus/graph")


def list_alerts() -> dict[str, list[dict[str, Any]]]:
    instance = {"GPU_I_ID": "5", "GPU_I_PROFILE": "2g.20gb"}
    pod = {"workload_namespace": "team", "workload_pod": "notebook-0"}
    foreign_labels = {"alertname": "TargetDown", "severity": "warning", "namespace": "monitoring", "job": "x"}
    return {
        "one node": [build_gpu_alert("GpuLost", "critical", "gpu1", index) for index in range(NUMBERS["one node"])],
        "MIG": [build_gpu_alert("GpuMigInstanceIdle", "info", "gpu3", 0, **instance, **pod)],
        "many": [
            build_gpu_alert("GpuHwThermalSlowdown", "critical", "gpu2", index) for index in range(NUMBERS["many"])
        ],
        "foreign": [build_alert(foreign_labels, FOREIGN_TEXTS, url="http://prometheus/graph")],
    }


def collect_notifications(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the bodies that each kind of receiver gets, in the order of the groups above."""
    receivers = [{"type": kind, "secret_file": "/s", **settings} for kind, settings in KINDS.items()]
    with ExitStack() as stack:
        hooks = {kind: stack.enter_context(run_webhook(port=0)) for kind in KINDS}
        for kind, hook in hooks.items():
            (folder / f"default-{kind}").write_text(hook.url)
        config = yaml.safe_load(build_configuration({"default": receivers}, folder))
        config["global"]["pagerduty_url"] = hooks["pagerduty"].url
        alertmanager = stack.enter_context(run_alertmanager(folder, yaml.safe_dump(config)))
        groups, start = list_alerts(), datetime.now(UTC).replace(microsecond=0)
        alerts = [alert | {"startsAt": start.strftime(TIME)} for group in groups.values() for alert in group]
        end = start + timedelta(seconds=1)
        time.sleep(1)
        resolved_alert = alerts[NUMBERS["one node"] - 1] | {"endsAt": end.strftime(TIME)}
        for batch in (alerts, [resolved_alert]):
            status, answer = alertmanager.web.post("/api/v2/alerts", batch)
            assert status == 200, answer
        wait_until("all groups", lambda: all(len(hook.bodies) >= len(groups) for hook in hooks.values()), limit=90)
        bodies = {kind: sort_bodies(hook, list(groups.values())) for kind, hook in hooks.items()}
    text = json.dumps(bodies)
    for actual, stable in ((start, START), (end, END)):
        for form in (TIME, SHOWN_TIME):
            text = text.replace(actual.strftime(form), stable.strftime(form))
    notifications: dict[str, list[dict[str, Any]]] = json.loads(text)
    return notifications


def sort_bodies(hook: Webhook, groups: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Sort notifications as their groups are. Each has the name of its alert somewhere, and no two groups have one."""
    names = [group[0]["labels"]["alertname"] for group in groups]
    return [next(body for body in hook.bodies if re.search(rf"\b{name}\b", str(body))) for name in names]


def render_template(text: str, data: Path, templates: Path, kind: str = "text") -> str:
    """Render a template with amtool of the pinned Alertmanager."""
    words = [
        find_program("amtool", "alertmanager"), "template", "render", f"--template.glob={templates}",
        f"--template.data={data}", f"--template.type={kind}", f"--template.text={text}",
    ]  # fmt: skip
    process = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout
