"""The receivers of the spec become a configuration that Alertmanager takes and routes by, and test alerts go all the
way."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.events import ignore_event
from gpustack.proof.alertmanager import Alertmanager, build_alert
from gpustack.proof.delivery import Delivery, Trial
from gpustack.steps.monitoring.receiver import build_alertmanager_values
from tests.contract.alertmanager import build_configuration, check, find_receivers, run_alertmanager
from tests.contract.roles import list_role_tasks
from tests.lab.http_proxy import Proxy, run_server
from tests.lab.webhook import Webhook, run_webhook
from tests.lab.witness import wait_until
from tests.unit.config.specs import build_inventory

MAIL = {"type": "email", "to": "ops@example.com", "sender": "k8s@example.com", "smarthost": "mail.example.com:587"}
HOOK = {"type": "webhook", "secret_file": "/s"}
PAGER = {"type": "pagerduty", "secret_file": "/s"}
SLACK = {"type": "slack", "secret_file": "/s", "channel": "#gpus"}
TEAMS = {"type": "msteams", "secret_file": "/s"}
RECEIVERS: dict[str, dict[str, Any]] = {
    "none": {},
    "webhook": {"default": [HOOK]},
    "slack": {"default": [SLACK]},
    "msteams": {"default": [TEAMS]},
    "pagerduty": {"default": [PAGER]},
    "all kinds": {"default": [HOOK, SLACK, TEAMS, PAGER, MAIL]},
    "email": {"default": [MAIL]},
    "email with a login": {"default": [{**MAIL, "user": "k8s", "secret_file": "/s"}]},
    "by severity": {"critical": [PAGER, SLACK], "warning": [SLACK], "info": [MAIL]},
}
SEVERITIES = ("critical", "warning", "info")


@pytest.mark.parametrize("role", ["monitoring", "standalone_monitoring"])
def test_a_role_hands_over_one_line_for_each_secret(tmp_path: Path, role: str) -> None:
    """Ansible itself renders the lines: it makes some newlines of a template a backslash and an n."""
    checked_tasks = [
        task["ansible.builtin.command"]
        for _, task in list_role_tasks(locate_playbooks() / "roles" / role)
        if "no_log" in task
    ]
    (receiver_task,) = (task for task in checked_tasks if "receivers.sh" in str(task["argv"]))
    (tmp_path / "secret").write_text("token")
    cases: tuple[tuple[str, ...], ...] = ((), ("default-webhook",), ("critical-pagerduty", "info-email"))
    tasks = [
        {
            "ansible.builtin.command": {**receiver_task, "argv": ["tee", str(tmp_path / f"lines-{number}")]},
            "vars": {f"{role}_secret_files": dict.fromkeys(names, str(tmp_path / "secret"))},
        }
        for number, names in enumerate(cases)
    ]
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    words = [program, "-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}"]
    process = subprocess.run(
        [*words, str(tmp_path / "play.yml")], check=False, capture_output=True, text=True, timeout=100, cwd=tmp_path
    )
    assert process.returncode == 0, process.stdout + process.stderr
    for number, names in enumerate(cases):
        lines = (tmp_path / f"lines-{number}").read_text().splitlines()
        assert lines == ["#", *(f"{name} dG9rZW4=" for name in names)]


@pytest.mark.parametrize("receivers", RECEIVERS.values(), ids=RECEIVERS)
def test_alertmanager_takes_every_way(tmp_path: Path, receivers: dict[str, Any]) -> None:
    check_result = check(tmp_path, build_configuration(receivers, tmp_path))
    assert check_result.returncode == 0, check_result.stdout + check_result.stderr
    assert f"{1 + sum(map(len, receivers.values()))} receivers" in check_result.stdout


def test_the_checker_refuses_what_is_wrong(tmp_path: Path) -> None:
    text = build_configuration(RECEIVERS["webhook"], tmp_path).replace("url_file", "address_file")
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
        (
            "all kinds",
            "severity=critical",
            "default-webhook,default-slack,default-msteams,default-pagerduty,default-email",
        ),
        ("webhook", "severity=critical", "default-webhook"),
        ("webhook", "severity=info", "default-webhook"),
        ("webhook", "severity=none", "default-webhook"),
        ("none", "severity=critical", "null"),
    ],
)
def test_alerts_are_routed_by_severity(tmp_path: Path, receivers: str, labels: str, names: str) -> None:
    assert find_receivers(tmp_path, build_configuration(RECEIVERS[receivers], tmp_path), labels.split()) == names


def test_info_without_receivers_goes_to_nobody(tmp_path: Path) -> None:
    text = build_configuration({"default": [HOOK], "info": []}, tmp_path)
    assert [find_receivers(tmp_path, text, [f"severity={severity}"]) for severity in SEVERITIES] == [
        "default-webhook"
    ] * 2 + ["null"]


def send_alert(alertmanager: Alertmanager, severity: str = "warning") -> Delivery:
    result = Trial(
        alertmanager, ignore_event, lambda: "", "demo", severity, "https://runbooks.example.com/gpus", limit=40
    ).run_test()
    assert (result.severity, result.unresolved_reason) == (severity, "")
    return result


def list_arrivals(delivery: Delivery) -> dict[str, tuple[str, str]]:
    return {arrival.receiver: (arrival.outcome, arrival.reason) for arrival in delivery.arrivals}


def list_statuses(hook: Webhook) -> list[str]:
    return [alert["status"] for alert in hook.list_alerts(alertname="GpustackTest")]


def test_an_alert_goes_all_the_way(tmp_path: Path) -> None:
    """An alert that is refused is known at once, too."""
    with (
        run_webhook(port=0) as hook,
        run_alertmanager(tmp_path, build_configuration(RECEIVERS["webhook"], tmp_path)) as alertmanager,
    ):
        secret = tmp_path / "default-webhook"
        secret.write_text(hook.url)
        assert list_arrivals(send_alert(alertmanager)) == {"default-webhook": ("delivered", "")}
        (body,) = hook.bodies
        (alert,) = body["alerts"]
        assert (alert["status"], alert["labels"]["severity"]) == ("firing", "warning")
        assert alert["annotations"]["runbook_url"] == alert["generatorURL"] == "https://runbooks.example.com/gpus"
        secret.write_text(f"{hook.url}/of-somebody-else")
        assert list_arrivals(send_alert(alertmanager)) == {
            "default-webhook": ("failed", "it refused the alert (HTTP 4xx)")
        }


@pytest.mark.parametrize("receiver", [HOOK, TEAMS], ids=lambda receiver: receiver["type"])
def test_a_receiver_outside_is_reached_through_the_proxy_alone(tmp_path: Path, receiver: dict[str, str]) -> None:
    """The pod has the variables of the chart's values; the name of the receiver is known to the proxy only."""
    receivers, name = {"default": [receiver]}, f"default-{receiver['type']}"
    with (
        run_webhook(port=0) as hook,
        run_server(Proxy("127.0.0.1", "kube", "word", {"hooks.example.com": "127.0.0.1"}, {}, 0)) as proxy,
    ):
        url = urlsplit(hook.url)
        (tmp_path / name).write_text(f"http://hooks.example.com:{url.port}{url.path}")
        address = f"http://127.0.0.1:{proxy.server_address[1]}"
        spec = {"http": address, "user": "kube", "password_file": "/nowhere"}
        env = build_alertmanager_values(build_inventory(alerts={"receivers": receivers}, proxy=spec))
        (container,) = env["alertmanagerSpec"]["containers"]
        environment = {entry["name"]: entry.get("value", "") for entry in container["env"]}
        assert set(environment) == {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}
        environment |= {"HTTP_PROXY": address.replace("//", "//kube:word@")}
        with run_alertmanager(
            tmp_path, build_configuration(receivers, tmp_path, spec), environment=environment
        ) as alertmanager:
            assert list_arrivals(send_alert(alertmanager)) == {name: ("delivered", "")}
        assert set(proxy.served_targets) == {f"http://hooks.example.com:{url.port}{url.path}"}
        assert proxy.refused_targets == []


