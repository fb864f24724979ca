"""Tests that Alertmanager itself sends one notification for the alerts of many GPUs of a node."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gpustack.proof.alertmanager import build_alert
from tests.contract.alertmanager import build_configuration, run_alertmanager
from tests.lab.webhook import run_webhook
from tests.lab.witness import wait_until

GPUS = 64
INTERVALS = {"group_wait: 10s": "group_wait: 1s", "group_interval: 5m": "group_interval: 10s"}
NODES = {"OneNode": 1, "EightNodes": 8}


def count_notifications(folder: Path, **alerts: Any) -> dict[str, int]:
    """Count the notifications of an alert for each of 64 GPUs of one node, and of another for 64 GPUs of eight."""
    with run_webhook(port=0) as hook:
        (folder / "default-webhook").write_text(hook.url)
        text = build_configuration({"default": [{"type": "webhook", "secret_file": "/s"}]}, folder, **alerts)
        with run_alertmanager(folder, text) as alertmanager:
            hot = [
                build_alert(
                    {"alertname": name, "severity": "critical", "node": f"gpu{index % nodes}", "UUID": f"GPU-{index}"},
                    {"summary": "hot"},
                )
                for name, nodes in NODES.items()
                for index in range(GPUS)
            ]
            status, answer = alertmanager.web.post("/api/v2/alerts", hot)
            assert status == 200, answer
            wait_until("each alert is in a notification", lambda: len(hook.list_alerts()) >= len(hot), limit=60)
            time.sleep(1)  # for one too many
            assert len(hook.list_alerts()) == len(hot)
            return dict(Counter(body["groupLabels"]["alertname"] for body in hook.bodies))


@pytest.mark.parametrize(
    ("alerts", "expected_counts"),
    [({}, {"OneNode": 1, "EightNodes": 8}), ({"group_by": ["alertname", "node", "UUID"]}, dict.fromkeys(NODES, GPUS))],
    ids=["by alert and node", "by GPU"],
)
def test_hot_gpus_of_a_node_are_one_notification(
    tmp_path: Path, alerts: dict[str, Any], expected_counts: dict[str, int]
) -> None:
    assert count_notifications(tmp_path, **alerts) == expected_counts


def test_xids_of_one_gpu_are_one_notification(tmp_path: Path) -> None:
    """A fault of a GPU comes with the Xids of the programs that it ends."""
    xids = {"63": "GpuXidWarning", "92": "GpuXidWarning", "31": "GpuXidApplication", "43": "GpuXidApplication"}
    severities = {"GpuXidWarning": "warning", "GpuXidApplication": "info"}
    receiver = {"type": "webhook", "secret_file": "/s"}
    with run_webhook(port=0) as hook:
        (tmp_path / "default-webhook").write_text(hook.url)
        text = build_configuration({"default": [receiver], "warning": [receiver], "info": [receiver]}, tmp_path)
        for name in ("warning-webhook", "info-webhook"):
            (tmp_path / name).write_text(hook.url)
        with run_alertmanager(tmp_path, text) as alertmanager:
            labels = {"node": "gpu1", "UUID": "GPU-a"}
            alerts = [
                build_alert({"alertname": name, "severity": severities[name], "xid": xid, **labels}, {"summary": "x"})
                for xid, name in xids.items()
            ]
            status, answer = alertmanager.web.post("/api/v2/alerts", alerts)
            assert status == 200, answer
            wait_until("the faults are in a notification", lambda: len(hook.list_alerts()) >= 2, limit=60)
            time.sleep(3)  # for one too many
            assert [body["groupLabels"]["alertname"] for body in hook.bodies] == ["GpuXidWarning"]
            assert sorted(alert["labels"]["xid"] for alert in hook.bodies[0]["alerts"]) == ["63", "92"]


def test_critical_xids_of_one_gpu_are_one_incident(tmp_path: Path) -> None:
    """Three within a group's interval, one after another, give two notifications of one group: the first Xid at once,
    and all three at the end of the interval, which receivers take for the same incident. The intervals are shortened
    alike."""
    with run_webhook(port=0) as hook:
        (tmp_path / "default-webhook").write_text(hook.url)
        text = build_configuration({"default": [{"type": "webhook", "secret_file": "/s"}]}, tmp_path)
        for interval, short in INTERVALS.items():
            assert interval in text
            text = text.replace(interval, short)
        with run_alertmanager(tmp_path, text) as alertmanager:
            for count, xid in enumerate(("79", "48", "119"), 1):
                labels = {"alertname": "GpuXidCritical", "severity": "critical", "node": "gpu1", "UUID": "GPU-a"}
                alert = build_alert({**labels, "xid": xid}, {"summary": "x"})
                assert alertmanager.web.post("/api/v2/alerts", [alert])[0] == 200
                if count == 1:
                    wait_until("the first Xid is in a notification", lambda: len(hook.bodies) == 1, limit=60)
            wait_until("all Xids are in a notification", lambda: len(hook.bodies) == 2, limit=60)
            time.sleep(12)  # for one too many, behind another interval
            assert len({body["groupKey"] for body in hook.bodies}) == 1
            assert [sorted(alert["labels"]["xid"] for alert in body["alerts"]) for body in hook.bodies] == [
                ["79"],
                ["119", "48", "79"],
            ]
