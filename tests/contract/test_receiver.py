"""What the spec says of a receiver is a configuration that Alertmanager takes, and a test alert goes all the way."""

from pathlib import Path
from typing import Any

import pytest

from gpustack.events import silent
from gpustack.proof.alertmanager import Alertmanager
from gpustack.proof.delivery import Trial
from tests.contract.alertmanager import check, configuration, running
from tests.lab.webhook import Webhook, webhook
from tests.lab.witness import until

MAIL = {"type": "email", "to": "ops@example.com", "sender": "k8s@example.com", "smarthost": "mail.example.com:587"}
RECEIVERS: dict[str, dict[str, Any]] = {
    "none": {},
    "webhook": {"type": "webhook", "secret_file": "/s"},
    "slack": {"type": "slack", "secret_file": "/s", "channel": "#gpus"},
    "pagerduty": {"type": "pagerduty", "secret_file": "/s"},
    "email": {**MAIL},
    "email with a login": {**MAIL, "user": "k8s", "secret_file": "/s"},
}


@pytest.mark.parametrize("receiver", RECEIVERS.values(), ids=RECEIVERS)
def test_alertmanager_takes_every_way(tmp_path: Path, receiver: dict[str, Any]) -> None:
    done = check(tmp_path, configuration(receiver, tmp_path / "secret"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{2 if receiver else 1} receivers" in done.stdout


def test_the_checker_refuses_what_is_wrong(tmp_path: Path) -> None:
    text = configuration(RECEIVERS["webhook"], tmp_path / "secret").replace("url_file", "address_file")
    assert check(tmp_path, text).returncode != 0


def sent(there: Alertmanager) -> tuple[str, str]:
    done = Trial(there, silent, lambda: "", "demo", "https://runbooks.example.com/gpus", limit=40).test()
    assert (done.receivers, done.integrations, done.left) == (("gpustack",), ("webhook",), "")
    return done.outcome, done.why


def shown(hook: Webhook) -> list[str]:
    return [found["status"] for found in hook.alerts(alertname="GpustackTest")]


def test_an_alert_goes_all_the_way(tmp_path: Path) -> None:
    """One that is refused is known at once, too."""
    secret = tmp_path / "secret"
    with webhook(port=0) as hook, running(tmp_path, configuration(RECEIVERS["webhook"], secret)) as there:
        secret.write_text(hook.url)
        assert sent(there) == ("delivered", "")
        (body,) = hook.bodies
        (alert,) = body["alerts"]
        assert (alert["status"], alert["labels"]["severity"]) == ("firing", "info")
        assert alert["annotations"]["runbook_url"] == alert["generatorURL"] == "https://runbooks.example.com/gpus"
        secret.write_text(f"{hook.url}/of-somebody-else")
        assert sent(there) == ("failed", "webhook: it refused the alert (HTTP 4xx)")


@pytest.mark.slow
def test_the_end_of_the_alert_and_a_receiver_that_is_down(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    with webhook(port=0) as hook, running(tmp_path, configuration(RECEIVERS["webhook"], secret)) as there:
        secret.write_text(hook.url)
        assert sent(there) == ("delivered", "")
        until("the end of the alert", lambda: shown(hook) == ["firing", "resolved"], limit=30)
        hook.status = 503
        assert sent(there) == ("failed", "webhook: it failed (HTTP 5xx)")
        secret.write_text("http://127.0.0.1:1/hook")
        outcome, why = sent(there)
        assert (outcome, why.startswith("webhook: it was not reached, or refused")) == ("failed", True)


def test_an_alert_that_is_inhibited_or_sent_to_nobody(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("http://127.0.0.1:1/hook")
    with running(tmp_path, configuration({}, secret)) as there:
        done = Trial(there, silent, lambda: "", "demo").test()
        assert (done.outcome, done.why) == ("failed", "Alertmanager gives it to null, which has no integration")
    with running(tmp_path, configuration(RECEIVERS["webhook"], secret)) as there:
        matcher = {"name": "severity", "value": "info", "isRegex": False}
        silence = {"matchers": [matcher], "startsAt": "2020-01-01T00:00:00Z", "endsAt": "2100-01-01T00:00:00Z"}
        there.web.post("/api/v2/silences", {**silence, "createdBy": "us", "comment": "quiet"})
        outcome, why = sent(there)
        assert (outcome, why.startswith("Alertmanager keeps it back: silenced by ")) == ("failed", True)