def test_each_receiver_gets_its_severities(tmp_path: Path) -> None:
    """The receivers are of one type, and the one that refuses is not taken for the others."""
    receivers = {"critical": [HOOK, HOOK], "warning": [HOOK], "info": [HOOK]}
    with (
        run_webhook(port=0) as hook,
        run_alertmanager(tmp_path, build_configuration(receivers, tmp_path)) as alertmanager,
    ):
        for name in ("critical-webhook", "info-webhook"):
            (tmp_path / name).write_text(hook.url)
        for name in ("critical-webhook-2", "warning-webhook"):
            (tmp_path / name).write_text(f"{hook.url}/of-somebody-else")
        refusal = ("failed", "it refused the alert (HTTP 4xx)")
        deliveries = {severity: send_alert(alertmanager, severity) for severity in SEVERITIES}
        assert list_arrivals(deliveries["critical"]) == {
            "critical-webhook": ("delivered", ""),
            "critical-webhook-2": refusal,
        }
        assert list_arrivals(deliveries["warning"]) == {"warning-webhook": refusal}
        assert list_arrivals(deliveries["info"]) == {"info-webhook": ("delivered", "")}
        assert [delivery.outcome for delivery in deliveries.values()] == ["failed", "failed", "delivered"]
        assert {alert["labels"]["severity"] for alert in hook.list_alerts(alertname="GpustackTest")} == {
            "critical",
            "info",
        }


def test_counters_that_do_not_tell_receivers_apart_prove_nothing(tmp_path: Path) -> None:
    with (
        run_webhook(port=0) as hook,
        run_alertmanager(tmp_path, build_configuration(RECEIVERS["webhook"], tmp_path), "") as alertmanager,
    ):
        (tmp_path / "default-webhook").write_text(hook.url)
        result = Trial(alertmanager, ignore_event, lambda: "", "demo", "info", limit=4).run_test()
        assert result.outcome == "unknown"
        assert "does not count by receiver" in result.arrivals[0].reason


