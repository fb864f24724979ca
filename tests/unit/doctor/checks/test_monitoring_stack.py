"""Ports, volumes, memory, webhooks and operators of the monitoring."""

import pytest

from gpustack.ask.probe import CLUSTER
from tests.unit.doctor.checks.evaluation import evaluate, judge_gpu_cluster, summarize
from tests.worlds.snapshots import gpus
from tests.worlds.snapshots.answers import read_case

PORT = "mon-node-exporter-port-host-process"


def test_a_port_taken_by_a_program_of_the_host_fails() -> None:
    assert summarize(judge_gpu_cluster(PORT, "k1")) == ("ok", "used by a pod")
    judgement = judge_gpu_cluster(PORT, "k1", network__programs="node-exporter")
    assert summarize(judgement) == ("failed", "prometheus-node-exporter.service")
    free = read_case("network.listeners", "monitored-debian-12", (":9100 ", ":9200 "))
    world = gpus.build_snapshot({("network.listeners", "k1"): free})
    assert summarize(evaluate(PORT, world, "k1")) == ("ok", "free")
    snapshot = gpus.build_snapshot(spec={"monitoring": {"enabled": False}})
    assert summarize(evaluate(PORT, snapshot, "k1")) == ("ok", "not needed: no monitoring")
    assert judge_gpu_cluster(PORT, "k1", network__programs="odd").outcome == "unknown"


@pytest.mark.parametrize(
    ("id", "cases", "outcome", "actual"),
    [
        ("mon-node-exporter-port-other-pod", {"pods__pending": "free-ports"}, "failed", "didn't have free ports"),
        ("mon-node-exporter-port-other-pod", {"pods__pending": "of-users"}, "ok", "none waiting for a port"),
        ("mon-node-exporter-port-other-pod", {"pods__pending": "no-list"}, "unknown", ""),
        ("mon-prometheus-pvc-pending", {"monitoring__claims": "no-class", "storage__classes": "none"},
         "failed", "prometheus-db: no default class"),
        ("mon-prometheus-pvc-pending", {"monitoring__claims": "first-consumer"}, "ok", "none without a provisioner"),
        ("mon-prometheus-pvc-pending", {"monitoring__claims": "first-consumer", "storage__provisioner": "none"},
         "failed", "provisioner of local-path not running"),
        ("mon-prometheus-pvc-pending", {"monitoring__prometheuses": "no-such-class"},
         "failed", "monitoring-prometheus: no class fast-ssd"),
        ("mon-prometheus-oom", {"monitoring__pods": "out-of-memory"}, "failed", "OOMKilled"),
        ("mon-prometheus-oom", {"monitoring__pods": "ended-long-ago"}, "ok", "not OOM-killed"),
        ("mon-prometheus-oom", {"monitoring__pods": "no-list"}, "unknown", ""),
        ("mon-admission-webhook-down", {"admission__validating": "left-over"}, "failed",
         "no Service monitoring/old-operator"),
        ("mon-admission-webhook-down guard", {"admission__validating": "left-over"}, "failed", "no Service"),
        ("mon-admission-webhook-down", {"admission__mutating": "left-over"}, "ok", "none"),
        ("mon-admission-webhook-down", {"admission__validating": "of-others"}, "ok", "responding"),
        ("mon-two-operators-fight", {"monitoring__operators": "two"}, "failed",
         "default/old-operator, monitoring/monitoring-operator"),
        ("mon-two-operators-fight", {"monitoring__operators": "narrowed"}, "ok", "default/old-operator"),
    ],
)  # fmt: skip
def test_faults_of_the_monitoring_are_judged(id: str, cases: dict[str, str], outcome: str, actual: str) -> None:
    result = summarize(judge_gpu_cluster(id, CLUSTER, **cases))
    assert result[0] == outcome, result
    assert actual in result[1]
