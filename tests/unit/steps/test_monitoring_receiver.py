"""Who receives alerts, as Alertmanager's configuration."""

from typing import Any

from gpustack.config.sections.monitoring import Receiver
from gpustack.config.spec import Spec
from gpustack.steps.monitoring.receiver import FILE, alertmanager, way

MAIL = {"type": "email", "to": "ops@example.com", "sender": "k8s@example.com", "smarthost": "mail.example.com:587"}


def of(**receiver: str) -> dict[str, Any]:
    return way(Receiver(**receiver))  # type: ignore[arg-type]


def test_without_a_receiver_the_chart_s_own_stays() -> None:
    assert alertmanager(Spec()) == {}


def test_all_but_watchdog_goes_to_the_receiver_and_a_test_at_once() -> None:
    spec = Spec.model_validate({"alerts": {"receiver": {"type": "webhook", "secret_file": "/s"}}})
    made = alertmanager(spec)
    assert made["alertmanagerSpec"] == {"secrets": ["gpustack-receiver"]}
    route = made["config"]["route"]
    assert (route["receiver"], [one["receiver"] for one in route["routes"]]) == ("gpustack", ["null", "gpustack"])
    watchdog, test = route["routes"]
    assert watchdog["matchers"] == ['alertname = "Watchdog"']
    assert (test["matchers"], test["group_by"]) == (['alertname = "GpustackTest"'], ["alertname", "test"])
    assert [one["name"] for one in made["config"]["receivers"]] == ["null", "gpustack"]


def test_a_secret_is_a_file_and_its_end_is_reported() -> None:
    assert of(type="webhook") == {"webhook_configs": [{"url_file": FILE, "send_resolved": True}]}
    slack = {"api_url_file": FILE, "channel": "#gpus", "send_resolved": True}
    assert of(type="slack", channel="#gpus") == {"slack_configs": [slack]}
    assert of(type="pagerduty") == {"pagerduty_configs": [{"routing_key_file": FILE, "send_resolved": True}]}
    mail = {"to": "ops@example.com", "from": "k8s@example.com", "smarthost": "mail.example.com:587"}
    assert of(**MAIL) == {"email_configs": [{**mail, "send_resolved": True}]}
    login = {"auth_username": "k8s", "auth_password_file": FILE}
    assert of(**MAIL, user="k8s") == {"email_configs": [{**mail, "send_resolved": True, **login}]}
