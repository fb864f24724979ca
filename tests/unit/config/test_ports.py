"""Ports of the spec that collide on a host, and drivers that nothing would install, are refused."""

from typing import Any

import pytest

from gpustack.config.ports import NODE_PORTS, PLANE_PORTS
from gpustack.config.spec import Spec
from gpustack.steps.control_plane.settings import METRICS
from gpustack.steps.firewall.flows import list_flows
from tests.unit.config.specs import list_complaints


@pytest.mark.parametrize(
    ("spec", "key", "owner"),
    [
        ({"monitoring": {"node_exporter_port": 10250}}, "monitoring.node_exporter_port", "the kubelet's"),
        ({"monitoring": {"node_exporter_port": 6443}}, "monitoring.node_exporter_port", "the API server's"),
        ({"monitoring": {"node_exporter_port": 9400}, "gpu": {"dcgm": "host"}}, "gpu.metrics.listen",
         "that of monitoring.node_exporter_port"),
        ({"monitoring": {"node_exporter_port": 5555}, "gpu": {"dcgm": "host"}}, "gpu.metrics.engine",
         "that of monitoring.node_exporter_port"),
        ({"monitoring": {"access": {"type": "node-port", "prometheus_node_port": 30300}}},
         "monitoring.access.prometheus_node_port", "that of monitoring.access.node_port"),
    ],
)  # fmt: skip
def test_a_port_that_another_program_has_is_refused_with_both(spec: Any, key: str, owner: str) -> None:
    (complaint,) = list_complaints(spec)
    assert complaint.key == f"gpustack.{key}"
    assert complaint.actual.partition(", which is ")[2] == owner


def test_ports_that_nothing_else_has_on_a_host_are_accepted() -> None:
    assert list_complaints({"monitoring": {"node_exporter_port": 9400}}) == []
    assert list_complaints({"monitoring": {"enabled": False, "node_exporter_port": 10250}}) == []
    assert list_complaints({"monitoring": {"node_exporter_port": 9090}}) == []


def test_ports_of_hosts_without_kubernetes_are_their_own() -> None:
    groups = {"gpu_standalone": ("h1",)}
    assert list_complaints({"monitoring": {"node_exporter_port": 10250}}, groups=groups) == []
    (complaint,) = list_complaints({"monitoring": {"node_exporter_port": 9090}}, groups=groups)
    assert complaint.actual == "9090, which is that of the unit prometheus"


def test_driver_containers_without_an_operator_are_refused() -> None:
    driver = {"driver": {"mode": "container"}}
    (complaint,) = list_complaints({"gpu": {"stack": "host", **driver}})
    assert (complaint.key, complaint.actual) == ("gpustack.gpu.driver.mode", "container beside gpu.stack: host")
    (complaint,) = list_complaints({"gpu": driver}, groups={"gpu_standalone": ("h1",)})
    assert complaint.actual == "container beside hosts of gpu_standalone: h1"
    assert list_complaints({"gpu": driver}) == []
    alone: dict[str, Any] = {"groups": {"gpu_standalone": ("h1",)}, "h1": {"gpustack_gpus": 0}}
    assert list_complaints({"gpu": driver}, **alone) == []


def test_the_ports_of_the_firewall_and_of_metrics_are_in_the_table() -> None:
    """A port that a step knows and the table does not could be given to something else."""
    flows = [flow for flow in list_flows(Spec()) if flow.proto == "tcp" and flow.destination == "host"]
    ports = {int(port) for flow in flows for port in flow.ports} - {Spec().monitoring.node_exporter_port}
    assert ports | set(METRICS) <= {*NODE_PORTS, *PLANE_PORTS}
