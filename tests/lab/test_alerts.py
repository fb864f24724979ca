"""A broken GPU reaches a human: its Xid comes to a webhook with its runbook, and so does its end; `alerts test` tells
whether the webhook hears.

The windows are short here: with those that are shipped a critical Xid goes on firing for 35 minutes, five of the
exporter's and thirty of the rule's.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from gpustack_lab import lab
from tests.lab import roads, witness
from tests.lab.conftest import Run
from tests.lab.http_proxy import run_proxy
from tests.lab.webhook import PORT, SECRET, Webhook, run_webhook

pytestmark = [pytest.mark.lab, pytest.mark.slow]

RUNBOOKS = "https://runbooks.example.com/gpus"
KUBECTL = "sudo kubectl --kubeconfig /etc/kubernetes/admin.conf"
RULES = f"{KUBECTL} -n monitoring get prometheusrule gpustack-gpu-alerts -o json"
ASK = f"{KUBECTL} get --raw /api/v1/namespaces/monitoring/services/http:monitoring-prometheus:http-web/proxy/api/v1"
XID = {"alertname": "GpuXidCritical", "xid": "79"}
# As an operator writes them beside the inventory. A list replaces ours, so the interval stands here, too.
VALUES = {
    "monitoring": {
        "alertmanager": {"config": {"route": {"group_interval": "10s"}}},
        "prometheus": {"prometheusSpec": {"evaluationInterval": "5s"}},
    },
    "gpu-operator": {
        "dcgmExporter": {
            "env": [
                {"name": "DCGM_EXPORTER_INTERVAL", "value": "5000"},
                {"name": "DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE", "value": "30000"},
            ]
        }
    },
}


@pytest.fixture(scope="module")
def one_host(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    return make_lab("alerts", ["debian-13"], monitored=True, gpus="1")


@pytest.fixture(scope="module")
def hook(one_host: lab.Lab) -> Iterator[Webhook]:
    with run_webhook(one_host.record.gateway) as webhook:
        yield webhook


@pytest.fixture(scope="module")
def secret(hook: Webhook, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secret") / "webhook"
    path.touch(mode=0o600)
    path.write_text(f"{hook.url}\n")
    return path


@pytest.fixture(scope="module")
def inventory(one_host: lab.Lab, secret: Path, gpustack: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inventory of a cluster that is installed, with short windows."""
    receiver = {"type": "webhook", "secret_file": str(secret)}
    alerts = {"runbooks": RUNBOOKS, "receivers": {"default": [receiver]}}
    quick = {"gpu": {"metrics": {"interval": "5s"}}, "monitoring": {"scrape_interval": "5s"}}
    inventory = roads.copy_inventory(
        one_host, tmp_path_factory.mktemp("site") / "inventory", ["host1"], alerts=alerts, **quick
    )
    (inventory / "values").mkdir()
    for release, values in VALUES.items():
        (inventory / "values" / f"{release}.yaml").write_text(yaml.safe_dump(values))
    process = gpustack("install", "-i", inventory, "--yes", "-v", limit=2400)
    assert SECRET not in process.stdout + process.stderr
    shorten(one_host)
    return inventory


def run_script(running_lab: lab.Lab, script: str) -> str:
    process: subprocess.CompletedProcess[str] = running_lab.exec("host1", ["sh", "-c", script], limit=120)
    assert process.returncode == 0, process.stderr
    return process.stdout


def shorten(running_lab: lab.Lab) -> None:
    """Make our rules end soon. Nothing in the spec can say so, and nothing should."""
    change = """sed -E 's/"keep_firing_for": "[0-9]+m"/"keep_firing_for": "5s"/'"""
    run_script(running_lab, f"{RULES} | {change} | {KUBECTL} replace -f -")
    witness.wait_until("Prometheus has the short rules", lambda: list_keep_firing(running_lab) == {5}, limit=240)


def list_keep_firing(running_lab: lab.Lab) -> set[float]:
    """List the seconds for which Prometheus goes on with alerts about Xids."""
    groups = json.loads(run_script(running_lab, f"{ASK}/rules?type=alert"))["data"]["groups"]
    return {rule["keepFiringFor"] for group in groups for rule in group["rules"] if rule["name"] == XID["alertname"]}


def test_a_test_alert_arrives_and_ends(inventory: Path, hook: Webhook, gpustack: Run) -> None:
    process = gpustack("alerts", "test", "-i", inventory)
    lines = process.stdout.splitlines()
    for severity, line, text in zip(("critical", "warning", "info"), lines[::2], lines[1::2], strict=True):
        assert line.startswith(f"{severity}: delivered to default-webhook by webhook in ")
        assert text == "    no text: a webhook gets Alertmanager's JSON, with labels and annotations"
    assert SECRET not in process.stdout + process.stderr
    witness.wait_until(
        "their end arrives", lambda: sorted(list_statuses(hook)) == ["firing"] * 3 + ["resolved"] * 3, limit=60
    )
    document = json.loads(gpustack("alerts", "test", "-i", inventory, "-o", "json").stdout)
    assert (document["outcome"], document["unrouted_severities"], document["exit"]["code"]) == ("delivered", [], 0)
    assert [severity["receivers"][0]["receiver"] for severity in document["severities"]] == ["default-webhook"] * 3


def list_statuses(hook: Webhook) -> list[str]:
    return [alert["status"] for alert in hook.list_alerts(alertname="GpustackTest")]


