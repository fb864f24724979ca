"""What the spec says of receivers is a configuration that Alertmanager takes and routes by, and test alerts go all the
way."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.events import ignore_event
from gpustack.proof.alertmanager import Alertmanager, build_alert
from gpustack.proof.delivery import Delivery, Trial
from tests.contract.alertmanager import check, configuration, routed, running
from tests.contract.roles import tasks_of
from tests.lab.webhook import Webhook, webhook
from tests.lab.witness import until

MAIL = {"type": "email", "to": "ops@example.com", "sender": "k8s@example.com", "smarthost": "mail.example.com:587"}
HOOK = {"type": "webhook", "secret_file": "/s"}
PAGER = {"type": "pagerduty", "secret_file": "/s"}
SLACK = {"type": "slack", "secret_file": "/s", "channel": "#gpus"}
RECEIVERS: dict[str, dict[str, Any]] = {
    "none": {},
    "webhook": {"default": [HOOK]},
    "slack": {"default": [SLACK]},
    "pagerduty": {"default": [PAGER]},
    "email": {"default": [MAIL]},
    "email with a login": {"default": [{**MAIL, "user": "k8s", "secret_file": "/s"}]},
    "by severity": {"critical": [PAGER, SLACK], "warning": [SLACK], "info": [MAIL]},
}
SEVERITIES = ("critical", "warning", "info")


@pytest.mark.parametrize("role", ["monitoring", "standalone_monitoring"])
def test_a_role_hands_over_one_line_for_each_secret(tmp_path: Path, role: str) -> None:
    """As Ansible itself renders them: it makes some newlines of a template a backslash and an n."""
    found = [
        task["ansible.builtin.command"] for _, task in tasks_of(locate_playbooks() / "roles" / role) if "no_log" in task
    ]
    (wanted,) = (one for one in found if "receivers.sh" in str(one["argv"]))
    (tmp_path / "secret").write_text("token")
    cases: tuple[tuple[str, ...], ...] = ((), ("default-webhook",), ("critical-pagerduty", "info-email"))
    tasks = [
        {
            "ansible.builtin.command": {**wanted, "argv": ["tee", str(tmp_path / f"lines-{number}")]},
            "vars": {f"{role}_secret_files": dict.fromkeys(names, str(tmp_path / "secret"))},
        }
        for number, names in enumerate(cases)
    ]
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    words = [program, "-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}"]
    done = subprocess.run(
        [*words, str(tmp_path / "play.yml")], check=False, capture_output=True, text=True, timeout=100, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for number, names in enumerate(cases):
        lines = (tmp_path / f"lines-{number}").read_text().splitlines()
        assert lines == ["#", *(f"{name} dG9rZW4=" for name in names)]


@pytest.mark.parametrize("receivers", RECEIVERS.values(), ids=RECEIVERS)
def test_alertmanager_takes_every_way(tmp_path: Path, receivers: dict[str, Any]) -> None:
    done = check(tmp_path, configuration(receivers, tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{1 + sum(map(len, receivers.values()))} receivers" in done.stdout


def test_the_checker_refuses_what_is_wrong(tmp_path: Path) -> None:
    text = configuration(RECEIVERS["webhook"], tmp_path).replace("url_file", "address_file")
    assert check(tmp_path, text).returncode != 0


@pytest.mark.parametrize(
    ("receivers", "labels", "names"),
    [
        ("by severity", "severity=critical", "critical-pagerduty,critical-slack"),
        ("by severity", "severity=critical alertname=GpustackTest", "critical-pagerduty,critical-slack"),
        ("by severity", "severity=warning UUID=GPU-1", "warning-slack"),
        ("by severity", "severity=info alertname=GpustackTest", "info-email"),
        ("by severity", "severity=page", "warning-slack"),
        ("by severity", "alertname=X", "warning-slack"),
        ("by severity", "severity=none alertname=Watchdog", "null"),
        ("by severity", "severity=none alertname=InfoInhibitor", "null"),
        ("webhook", "severity=critical", "default-webhook"),
        ("webhook", "severity=info", "default-webhook"),
        ("webhook", "severity=none", "default-webhook"),
        ("none", "severity=critical", "null"),
    ],
)
def test_routes(tmp_path: Path, receivers: str, labels: str, names: str) -> None:
    assert routed(tmp_path, configuration(RECEIVERS[receivers], tmp_path), labels.split()) == names


def test_info_that_goes_to_nobody(tmp_path: Path) -> None:
    text = configuration({"default": [HOOK], "info": []}, tmp_path)
    assert [routed(tmp_path, text, [f"severity={one}"]) for one in SEVERITIES] == ["default-webhook"] * 2 + ["null"]


def sent(there: Alertmanager, severity: str = "warning") -> Delivery:
    done = Trial(
        there, ignore_event, lambda: "", "demo", severity, "https://runbooks.example.com/gpus", limit=40
    ).run_test()
    assert (done.severity, done.unresolved_reason) == (severity, "")
    return done


def arrivals(done: Delivery) -> dict[str, tuple[str, str]]:
    return {arrival.receiver: (arrival.outcome, arrival.reason) for arrival in done.arrivals}


def shown(hook: Webhook) -> list[str]:
    return [alert["status"] for alert in hook.alerts(alertname="GpustackTest")]


def test_an_alert_goes_all_the_way(tmp_path: Path) -> None:
    """One that is refused is known at once, too."""
    with webhook(port=0) as hook, running(tmp_path, configuration(RECEIVERS["webhook"], tmp_path)) as alertmanager:
        secret = tmp_path / "default-webhook"
        secret.write_text(hook.url)
        assert arrivals(sent(alertmanager)) == {"default-webhook": ("delivered", "")}
        (body,) = hook.bodies
        (alert,) = body["alerts"]
        assert (alert["status"], alert["labels"]["severity"]) == ("firing", "warning")
        assert alert["annotations"]["runbook_url"] == alert["generatorURL"] == "https://runbooks.example.com/gpus"
        secret.write_text(f"{hook.url}/of-somebody-else")
        assert arrivals(sent(alertmanager)) == {"default-webhook": ("failed", "it refused the alert (HTTP 4xx)")}


def test_which_receiver_got_what(tmp_path: Path) -> None:
    """All of one type, of which one refuses: it is not taken for the others."""
    receivers = {"critical": [HOOK, HOOK], "warning": [HOOK], "info": [HOOK]}
    with webhook(port=0) as hook, running(tmp_path, configuration(receivers, tmp_path)) as alertmanager:
        for name in ("critical-webhook", "info-webhook"):
            (tmp_path / name).write_text(hook.url)
        for name in ("critical-webhook-2", "warning-webhook"):
            (tmp_path / name).write_text(f"{hook.url}/of-somebody-else")
        refused = ("failed", "it refused the alert (HTTP 4xx)")
        deliveries = {severity: sent(alertmanager, severity) for severity in SEVERITIES}
        assert arrivals(deliveries["critical"]) == {
            "critical-webhook": ("delivered", ""),
            "critical-webhook-2": refused,
        }
        assert arrivals(deliveries["warning"]) == {"warning-webhook": refused}
        assert arrivals(deliveries["info"]) == {"info-webhook": ("delivered", "")}
        assert [delivery.outcome for delivery in deliveries.values()] == ["failed", "failed", "delivered"]
        assert {alert["labels"]["severity"] for alert in hook.alerts(alertname="GpustackTest")} == {"critical", "info"}


def test_counters_that_do_not_tell_receivers_apart_prove_nothing(tmp_path: Path) -> None:
    with webhook(port=0) as hook, running(tmp_path, configuration(RECEIVERS["webhook"], tmp_path), "") as alertmanager:
        (tmp_path / "default-webhook").write_text(hook.url)
        done = Trial(alertmanager, ignore_event, lambda: "", "demo", "info", limit=4).run_test()
        assert done.outcome == "unknown"
        assert "does not count by receiver" in done.arrivals[0].reason


@pytest.mark.slow
def test_the_end_of_the_alert_and_a_receiver_that_is_down(tmp_path: Path) -> None:
    with webhook(port=0) as hook, running(tmp_path, configuration(RECEIVERS["webhook"], tmp_path)) as alertmanager:
        secret = tmp_path / "default-webhook"
        secret.write_text(hook.url)
        assert sent(alertmanager).outcome == "delivered"
        until("the end of the alert", lambda: shown(hook) == ["firing", "resolved"], limit=30)
        hook.status = 503
        assert arrivals(sent(alertmanager)) == {"default-webhook": ("failed", "it failed (HTTP 5xx)")}
        secret.write_text("http://127.0.0.1:1/hook")
        ((outcome, why),) = arrivals(sent(alertmanager)).values()
        assert (outcome, why.startswith("it was not reached, or refused")) == ("failed", True)


def test_an_alert_that_is_silenced_or_sent_to_nobody(tmp_path: Path) -> None:
    (tmp_path / "default-webhook").write_text("http://127.0.0.1:1/hook")
    with running(tmp_path, configuration({}, tmp_path)) as there:
        done = sent(there)
        assert (done.outcome, done.reason) == ("failed", "Alertmanager gives it to null, which has no integration")
    with running(tmp_path, configuration(RECEIVERS["webhook"], tmp_path)) as alertmanager:
        matcher = {"name": "severity", "value": "info", "isRegex": False}
        silence = {"matchers": [matcher], "startsAt": "2020-01-01T00:00:00Z", "endsAt": "2100-01-01T00:00:00Z"}
        alertmanager.web.post("/api/v2/silences", {**silence, "createdBy": "us", "comment": "quiet"})
        done = sent(alertmanager, "info")
        assert (done.outcome, done.reason.startswith("Alertmanager keeps it back: silenced by ")) == ("failed", True)


GPU = {"node": "host1", "UUID": "GPU-1"}
BELOW: list[tuple[str, dict[str, str], dict[str, str], bool]] = [
    ("the same GPU", {"alertname": "A", **GPU}, {"alertname": "B", **GPU}, True),
    ("another GPU", {"alertname": "A", **GPU}, {"alertname": "B", **GPU, "UUID": "GPU-2"}, False),
    ("the GPU's node", {"alertname": "A", **GPU}, {"alertname": "B", "node": "host1"}, False),
    ("a GPU of the node", {"alertname": "A", "node": "host1"}, {"alertname": "B", **GPU}, True),
    ("the node", {"alertname": "A", "node": "host1"}, {"alertname": "B", "node": "host1"}, True),
    ("another node", {"alertname": "A", "node": "host1"}, {"alertname": "B", "node": "host2"}, False),
    ("neither has a node", {"alertname": "A"}, {"alertname": "B"}, False),
    ("the same name", {"alertname": "A", "namespace": "x"}, {"alertname": "A", "namespace": "x"}, True),
    ("another host", {"alertname": "A", "instance": "1"}, {"alertname": "A", "instance": "2"}, False),
]


def test_what_a_critical_alert_silences(tmp_path: Path) -> None:
    with running(tmp_path, configuration(RECEIVERS["webhook"], tmp_path)) as alertmanager:
        for name, critical, lower, inhibited in BELOW:
            source = {**critical, "severity": "critical"}
            with firing(alertmanager, source):
                for severity in ("warning", "info"):
                    labels = {**lower, "severity": severity, "pair": name}
                    with firing(alertmanager, labels):
                        until(f"{name}, {severity}", lambda: is_muted(alertmanager, labels) is inhibited, limit=30)  # noqa: B023


@contextmanager
def firing(there: Alertmanager, labels: dict[str, str]) -> Iterator[None]:
    """A warning silences info of its name, too: each ends before the next one begins."""
    there.post_alert(build_alert(labels, {}, datetime.now(UTC) + timedelta(minutes=5)))
    until("it is there", lambda: there.find_alert(labels), limit=30)
    yield
    there.post_alert(build_alert(labels, {}, datetime.now(UTC)))
    until("it has ended", lambda: there.find_alert(labels) is None, limit=30)


def is_muted(there: Alertmanager, labels: dict[str, str]) -> bool | None:
    """Whether it is inhibited; None where it is not there."""
    alert = there.find_alert(labels)
    return bool(alert.mute_reason) if alert else None
