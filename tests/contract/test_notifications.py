"""Notifications of the pinned Alertmanager, as people receive them, and the same templates rendered by its amtool.

`GOLDEN=write` writes the texts anew; the difference is then to be read in git. The data is made by Alertmanager itself
(tests/contract/notifications.py).
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.steps.alerts import IMPACTS
from gpustack.steps.monitoring.notification import FILE, MESSAGES
from tests.contract.alertmanager import CHART
from tests.contract.notifications import NUMBERS, collect_notifications, render_template

GOLDEN_FOLDER = Path(__file__).parent / "notifications"
ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "values" / "alertmanager" / FILE
SAMPLES = [name for name in NUMBERS if name != "many"]
PARTS = [
    "gpu1", "NVIDIA H100 80GB HBM3", "GPU-604a1c2d-7e8f-4a5b-9c0d-000000000000", "reports nothing any more",
    "2026-11-28 10:00:00 UTC",
    "work is lost or at risk now", "gpustack explain alert-gpulost",
]  # fmt: skip
Notifications = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def notifications(tmp_path_factory: pytest.TempPathFactory) -> Notifications:
    return collect_notifications(tmp_path_factory.mktemp("alertmanager"))


def list_texts(kind: str, body: dict[str, Any]) -> dict[str, str]:
    """List the texts of a notification that people read, by the setting that makes them."""
    if kind == "slack":
        (attachment,) = body["attachments"]
        return {name: attachment[name] for name in ("title", "fallback", "text")}
    if kind == "msteams":
        title, text = body["attachments"][0]["content"]["body"]
        return {"title": title["text"], "text": text["text"]}
    if kind == "pagerduty":
        payload = body["payload"]
        details = {name: payload["custom_details"][name] or "" for name in ("firing", "resolved")}
        words = {name: payload.get(name, "") for name in ("severity", "source", "component", "class", "group")}
        return {"description": payload["summary"], **words, **details}
    return {"json": json.dumps(body, ensure_ascii=False)}


def flatten_settings(kind: str) -> dict[str, str]:
    """Flatten the templates of a kind: those below `details` and `headers` by their own names."""
    flat: dict[str, str] = {}
    for name, text in MESSAGES[kind].items():
        flat |= text if isinstance(text, dict) else {name: text}
    return flat


@pytest.mark.parametrize("kind", ["slack", "msteams", "pagerduty"])
def test_a_message_has_all_that_the_first_minute_needs(notifications: Notifications, kind: str) -> None:
    text = "\n".join(list_texts(kind, notifications[kind][0]).values())
    assert [part for part in PARTS if part not in text] == []
    assert "until 2026-11-28 10:20:00 UTC" in text


def test_a_webhook_has_it_in_labels_and_annotations(notifications: Notifications) -> None:
    firing = notifications["webhook"][0]["alerts"][0]
    text = json.dumps(firing["labels"] | firing["annotations"])
    assert [part for part in PARTS if part not in text] == ["2026-11-28 10:00:00 UTC"]
    assert firing["startsAt"] == "2026-11-28T10:00:00Z"


@pytest.mark.parametrize("kind", ["slack", "msteams", "pagerduty", "email"])
def test_amtool_renders_the_same_text(notifications: Notifications, kind: str, tmp_path: Path) -> None:
    """Mail has no counterpart, since it needs a server."""
    for index, sample in enumerate(NUMBERS):
        data = tmp_path / f"{index}.json"
        data.write_text(json.dumps(notifications["webhook"][index]))
        texts = {
            name: render_template(text, data, TEMPLATES, "html" if name == "html" else "text")
            for name, text in flatten_settings(kind).items()
        }
        if kind in notifications:
            assert list_texts(kind, notifications[kind][index]) == texts
        if sample in SAMPLES:
            compare_golden(f"{kind}-{sample.replace(' ', '-')}.txt", texts)


def compare_golden(name: str, texts: dict[str, str]) -> None:
    path, text = GOLDEN_FOLDER / name, "\n".join(f"== {setting}\n{text}" for setting, text in texts.items()) + "\n"
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_limits_of_receivers_hold_for_64_alerts(notifications: Notifications) -> None:
    """Slack: a title of 1024 characters, and 4000 as the advised length of a text. PagerDuty: a summary of 1024
    characters, and 512 KB. Teams: 28 KB (learn.microsoft.com, webhooks and connectors)."""
    many = list(NUMBERS).index("many")
    slack, teams, pager = (notifications[kind][many] for kind in ("slack", "msteams", "pagerduty"))
    texts = list_texts("slack", slack)
    assert len(texts["title"]) <= 1024
    assert len(texts["text"]) <= 4000
    assert "64 firing" in texts["text"]
    assert texts["text"].count("gpu2 GPU") == 20
    assert len(json.dumps(teams)) <= 28 * 1024
    assert len(pager["payload"]["summary"]) <= 1024
    assert len(json.dumps(pager)) <= 512_000
    assert "error" not in pager["payload"]["custom_details"]


def test_a_long_text_is_cut(notifications: Notifications, tmp_path: Path) -> None:
    body = notifications["webhook"][0]
    long = dict.fromkeys(body["commonAnnotations"], "ä" * 5000)
    alerts = [alert | {"annotations": long} for alert in body["alerts"] * 16]
    data = tmp_path / "long.json"
    data.write_text(json.dumps(body | {"alerts": alerts, "commonAnnotations": long}))
    title, text = (render_template(MESSAGES["slack"][name], data, TEMPLATES) for name in ("title", "text"))
    assert len(title) <= 1024
    assert len(text) <= 7000
    assert "ä…" in text


@pytest.mark.parametrize("kind", ["slack", "msteams", "email"])
def test_the_link_of_an_alert_of_the_chart_is_whole(notifications: Notifications, kind: str, tmp_path: Path) -> None:
    base = yaml.safe_load((CHART / "values.yaml").read_text())["defaultRules"]["runbookUrl"]
    texts = [file.read_text() for file in (CHART / "rules").glob("*.yaml")]
    names = [name for text in texts for name in re.findall(r"(?m)runbook: (\S+)$", text)]
    link = f"{base}/{max(names, key=len)}"
    body = notifications["webhook"][list(NUMBERS).index("foreign")]
    alerts = [alert | {"annotations": {"runbook_url": link}} for alert in body["alerts"]]
    data = tmp_path / "chart.json"
    data.write_text(json.dumps(body | {"alerts": alerts}))
    assert len(link) > 100
    assert link in render_template(MESSAGES[kind]["text"], data, TEMPLATES)


def test_a_text_of_a_rule_is_not_rendered_again(notifications: Notifications) -> None:
    """Nor does PagerDuty get a mapping, though a line has a colon; Slack gets no markup of its own."""
    foreign = list(NUMBERS).index("foreign")
    pager, slack = (notifications[kind][foreign] for kind in ("pagerduty", "slack"))
    assert "are down: {{ x }}" in pager["payload"]["custom_details"]["firing"]
    assert "&lt;jobs&gt; &amp; targets" in slack["attachments"][0]["text"]


def test_impacts_are_those_of_the_page() -> None:
    page = " ".join((ROOT / "docs" / "alerts.md").read_text().split())
    assert [severity for severity, text in IMPACTS.items() if f"**{severity}**: {text}" not in page] == []
