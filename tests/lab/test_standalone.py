"""A host without Kubernetes: a lab host with two simulated GPUs, witnessed past our own probes."""

import json
from collections.abc import Callable

import pytest
import yaml

from gpustack_lab import lab
from tests.lab import roads, witness
from tests.lab.conftest import Run

pytestmark = [pytest.mark.lab, pytest.mark.slow]

# Nobody hears there (TEST-NET-1, RFC 5737).
HOOK = "http://192.0.2.1/slack"
QUERY = "curl -sG http://127.0.0.1:9090/api/v1/query --data-urlencode query="
FAULTS = {
    "standalone-engine-down": ("systemctl stop nvidia-dcgm", "systemctl start nvidia-dcgm nvidia-dcgm-exporter"),
    "standalone-exporter-down": ("systemctl stop nvidia-dcgm-exporter", "systemctl start nvidia-dcgm-exporter"),
    "standalone-not-scraped": (
        "systemctl stop prometheus-node-exporter", "systemctl start prometheus-node-exporter",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def standalone_host(
    make_lab: Callable[..., lab.Lab], gpustack: Run, tmp_path_factory: pytest.TempPathFactory
) -> lab.Lab:
    standalone_lab = make_lab("standalone", ["debian-12"], monitored=True, gpus="2")
    hosts = standalone_lab.inventory / "hosts.yml"
    content = yaml.safe_load(hosts.read_text())
    nodes = content["all"]["children"].pop("kube_node")
    del content["all"]["children"]["kube_control_plane"]
    content["all"]["children"]["gpu_standalone"] = nodes
    hosts.write_text(yaml.safe_dump(content))
    secret = tmp_path_factory.mktemp("secrets") / "slack"
    secret.write_text(f"{HOOK}\n")
    secret.chmod(0o600)
    slack = {"type": "slack", "channel": "#gpus", "secret_file": str(secret)}
    roads.set_spec(standalone_lab, alerts={"receivers": {"default": [slack]}}, care={"enabled": True})
    gpustack("install", "-i", standalone_lab.inventory, "--yes", limit=1200)
    return standalone_lab


def query_prometheus(running_lab: lab.Lab, query: str) -> list[dict[str, object]]:
    answer = witness.connect_host(running_lab, "host1").check_output(f"{QUERY}'{query}'")
    loads: list[dict[str, object]] = json.loads(answer)["data"]["result"]
    return loads


def test_prometheus_has_every_gpu_and_our_alerts(standalone_host: lab.Lab) -> None:
    witness.wait_until(
        "its rules have been evaluated",
        lambda: len(query_prometheus(standalone_host, "gpustack:gpu:info")) == 2,
        limit=120,
    )
    rules = json.loads(
        witness.connect_host(standalone_host, "host1").check_output("curl -s http://127.0.0.1:9090/api/v1/rules")
    )
    names = {rule["name"] for group in rules["data"]["groups"] for rule in group["rules"]}
    assert {"GpuXidCritical", "GpuMetricsAbsent"} <= names


def test_its_gpus_are_listed_over_ssh(standalone_host: lab.Lab, gpustack: Run) -> None:
    loads = json.loads(gpustack("gpu", "list", "-i", standalone_host.inventory, "-o", "json").stdout)
    assert len(loads["gpus"]) == 2
    assert {gpu["node"] for gpu in loads["gpus"]} == {"host1"}


def test_alertmanager_alone_reads_the_secret_of_a_receiver(standalone_host: lab.Lab) -> None:
    host, path = (
        witness.connect_host(standalone_host, "host1"),
        "/etc/gpustack-cluster/standalone/receivers/default-slack",
    )
    assert host.file(path).content_string == HOOK
    assert (host.file(path).group, host.file(path).mode) == ("prometheus", 0o640)
    status = json.loads(host.check_output("curl -s http://127.0.0.1:9093/api/v2/status"))
    assert f"api_url_file: {path}" in status["config"]["original"]
    assert host.run(f"sudo -u nobody cat {path}").rc != 0


def test_nothing_listens_beyond_loopback(standalone_host: lab.Lab) -> None:
    listening = witness.connect_host(standalone_host, "host1").check_output("ss -Hltn")
    ports = ("9090", "9093", "9094", "9100", "9400", "5555")
    addresses = [line.split()[3] for line in listening.splitlines()]
    assert [address for address in addresses if address.endswith(ports) and not address.startswith("127.0.0.1:")] == []


def test_there_is_no_kubernetes(standalone_host: lab.Lab) -> None:
    assert witness.connect_host(standalone_host, "host1").run("command -v kubelet containerd").rc != 0


def test_the_second_install_has_nothing_to_do(standalone_host: lab.Lab, gpustack: Run) -> None:
    process = gpustack("install", "-i", standalone_host.inventory, "--yes", limit=300)
    assert "playbook" not in process.stdout
    gpustack("verify", "-i", standalone_host.inventory)


def test_the_daily_diagnostic_tells_prometheus_how_it_ended(standalone_host: lab.Lab) -> None:
    host = witness.connect_host(standalone_host, "host1")
    assert "gpu-care.timer" in host.check_output("systemctl list-timers --no-pager")
    host.check_output("systemctl start gpu-care.service")
    query = "gpustack:node_care_result:info"
    witness.wait_until("its result is recorded", lambda: bool(query_prometheus(standalone_host, query)), limit=240)
    (sample,) = query_prometheus(standalone_host, query)
    assert sample["metric"] == {"__name__": query, "node": "host1", "result": "passed"}


@pytest.mark.parametrize("fault", FAULTS)
def test_doctor_names_the_root(standalone_host: lab.Lab, gpustack: Run, fault: str) -> None:
    break_script, repair_script = FAULTS[fault]
    host = witness.connect_host(standalone_host, "host1")
    # The last scrape of the fault before may be the one that failed.
    witness.wait_until("all scrapes succeed", lambda: not query_prometheus(standalone_host, "up == 0"), limit=120)
    host.check_output(break_script)
    try:
        if fault == "standalone-not-scraped":
            witness.wait_until("a scrape fails", lambda: bool(query_prometheus(standalone_host, "up == 0")), limit=120)
        process = gpustack("doctor", "-i", standalone_host.inventory, "-o", "json", limit=300, code=None)
        roots = [root["id"] for root in json.loads(process.stdout)["roots"]]
        assert roots == [fault]
    finally:
        host.check_output(repair_script)


def test_a_reset_leaves_nothing(standalone_host: lab.Lab, gpustack: Run) -> None:
    gpustack("reset", "-i", standalone_host.inventory, "--yes", "--packages", limit=900)
    host = witness.connect_host(standalone_host, "host1")
    assert host.run("ls /etc/gpustack-cluster /etc/systemd/system/prometheus.service.d").stdout == ""
    assert host.run("systemctl is-active prometheus nvidia-dcgm-exporter").rc != 0
    assert "127.0.0.1:9090" not in host.check_output("ss -Hltn")
    assert host.run("ls /etc/systemd/system/gpu-care.* /var/lib/prometheus/node-exporter/gpu-care-*").stdout == ""
