"""What is known before a proof: places for pods, hosts that could not be asked, Services and their addresses."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer, FactUnavailable
from gpustack.ask.view import View
from gpustack.config.spec import Spec
from gpustack.probes.proof import EXPORTERS, INGRESSES, NODES, PODS, PROCESS, SERVICES, Ingress, Service
from gpustack.process import name_process
from gpustack.proof.credential import parse_login
from gpustack.proof.inventory import find_places, find_unasked, locate_exporters, match_hosts
from gpustack.proof.services import LABELS, Part, describe_access, find_service, main_port, namespace_of
from tests.worlds.proof_hosts import CALM, TWO, but, of_host, recorded, snapshot

CASES = Path(__file__).parents[2] / "cases"
SPEC = Spec()


def test_gpus_of_virtual_machines_are_not_to_be_proven() -> None:
    machines = "0000:67:00.0 0x2330 0x030200 vfio-pci\n0000:68:00.0 0x2330 0x030200 vfio-pci\n"
    (found,) = find_places(snapshot(but(*of_host("h1", "b" * 32, TWO + machines))))
    assert (found.devices, found.wanted) == (2, 2)


def test_a_host_is_the_node_with_its_machine_id() -> None:
    taken = snapshot(CALM)
    assert match_hosts(taken) == {"kube1": "kube1", "gpu1": "h1"}
    (found,) = find_places(taken)
    assert (found.node, found.gpus, found.devices, found.busy, found.wanted) == ("gpu1", 2, 2, 0, 2)
    assert found.model == "NVIDIA H100 80GB HBM3"
    assert find_unasked(taken) == ()


def test_only_the_hosts_that_were_named() -> None:
    taken = snapshot(CALM)
    assert [one.node for one in find_places(taken, ("h1",))] == ["gpu1"]
    assert find_places(taken, ("kube1",)) == ()


def test_gpus_in_use_are_not_free() -> None:
    (found,) = find_places(snapshot(but(recorded(PODS, "who-uses"))))
    assert (found.busy, found.wanted) == (1, 1)


def test_what_a_gpustack_that_has_ended_left_uses_nothing() -> None:
    container = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    dead = name_process().rpartition(".")[0] + ".1"
    for process, busy in ((dead, 0), (name_process(), 1), ("", 1)):
        metadata = {"name": "proof-1", "namespace": "gpustack-proof", "annotations": {PROCESS: process}}
        pod = {"metadata": metadata, "spec": {"nodeName": "gpu1", "containers": [container]}}
        (found,) = find_places(snapshot(but(Answer(PODS.id, CLUSTER, 0, json.dumps({"items": [pod]})))))
        assert found.busy == busy


def test_a_closed_node_says_why() -> None:
    (found,) = find_places(snapshot(but(recorded(NODES, "not-ready-and-cordoned"))))
    assert (found.closed, found.wanted) == ("the node is not Ready: Kubelet stopped posting node status.", 0)


def test_devices_of_a_host_whose_node_offers_none() -> None:
    taken = snapshot(but(*of_host("kube1", "a" * 32, TWO)))
    assert [(one.node, one.gpus, one.devices) for one in find_places(taken)] == [("kube1", 0, 2), ("gpu1", 2, 2)]


def test_hosts_that_cannot_be_proven_are_named() -> None:
    taken = snapshot(
        but(*of_host("stray", "c" * 32, TWO), *of_host("plain", "d" * 32)),
        ("kube1", "h1", "stray", "plain", "gone", "mute"),
        {"gone": "no answer"},
    )
    assert find_unasked(taken) == (
        ("stray", "it has 2 NVIDIA devices, and is no node of the cluster"),
        ("gone", "not reached: no answer"),
        ("mute", "whether it has NVIDIA devices is not known"),
    )
    assert find_unasked(taken, ("h1",)) == ()


def test_without_the_api_there_is_no_place() -> None:
    with pytest.raises(FactUnavailable):
        find_places(snapshot([]))
    assert locate_exporters(snapshot([])) == {}


def test_where_exporters_run() -> None:
    found = locate_exporters(snapshot([recorded(EXPORTERS, "two")]))
    assert found["gpu-operator/nvidia-dcgm-exporter-4x7k2"] == "gpu1"


KNOWN = View(snapshot([recorded(SERVICES, "monitoring")]), CLUSTER)[SERVICES]


def made(part: Part, namespace: str, release: str = "", **other: Any) -> Service:
    label, value = LABELS[part]
    labels = {label: value} | ({"release": release} if release else {})
    given: dict[str, Any] = {"kind": "ClusterIP", "address": "10.96.0.9", "ports": {"": 80}, "node_ports": {}}
    return Service(f"{release or 'x'}-{part}", namespace, labels=labels, outside=(), **{**given, **other})


def test_services_by_the_labels_of_their_charts() -> None:
    found = {part: find_service(part, KNOWN, SPEC) for part in LABELS}
    assert {part: one and (one.name, main_port(one)) for part, one in found.items()} == {
        "grafana": ("monitoring-grafana", 80),
        "prometheus": ("monitoring-prometheus", 9090),
        "alertmanager": None,
        "exporter": None,
    }


def test_the_release_of_the_inventory_comes_first() -> None:
    several = [made("prometheus", "monitoring", "other"), made("prometheus", "monitoring", "monitoring")]
    found = find_service("prometheus", several, SPEC)
    assert found
    assert found.name == "monitoring-prometheus"
    assert find_service("prometheus", [made("prometheus", "elsewhere")], SPEC)
    assert find_service("prometheus", [made("prometheus", "a"), made("prometheus", "b")], SPEC) is None
    assert find_service("prometheus", [made("prometheus", "monitoring", address="None")], SPEC) is None


def test_names_of_the_spec() -> None:
    assert [namespace_of(part, SPEC) for part in ("grafana", "exporter")] == ["monitoring", "gpu-operator"]
    given = {"monitoring": {"namespace": "watch", "release": "kps"}, "gpu": {"namespace": "gpus"}}
    spec = Spec.model_validate(given)
    assert [namespace_of(part, spec) for part in ("prometheus", "exporter")] == ["watch", "gpus"]
    ours, other = made("prometheus", "watch", "kps"), made("prometheus", "watch")
    assert find_service("prometheus", [other, ours], spec) == ours


def urls(service: Service, *ingresses: Ingress) -> tuple[str, ...] | None:
    found = describe_access("grafana", [service], ingresses, ("10.0.0.1", "10.0.0.2"), SPEC)
    return found.urls if found else None


def test_addresses_that_the_cluster_has_for_it() -> None:
    plain = made("grafana", "monitoring")
    assert urls(plain) == ()
    node_port = made("grafana", "monitoring", kind="NodePort", node_ports={"": 30300})
    assert urls(node_port) == ("http://10.0.0.1:30300",)
    behind = Ingress("g", "monitoring", ("https://grafana.example.com/", "http://*/"), (plain.name,))
    assert urls(plain, behind) == ("https://grafana.example.com/",)
    assert urls(plain, Ingress("g", "other", ("https://grafana.example.com/",), (plain.name,))) == ()
    (ingress,) = snapshot([recorded(INGRESSES, "grafana")]).fact(INGRESSES, "kube1")
    assert "monitoring-grafana" in ingress.services
    assert describe_access("exporter", KNOWN, (), (), SPEC) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer("g", "h", 0, '{"admin-password":"cHc=","admin-user":"YWRtaW4="}'), ("admin", "pw")),
        (Answer("g", "h", 0, '{"password":"cHc="}'), "the Secret of Grafana has no admin-user and admin-password"),
        (Answer("g", "h", 0, ""), "the Secret of Grafana has no admin-user and admin-password"),
        (Answer("g", "h", 1, "", 'Error: secrets "x" not found\n'), 'Error: secrets "x" not found'),
        (Answer("g", "h", 3, ""), "it ended with 3"),
        (Answer("g", "h", -1, "", lost="no answer came"), "no answer came"),
    ],
)
def test_the_login_of_grafana(answer: Answer, expected: object) -> None:
    assert parse_login(answer) == expected
