"""Traps of the common recipes, sprung on purpose: what the naive way says or does, and what gpustack says and does."""

import json
import re
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from gpustack_lab import lab
from tests.lab.conftest import Run
from tests.lab.monitored import PAUSE, SERVICE, apply, query, query_labels, run_kubectl, set_gpus
from tests.lab.witness import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

HELM = "KUBECONFIG=/etc/kubernetes/admin.conf /usr/local/lib/gpustack/helm"
CHARTS = "/var/lib/gpustack-cluster/charts"
SERIES = "DCGM_FI_DEV_GPU_TEMP"


def run_helm(two: lab.Lab, words: str) -> None:
    """Run helm on the control plane as somebody does it by hand."""
    process = two.exec("host1", ["sudo", "sh", "-c", f"{HELM} {words}"], limit=300)
    assert process.returncode == 0, (words, process.stdout, process.stderr)


def find_broken(two: lab.Lab, gpustack: Run) -> set[str]:
    """Find the checks that fail, as STEP/CHECK."""
    document = json.loads(gpustack("verify", "-i", two.inventory, "-o", "json", code=None).stdout)
    return {
        f"{state['step']}/{check['check']}"
        for state in document["states"]
        for check in state["checks"]
        if check["outcome"] == "failed"
    }


def repair(two: lab.Lab, gpustack: Run) -> None:
    gpustack("install", "-i", two.inventory, "--yes", limit=900)
    assert find_broken(two, gpustack) == set()


def build_monitor(name: str, namespace: str, app: str, port: str, space: str) -> dict[str, Any]:
    endpoint = {"port": port, "interval": "5s", "scrapeTimeout": "4s"}
    selectors = {"selector": {"matchLabels": {"app": app}}, "namespaceSelector": {"matchNames": [space]}}
    kind = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor"}
    return {**kind, "metadata": {"name": name, "namespace": namespace}, "spec": {"endpoints": [endpoint], **selectors}}


def list_pools(two: lab.Lab) -> set[str]:
    """List what Prometheus scrapes, by the name of its monitor."""
    path = f"{SERVICE.format('prometheus')}/api/v1/scrape_pools"
    return set(json.loads(run_kubectl(two, "get", "--raw", path))["data"]["scrapePools"])


def test_a_monitor_without_the_label_of_the_release_is_scraped(two: lab.Lab, gpustack: Run) -> None:
    """The chart's own default takes only monitors with a label `release`; nothing says so anywhere."""
    apply(two, build_monitor("theirs", "default", "gpu-operator", "gpu-operator-metrics", "gpu-operator"))
    job = "serviceMonitor/default/theirs/0"
    wait_until("it is scraped", lambda: job in list_pools(two), limit=120)
    narrow = '{"spec": {"serviceMonitorSelector": {"matchLabels": {"release": "monitoring"}}}}'
    run_kubectl(two, "-n", "monitoring", "patch", "prometheus", "monitoring-prometheus", "--type=merge", "-p", narrow)
    wait_until("the naive way loses it", lambda: job not in list_pools(two), limit=120)
    assert "monitoring/selectors" in find_broken(two, gpustack)
    repair(two, gpustack)
    wait_until("it is scraped again", lambda: job in list_pools(two), limit=120)
    run_kubectl(two, "-n", "default", "delete", "servicemonitor", "theirs")


def test_definitions_come_before_their_operator_also_when_helm_does_not_bring_them(two: lab.Lab, gpustack: Run) -> None:
    """Helm installs them once and never again, and calls an upgrade without them a success."""
    name = "thanosrulers.monitoring.coreos.com"
    run_kubectl(two, "delete", "customresourcedefinition", name)
    run_helm(two, f"upgrade monitoring {CHARTS}/kube-prometheus-stack-*.tgz -n monitoring --reuse-values")
    assert name not in run_kubectl(two, "get", "customresourcedefinitions", "-o", "name")
    broken_checks = find_broken(two, gpustack)
    assert {"monitoring/definitions", "monitoring/chart"} <= broken_checks, broken_checks
    repair(two, gpustack)
    assert name in run_kubectl(two, "get", "customresourcedefinitions", "-o", "name")


