"""Receivers of the spec become Alertmanager's configuration. tests/contract/test_receiver.py asks Alertmanager
itself."""

from typing import Any

from gpustack.config.sections.receiver import Receiver
from gpustack.steps.monitoring.notification import MESSAGES, read_templates
from gpustack.steps.monitoring.receiver import build_alertmanager_values, build_receiver, format_secret_path
from tests.unit.config.specs import build_inventory

MAIL = {"type": "email", "to": "ops@example.com", "sender": "k8s@example.com", "smarthost": "mail.example.com:587"}
HOOK = {"type": "webhook", "secret_file": "/s"}
SLACK = {"type": "slack", "secret": "ours/slack", "channel": "#gpus"}
FILE = "/etc/alertmanager/secrets/gpustack-receivers/me"


def build_values(**receivers: Any) -> dict[str, Any]:
    return build_alertmanager_values(build_inventory(alerts={"receivers": receivers}))


def render_receiver(**receiver: str) -> dict[str, Any]:
    target = Receiver(**receiver)  # type: ignore[arg-type]
    return build_receiver(target, format_secret_path("me", target))


def test_without_a_receiver_the_chart_s_own_stays() -> None:
    assert build_alertmanager_values(build_inventory()) == build_values(critical=[]) == {}


def test_a_default_receiver_gets_all_severities() -> None:
    values = build_values(default=[HOOK])
    assert values["alertmanagerSpec"] == {"secrets": ["gpustack-receivers"]}
    assert values["enableFeatures"] == ["receiver-name-in-metrics"]
    assert values["templateFiles"] == {"gpustack.tmpl": read_templates()}
    assert [receiver["name"] for receiver in values["config"]["receivers"]] == ["null", "default-webhook"]
    nobody_route, test, *rest = values["config"]["route"]["routes"]
    assert nobody_route == {"matchers": ['alertname =~ "Watchdog|InfoInhibitor"'], "receiver": "null"}
    assert (test["matchers"], test["group_by"]) == (['alertname = "GpustackTest"'], ["alertname", "test"])
    assert test["routes"] == rest
    assert {route["receiver"] for route in rest} == {"default-webhook"}
    assert rest[-1] == {"receiver": "default-webhook"}


def test_jobs_of_the_daily_diagnostic_fail_without_the_chart_s_alert() -> None:
    """The alerts of the diagnostic tell a failed one from a skipped one, and that of the chart does not."""
    spec = {"alerts": {"receivers": {"default": [HOOK]}}, "care": {"enabled": True}}
    routes = build_alertmanager_values(build_inventory(**spec))["config"]["route"]["routes"]
    held_back = {
        "matchers": ['alertname = "KubeJobFailed"', 'job_name =~ "gpu-care-.+"'],
        "receiver": "null",
    }
    assert routes[1] == held_back
    assert held_back not in build_values(default=[HOOK])["config"]["route"]["routes"]


def test_each_severity_goes_to_all_its_receivers() -> None:
    values = build_values(critical=[HOOK, SLACK], warning=[MAIL], info=[])
    assert values["alertmanagerSpec"] == {"secrets": ["gpustack-receivers", "ours"]}
    assert values["config"]["route"]["routes"][2:] == [
        {"matchers": ['severity = "critical"'], "receiver": "critical-webhook", "continue": True},
        {"matchers": ['severity = "critical"'], "receiver": "critical-slack"},
        {"matchers": ['severity = "warning"'], "receiver": "warning-email"},
        {"matchers": ['severity = "info"'], "receiver": "null"},
        {"receiver": "warning-email"},
    ]


def test_a_secret_is_a_file_and_its_end_is_reported() -> None:
    assert render_receiver(**HOOK) == {"webhook_configs": [{"url_file": FILE, "send_resolved": True}]}
    slack = {"api_url_file": "/etc/alertmanager/secrets/ours/slack", "channel": "#gpus", "send_resolved": True}
    assert render_receiver(**SLACK) == {"slack_configs": [{**slack, **MESSAGES["slack"]}]}
    teams = {"webhook_url_file": FILE, "send_resolved": True}
    assert render_receiver(type="msteams", secret_file="/s") == {
        "msteamsv2_configs": [{**teams, **MESSAGES["msteams"]}]
    }
    pager = {"routing_key_file": FILE, "send_resolved": True}
    assert render_receiver(type="pagerduty", secret_file="/s") == {
        "pagerduty_configs": [{**pager, **MESSAGES["pagerduty"]}]
    }
    mail = {"to": "ops@example.com", "from": "k8s@example.com", "smarthost": "mail.example.com:587"}
    mail_config = {**mail, "send_resolved": True, **MESSAGES["email"]}
    assert render_receiver(**MAIL) == {"email_configs": [mail_config]}
    login = {"auth_username": "k8s", "auth_password_file": FILE}
    assert render_receiver(**MAIL, user="k8s", secret_file="/s") == {"email_configs": [mail_config | login]}
