"""A silence of gpustack in the pinned Alertmanager, while and after what it is for."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from gpustack.proof.alertmanager import build_alert
from gpustack.proof.silence import FIRES_ON, silence
from tests.contract.alertmanager import build_configuration, run_alertmanager
from tests.lab.webhook import run_webhook
from tests.lab.witness import wait_until

HOOK = {"type": "webhook", "secret_file": "/s"}
LABELS = {"alertname": "GpuHwThermalSlowdown", "severity": "critical", "node": "gpu1", "UUID": "GPU-1"}


def test_an_alert_that_fires_on_after_a_test_is_not_sent(tmp_path: Path) -> None:
    """Prometheus posts the alert for minutes after the load has ended."""
    with run_webhook(port=0) as hook:
        (tmp_path / "default-webhook").write_text(hook.url)
        text = build_configuration({"default": [HOOK]}, tmp_path)
        with run_alertmanager(tmp_path, text.replace("group_wait: 10s", "group_wait: 1s")) as alertmanager:
            with silence(alertmanager.web, ["gpu1"], 3600, "ann", "load") as reason:
                assert reason == ""
            hot_alerts = [
                build_alert({**LABELS, "node": node}, {"summary": "hot"}, datetime.now(UTC) + timedelta(minutes=5))
                for node in ("gpu1", "gpu2")
            ]
            assert alertmanager.web.post("/api/v2/alerts", hot_alerts)[0] == 200
            wait_until("the alert of another node is sent", lambda: hook.bodies, limit=30)
            silenced_alert = alertmanager.find_alert({**LABELS, "node": "gpu1"})
            _, silences = alertmanager.web.get("/api/v2/silences")
    assert silenced_alert
    assert silenced_alert.mute_reason.startswith("silenced by ")
    assert [alert["labels"]["node"] for body in hook.bodies for alert in body["alerts"]] == ["gpu2"]
    active_silences = [answer for answer in silences if answer["status"]["state"] == "active"]
    assert len(active_silences) == 1
    end = datetime.fromisoformat(active_silences[0]["endsAt"])
    assert timedelta(0) < end - datetime.now(UTC) < timedelta(seconds=FIRES_ON)