def test_a_broken_gpu_reaches_a_human_and_so_does_its_end(inventory: Path, one_host: lab.Lab, hook: Webhook) -> None:
    (gpu,) = one_host.read_gpus("host1")
    assert hook.list_alerts(**XID) == []
    one_host.set_gpu("host1:0", "xid=79")
    first = witness.wait_until("the Xid arrives", lambda: hook.list_alerts(**XID), limit=120)[0]
    assert first["status"] == "firing"
    labels = first["labels"]
    assert (labels["node"], labels["UUID"], labels["severity"]) == ("host1", gpu.uuid, "critical")
    assert first["annotations"]["runbook_url"] == f"{RUNBOOKS}#gpuxidcritical"
    assert first["annotations"]["runbook"] == "gpustack explain alert-gpuxidcritical"
    one_host.set_gpu("host1:0", "recover")
    witness.wait_until("its end arrives", lambda: hook.list_alerts(**XID)[-1]["status"] == "resolved", limit=180)


def test_only_what_is_wrong_is_reported(inventory: Path, hook: Webhook) -> None:
    """Watchdog goes to nobody."""
    assert hook.list_alerts(alertname="Watchdog") == []
    assert hook.strays == []


def join_lines(text: str) -> str:
    return " ".join(text.split())


def test_a_webhook_that_refuses_or_is_down_is_reported(inventory: Path, hook: Webhook, gpustack: Run) -> None:
    hook.status = 403
    process = gpustack("alerts", "test", "-i", inventory, "--severity", "warning", code=1)
    assert "webhook: it refused the alert (HTTP 4xx)" in join_lines(process.stdout)
    hook.status = 500
    process = gpustack("alerts", "test", "-i", inventory, "--severity", "warning", code=1)
    assert "webhook: it failed (HTTP 5xx)" in join_lines(process.stdout)
    assert "next: gpustack explain alerts-not-delivered" in process.stdout
    hook.status = 200


def test_another_address_is_found_and_applied(
    inventory: Path, hook: Webhook, secret: Path, one_host: lab.Lab, gpustack: Run
) -> None:
    """An address at which nobody listens, and back; the plan sees each, and shows none."""
    for address, code in ((f"http://{one_host.record.gateway}:{PORT + 1}{SECRET}", 1), (hook.url, 0)):
        secret.write_text(f"{address}\n")
        plan = gpustack("plan", "-v", "-i", inventory, "--only", "monitoring", code=1)
        assert "Secrets of the receivers" in plan.stdout
        process = gpustack("install", "-i", inventory, "--only", "monitoring", "--yes", "-v")
        assert SECRET not in plan.stdout + plan.stderr + process.stdout + process.stderr
        # The kubelet brings a changed Secret into pods in its own time, at most two minutes.
        witness.wait_until("Alertmanager has it", lambda: send_test(inventory, gpustack) == code, limit=240)  # noqa: B023


def send_test(inventory: Path, gpustack: Run, severity: str = "info") -> int:
    return gpustack("alerts", "test", "-q", "-i", inventory, "--severity", severity, code=None).returncode


def test_a_person_gets_the_text_that_a_test_prints(inventory: Path, hook: Webhook, secret: Path, gpustack: Run) -> None:
    """The text is rendered by amtool in Alertmanager's pod, and the message by Alertmanager."""
    webhook = {"type": "webhook", "secret_file": str(secret)}
    slack = {"type": "slack", "channel": "#gpus", "secret_file": str(secret)}
    roads.merge_into(inventory, {"alerts": {"receivers": {"default": [webhook], "critical": [slack]}}})
    gpustack("install", "-i", inventory, "--only", "monitoring", "--yes")
    witness.wait_until(
        "Alertmanager has it", lambda: send_test(inventory, gpustack, severity="critical") == 0, limit=240
    )
    process = gpustack("alerts", "test", "-i", inventory, "--severity", "critical")
    title, *text = [line.strip() for line in process.stdout.splitlines() if line.startswith("    ")]
    (message,) = next(body["attachments"] for body in reversed(hook.bodies) if "FIRING" in json.dumps(body))
    assert message["title"].startswith("[FIRING:1] critical GpustackTest")
    assert join_lines(message["title"]).startswith(title)
    assert {"*Node:*", "*What:*", "*Since:*", "*Impact:*"} & {line.split(" ")[0] for line in text}


def test_a_receiver_outside_is_reached_through_the_proxy(
    inventory: Path, hook: Webhook, secret: Path, one_host: lab.Lab, gpustack: Run, tmp_path: Path
) -> None:
    """The name of the webhook is known to the proxy alone, whose login no object but a Secret has."""
    gateway, password = one_host.record.gateway, tmp_path / "password"
    password.touch(mode=0o600)
    password.write_text("word-of-the-proxy\n")
    login = {"user": "kube", "password_file": str(password)}
    roads.merge_into(inventory, {"proxy": {"http": f"http://{gateway}:3128", "no_proxy": [gateway], **login}})
    secret.write_text(f"http://hooks.example.com:{PORT}{SECRET}\n")
    with run_proxy(gateway, "kube", "word-of-the-proxy", {"hooks.example.com": gateway}, {}) as proxy:
        steps = "prereqs,containerd,kubernetes,monitoring"
        gpustack("install", "-i", inventory, "--only", steps, "--yes", limit=1200)
        witness.wait_until("Alertmanager uses it", lambda: send_test(inventory, gpustack) == 0, limit=240)
        gpustack("plan", "-i", inventory, "--only", steps)
        assert {target for target in proxy.served_targets if "hooks.example.com" in target}
    objects = run_script(one_host, f"{KUBECTL} -n monitoring get statefulsets,pods,configmaps,alertmanagers -o yaml")
    assert "gpustack-alertmanager-proxy" in objects
    assert "word-of-the-proxy" not in objects