@pytest.mark.slow
def test_a_receiver_that_is_down_fails(tmp_path: Path) -> None:
    with (
        run_webhook(port=0) as hook,
        run_alertmanager(tmp_path, build_configuration(RECEIVERS["webhook"], tmp_path)) as alertmanager,
    ):
        secret = tmp_path / "default-webhook"
        secret.write_text(hook.url)
        assert send_alert(alertmanager).outcome == "delivered"
        wait_until("the end of the alert", lambda: list_statuses(hook) == ["firing", "resolved"], limit=30)
        hook.status = 503
        assert list_arrivals(send_alert(alertmanager)) == {"default-webhook": ("failed", "it failed (HTTP 5xx)")}
        secret.write_text("http://127.0.0.1:1/hook")
        ((outcome, reason),) = list_arrivals(send_alert(alertmanager)).values()
        assert (outcome, reason.startswith("it was not reached, or refused")) == ("failed", True)


def test_a_silenced_alert_is_reported_as_kept_back(tmp_path: Path) -> None:
    (tmp_path / "default-webhook").write_text("http://127.0.0.1:1/hook")
    with run_alertmanager(tmp_path, build_configuration({}, tmp_path)) as alertmanager_there:
        sent_alert = send_alert(alertmanager_there)
        assert (sent_alert.outcome, sent_alert.reason) == (
            "failed",
            "Alertmanager gives it to null, which has no integration",
        )
    with run_alertmanager(tmp_path, build_configuration(RECEIVERS["webhook"], tmp_path)) as alertmanager:
        matcher = {"name": "severity", "value": "info", "isRegex": False}
        silence = {"matchers": [matcher], "startsAt": "2020-01-01T00:00:00Z", "endsAt": "2100-01-01T00:00:00Z"}
        alertmanager.web.post("/api/v2/silences", {**silence, "createdBy": "us", "comment": "quiet"})
        sent_alert = send_alert(alertmanager, "info")
        assert (sent_alert.outcome, sent_alert.reason.startswith("Alertmanager keeps it back: silenced by ")) == (
            "failed",
            True,
        )


GPU = {"node": "host1", "UUID": "GPU-1"}
INHIBITED_PAIRS: list[tuple[str, dict[str, str], dict[str, str], bool]] = [
    ("the same GPU", {"alertname": "A", **GPU}, {"alertname": "B", **GPU}, True),
    ("another GPU", {"alertname": "A", **GPU}, {"alertname": "B", **GPU, "UUID": "GPU-2"}, False),
    ("the GPU's node", {"alertname": "A", **GPU}, {"alertname": "B", "node": "host1"}, False),
    ("a GPU of the node", {"alertname": "A", "node": "host1"}, {"alertname": "B", **GPU}, True),
    ("the node", {"alertname": "A", "node": "host1"}, {"alertname": "B", "node": "host1"}, True),
    ("some GPUs of the node", {"alertname": "GpuFewerThanCapacity", "node": "host1"}, {"alertname": "B", **GPU}, False),
    ("another node", {"alertname": "A", "node": "host1"}, {"alertname": "B", "node": "host2"}, False),
    ("neither has a node", {"alertname": "A"}, {"alertname": "B"}, False),
    ("the same name", {"alertname": "A", "namespace": "x"}, {"alertname": "A", "namespace": "x"}, True),
    ("another host", {"alertname": "A", "instance": "1"}, {"alertname": "A", "instance": "2"}, False),
]


def test_a_critical_alert_inhibits_lesser_ones(tmp_path: Path) -> None:
    with run_alertmanager(tmp_path, build_configuration(RECEIVERS["webhook"], tmp_path)) as alertmanager:
        for name, critical, lower, mutes in INHIBITED_PAIRS:
            source = {**critical, "severity": "critical"}
            with raise_alert(alertmanager, source):
                for severity in ("warning", "info"):
                    labels = {**lower, "severity": severity, "pair": name}
                    with raise_alert(alertmanager, labels):
                        label = f"{name}, {severity}"
                        assert wait_until(label, lambda: is_muted(alertmanager, labels) is mutes, limit=30)  # noqa: B023


@contextmanager
def raise_alert(alertmanager: Alertmanager, labels: dict[str, str]) -> Iterator[None]:
    """Raise an alert until the end of the block. A warning inhibits info of its name, so this waits until it has
    ended."""
    alertmanager.post_alert(build_alert(labels, {}, datetime.now(UTC) + timedelta(minutes=5)))
    wait_until("it is there", lambda: alertmanager.find_alert(labels), limit=30)
    yield
    alertmanager.post_alert(build_alert(labels, {}, datetime.now(UTC)))
    wait_until("it has ended", lambda: alertmanager.find_alert(labels) is None, limit=30)


def is_muted(alertmanager: Alertmanager, labels: dict[str, str]) -> bool | None:
    """Tell whether an alert is inhibited. Return None where it is not there."""
    alert = alertmanager.find_alert(labels)
    return bool(alert.mute_reason) if alert else None