def test_ready_without_a_gpu_is_not_ready(two: lab.Lab, gpustack: Run) -> None:
    """The operator's policy is `ready` when no node has a plugin any more."""
    space = ("-n", "gpu-operator")
    nfd = "gpu-operator-node-feature-discovery"
    run_kubectl(two, *space, "scale", f"deployment/{nfd}-master", "--replicas=0")
    run_kubectl(two, *space, "delete", "daemonset", f"{nfd}-worker")
    label = "feature.node.kubernetes.io/pci-10de.present-"
    selection = "app.kubernetes.io/name=node-feature-discovery,role in (master,worker)"
    labellers = ("get", "pods", "-l", selection, "-o", "name")
    wait_until("nothing runs that would label nodes", lambda: run_kubectl(two, *space, *labellers) == "")
    run_kubectl(two, "label", "node", "host1", "host2", label)
    plugin = ("get", "daemonset", "nvidia-device-plugin-daemonset", "-o", "jsonpath={.status.desiredNumberScheduled}")
    wait_until("no plugin is wanted", lambda: run_kubectl(two, *space, *plugin) == "0", limit=120)
    state = ("get", "clusterpolicy", "cluster-policy", "-o", "jsonpath={.status.state}")
    wait_until("the policy is ready all the same", lambda: run_kubectl(two, *state) == "ready", limit=60)
    assert {"gpu-operator/policy", "gpu-operator/labels", "gpu-operator/operands"} <= find_broken(two, gpustack)
    repair(two, gpustack)
    assert run_kubectl(two, *space, *plugin) == "2"


def test_helm_is_content_with_no_plugin_at_all(two: lab.Lab, gpustack: Run) -> None:
    """`--wait` takes a DaemonSet that wants no pod for one that is ready."""
    run_kubectl(two, "label", "node", "host1", "host2", "nvidia.com/gpu.deploy.operands=false")
    plugin = ("-n", "gpu-operator", "get", "pods", "-l", "app=nvidia-device-plugin-daemonset", "-o", "name")
    wait_until("no plugin is left", lambda: run_kubectl(two, *plugin) == "", limit=120)
    run_helm(
        two, f"upgrade gpu-operator {CHARTS}/gpu-operator-*.tgz -n gpu-operator --reuse-values --wait --timeout 2m"
    )
    assert run_kubectl(two, *plugin) == ""
    assert {"gpu-operator/operands", "gpu-operator/chart"} <= find_broken(two, gpustack)
    run_kubectl(two, "label", "node", "host1", "host2", "nvidia.com/gpu.deploy.operands-")
    repair(two, gpustack)


def test_a_monitor_of_the_operator_s_name_does_not_last_and_ours_does(
    two: lab.Lab, gpustack: Run, spec: Callable[[dict[str, Any]], None]
) -> None:
    space = ("-n", "gpu-operator", "get", "servicemonitors", "-o", "name")
    spec({"gpu": {"metrics": {"service_monitor": "ours"}}})
    repair(two, gpustack)
    assert "gpustack-dcgm" in run_kubectl(two, *space)
    apply(
        two,
        build_monitor("nvidia-dcgm-exporter", "gpu-operator", "nvidia-dcgm-exporter", "gpu-metrics", "gpu-operator"),
    )
    run_kubectl(two, "-n", "gpu-operator", "rollout", "restart", "deployment/gpu-operator")
    wait_until(
        "the operator has removed it, as each time that it looks",
        lambda: "nvidia-dcgm-exporter" not in run_kubectl(two, *space),
        limit=120,
    )
    assert "gpustack-dcgm" in run_kubectl(two, *space)
    wait_until("every GPU once", lambda: len(query(two, f"count by (UUID) ({SERIES}) == 1")) == 4, limit=120)
    spec({})
    repair(two, gpustack)
    assert "gpustack-dcgm" not in run_kubectl(two, *space)


def test_a_second_monitor_doubles_every_gpu(two: lab.Lab, gpustack: Run) -> None:
    second = build_monitor("gpustack-dcgm", "gpu-operator", "nvidia-dcgm-exporter", "gpu-metrics", "gpu-operator")
    second["spec"]["endpoints"][0]["relabelings"] = [{"targetLabel": "job", "replacement": "dcgm"}]
    apply(two, second)
    wait_until("each counts twice", lambda: len(query(two, f"count by (UUID) ({SERIES}) > 1")) == 4, limit=120)
    assert "gpu-metrics/monitor" in find_broken(two, gpustack)
    repair(two, gpustack)
    wait_until("and once again", lambda: query(two, f"count by (UUID) ({SERIES}) > 1") == [], limit=400)


def test_a_rule_that_cannot_be_read_is_left_out_in_silence(two: lab.Lab, gpustack: Run) -> None:
    """kubectl, the API and the operator take it; Prometheus has none of its object's groups."""
    spoil = [{"op": "replace", "path": "/spec/groups/0/rules/0/expr", "value": "sum by (("}]
    name = "gpustack-gpu-alerts"
    run_kubectl(two, "-n", "monitoring", "patch", "prometheusrule", name, "--type=json", "-p", json.dumps(spoil))
    rules = f"{SERVICE.format('prometheus')}/api/v1/rules"
    wait_until("Prometheus has lost them", lambda: name not in run_kubectl(two, "get", "--raw", rules), limit=180)
    # Prometheus scrapes what it says of itself as it does others.
    rule_checks = {"alerts/rules", "alerts/rules-loaded"}
    wait_until("both are seen", lambda: rule_checks <= find_broken(two, gpustack), limit=90)
    repair(two, gpustack)
    assert name in run_kubectl(two, "get", "--raw", rules)


