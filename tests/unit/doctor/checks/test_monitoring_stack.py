"""Ports, volumes, memory, webhooks and operators of the monitoring."""

import pytest

from gpustack.ask.probe import CLUSTER
from tests.worlds import gpus
from tests.worlds.cases import recorded
from tests.worlds.doctor_checks import asked, in_cluster, told

PORT = "mon-node-exporter-port-host-process"


def test_a_port_that_a_program_of_the_host_has() -> None:
    assert told(in_cluster(PORT, "k1")) == ("ok", "a pod has it")
    found = in_cluster(PORT, "k1", network__programs="node-exporter")
    assert told(found) == ("failed", "prometheus-node-exporter.service")
    free = recorded("network.listeners", "monitored-debian-12", (":9100 ", ":9200 "))
    world = gpus.world({("network.listeners", "k1"): free})
    assert told(asked(PORT, world, "k1")) == ("ok", "nobody has it")
    off = gpus.world(spec={"monitoring": {"enabled": False}})
    assert told(asked(PORT, off, "k1")) == ("ok", "nobody here wants it")
    assert in_cluster(PORT, "k1", network__programs="odd").outcome == "unknown"


@pytest.mark.parametrize(
    ("id", "cases", "outcome", "found"),
    [
        ("mon-node-exporter-port-other-pod", {"pods__pending": "free-ports"}, "failed", "didn't have free ports"),
        ("mon-node-exporter-port-other-pod", {"pods__pending": "of-users"}, "ok", "none waits for a port"),
        ("mon-node-exporter-port-other-pod", {"pods__pending": "no-list"}, "unknown", ""),
        ("mon-prometheus-pvc-pending", {"monitoring__claims": "no-class", "storage__classes": "none"},
         "failed", "prometheus-db: no default class"),
        ("mon-prometheus-pvc-pending", {"monitoring__claims": "first-consumer"}, "ok", "none waits in vain"),
        ("mon-prometheus-pvc-pending", {"monitoring__claims": "first-consumer", "storage__provisioner": "none"},
         "failed", "the provisioner of local-path does not run"),
        ("mon-prometheus-pvc-pending", {"monitoring__prometheuses": "no-such-class"},
         "failed", "monitoring-prometheus: no class fast-ssd"),
        ("mon-prometheus-oom", {"monitoring__pods": "out-of-memory"}, "failed", "OOMKilled"),
        ("mon-prometheus-oom", {"monitoring__pods": "ended-long-ago"}, "ok", "not killed for its memory"),
        ("mon-prometheus-oom", {"monitoring__pods": "no-list"}, "unknown", ""),
        ("mon-admission-webhook-down", {"admission__validating": "left-over"}, "failed",
         "no Service monitoring/old-operator"),
        ("mon-admission-webhook-down guard", {"admission__validating": "left-over"}, "failed", "no Service"),
        ("mon-admission-webhook-down", {"admission__mutating": "left-over"}, "ok", "there is none"),
        ("mon-admission-webhook-down", {"admission__validating": "of-others"}, "ok", "answers"),
        ("mon-two-operators-fight", {"monitoring__operators": "two"}, "failed",
         "default/old-operator, monitoring/monitoring-operator"),
        ("mon-two-operators-fight", {"monitoring__operators": "narrowed"}, "ok", "default/old-operator"),
    ],
)  # fmt: skip
def test_parts_of_the_monitoring(id: str, cases: dict[str, str], outcome: str, found: str) -> None:
    result = told(in_cluster(id, CLUSTER, **cases))
    assert result[0] == outcome, result
    assert found in result[1]
