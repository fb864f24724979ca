"""The receiver of alerts: Alertmanager's configuration. It reads the secret as a file, from a Secret of ours."""

from typing import Any

from gpustack.config.sections.monitoring import Receiver
from gpustack.config.spec import Spec

RECEIVER, NOBODY = "gpustack", "null"
SECRET, KEY = "gpustack-receiver", "secret"
# The alert of `gpustack alerts test`. Each is a group of its own, sent at once; Alertmanager gives a failing receiver
# up after group_interval, at least ten seconds, and only then says so.
TEST, TEST_LABEL = "GpustackTest", "test"
TEST_ROUTE = {
    "matchers": [f'alertname = "{TEST}"'],
    "receiver": RECEIVER,
    "group_by": ["alertname", TEST_LABEL],
    "group_wait": "1s",
    "group_interval": "10s",
}
FILE = f"/etc/alertmanager/secrets/{SECRET}/{KEY}"


def alertmanager(spec: Spec) -> dict[str, Any]:
    """What follows from the spec below the chart's key `alertmanager`."""
    target = spec.alerts.receiver
    if target.type == "none":
        return {}
    route = {
        "receiver": RECEIVER,
        "group_by": ["alertname", "node", "UUID"],
        "group_wait": "10s",
        "group_interval": "5m",
        "repeat_interval": "12h",
        "routes": [
            # It always fires, to show that alerts can: whoever wants that heartbeat routes it in values.
            {"matchers": ['alertname = "Watchdog"'], "receiver": NOBODY},
            TEST_ROUTE,
        ],
    }
    receivers = [{"name": NOBODY}, {"name": RECEIVER, **way(target)}]
    return {"config": {"route": route, "receivers": receivers}, "alertmanagerSpec": {"secrets": [SECRET]}}


def way(target: Receiver) -> dict[str, Any]:
    """Of one receiver, by its type (https://prometheus.io/docs/alerting/latest/configuration)."""
    if target.type == "webhook":
        return {"webhook_configs": [{"url_file": FILE, "send_resolved": True}]}
    if target.type == "slack":
        return {"slack_configs": [{"api_url_file": FILE, "channel": target.channel, "send_resolved": True}]}
    if target.type == "pagerduty":
        return {"pagerduty_configs": [{"routing_key_file": FILE, "send_resolved": True}]}
    login = {"auth_username": target.user, "auth_password_file": FILE} if target.user else {}
    mail = {"to": target.to, "from": target.sender, "smarthost": target.smarthost, "send_resolved": True}
    return {"email_configs": [mail | login]}