def test_metrics_of_the_control_plane_are_for_prometheus_alone(two: lab.Lab) -> None:
    """They listen on all addresses, and ask nobody who he is: only the firewall stands before them."""
    curl_command = ["sudo", "curl", "-sf", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:2381/metrics"]
    assert two.exec("host1", curl_command, limit=30).stdout == "200"
    texts = [
        f"{host.name}:{port}"
        for host in two.hosts
        for port in (2381, 10249, 10257, 10259)
        if is_open(host.address, port)
    ]
    assert texts == []
    assert {job for (job,) in query_labels(two, "up == 1", "job")} >= {"kube-etcd", "kube-proxy", "kube-scheduler"}


def is_open(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=2).close()
    except OSError:
        return False
    return True


def create_trainers(two: lab.Lab) -> None:
    """Create a Deployment that takes every GPU."""
    container = {"name": "pause", "image": PAUSE, "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    values = {"app": "trainer"}
    spec = {"tolerations": [{"operator": "Exists"}], "containers": [container], "terminationGracePeriodSeconds": 0}
    template = {"metadata": {"labels": values}, "spec": spec}
    deployment_spec = {"replicas": 4, "selector": {"matchLabels": values}, "template": template}
    meta = {"name": "trainer", "namespace": "default"}
    apply(two, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": deployment_spec})


def list_refused(two: lab.Lab) -> list[str]:
    pods = json.loads(run_kubectl(two, "get", "pods", "-o", "json"))["items"]
    return [pod["metadata"]["name"] for pod in pods if pod["status"].get("reason") == "UnexpectedAdmissionError"]


def test_pods_that_were_refused_while_the_plugin_restarted_are_reported_and_cleared(
    two: lab.Lab, gpustack: Run
) -> None:
    """They stay for ever, and the Deployment is Available all the same."""
    create_trainers(two)
    available = ("wait", "--for=condition=Available", "--timeout=100s", "deployment/trainer")
    run_kubectl(two, *available)
    plugins = ("-n", "gpu-operator", "delete", "pod", "-l", "app=nvidia-device-plugin-daemonset", "--wait=false")
    for _ in range(5):
        run_kubectl(two, *plugins)
        ends = time.monotonic() + 15
        while time.monotonic() < ends and not list_refused(two):
            run_kubectl(two, "delete", "pod", "-l", "app=trainer", "--wait=false", "--force")
        if list_refused(two):
            break
    run_kubectl(two, *available)
    refused_queries = list_refused(two)
    assert refused_queries
    wait_until("GPUs are back", lambda: find_broken(two, gpustack) == set(), limit=120)
    document = json.loads(gpustack("plan", "-i", two.inventory, "-o", "json").stdout)
    (command,) = document["gpu_summary"]["stranded_pod_commands"]
    assert set(command.split()[5:]) == set(refused_queries), command
    assert command in gpustack("plan", "-i", two.inventory, COLUMNS="4000").stdout
    run_kubectl(two, *command.split()[1:])
    assert list_refused(two) == []
    run_kubectl(two, *available)
    document = json.loads(gpustack("plan", "-i", two.inventory, "-o", "json").stdout)
    assert document["gpu_summary"]["stranded_pod_commands"] == []
    run_kubectl(two, "delete", "deployment", "trainer")


def test_a_gpu_that_is_lost_as_the_plugin_starts_is_reported_at_once(two: lab.Lab, gpustack: Run) -> None:
    """The whole plugin ends: the node's other GPU goes as well, and waiting would not bring it back."""
    words = ("get", "node", "host2", "-o", r"jsonpath={.status.allocatable.nvidia\.com/gpu}")
    plugins = ("-n", "gpu-operator", "delete", "pod", "-l", "app=nvidia-device-plugin-daemonset")
    with set_gpus(two, host2_0="lost"):
        run_kubectl(two, *plugins)
        wait_until("the node offers none", lambda: run_kubectl(two, *words) == "0", limit=120)
        output = gpustack("install", "-i", two.inventory, "--yes", code=5, limit=200, COLUMNS="4000").stdout
        assert "a GPU has fallen off the bus" in output
        assert re.search("host2: (0 of 2, nvidia-smi: a GPU has fallen|2 of 2 unhealthy)", output)
    run_kubectl(two, *plugins)
    wait_until("both are back", lambda: run_kubectl(two, *words) == "2", limit=200)
    wait_until("all is right", lambda: find_broken(two, gpustack) == set(), limit=200)
