"""A survey before a proof knows places for pods, hosts that could not be asked, Services and their addresses."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer, FactUnavailable
from gpustack.ask.view import View
from gpustack.config.spec import Spec
from gpustack.events import ignore_event
from gpustack.probes.proof import EXPORTERS, INGRESSES, NODES, PODS, PROCESS, SERVICES, Ingress, Service
from gpustack.process import name_process
from gpustack.proof import inventory
from gpustack.proof.credential import parse_login
from gpustack.proof.inventory import find_places, find_skipped_hosts, locate_exporters, match_hosts
from gpustack.proof.services import LABELS, Part, choose_namespace, describe_access, find_service, select_main_port
from tests.worlds.snapshots.proof_hosts import CALM, TWO, add_answers, build_snapshot, make_host_answers, read_case

CASES = Path(__file__).parents[2] / "cases"
SPEC = Spec()


def test_gpus_of_virtual_machines_are_not_to_be_proven() -> None:
    machines = "0000:67:00.0 0x2330 0x030200 vfio-pci\n0000:68:00.0 0x2330 0x030200 vfio-pci\n"
    (place,) = find_places(build_snapshot(add_answers(*make_host_answers("h1", "b" * 32, TWO + machines))))
    assert (place.devices, place.pod_count) == (2, 2)


def test_a_host_is_the_node_with_its_machine_id() -> None:
    snapshot = build_snapshot(CALM)
    assert match_hosts(snapshot) == {"kube1": "kube1", "gpu1": "h1"}
    (place,) = find_places(snapshot)
    assert (place.node, place.gpus, place.devices, place.busy, place.pod_count) == ("gpu1", 2, 2, 0, 2)
    assert place.model == "NVIDIA H100 80GB HBM3"
    assert find_skipped_hosts(snapshot) == ()


def test_only_named_hosts_are_surveyed() -> None:
    snapshot = build_snapshot(CALM)
    assert [place.node for place in find_places(snapshot, ("h1",))] == ["gpu1"]
    assert find_places(snapshot, ("kube1",)) == ()


def test_gpus_in_use_are_not_free() -> None:
    (place,) = find_places(build_snapshot(add_answers(read_case(PODS, "who-uses"))))
    assert (place.busy, place.pod_count) == (1, 1)


def test_what_a_gpustack_that_has_ended_left_uses_nothing() -> None:
    container = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    dead = name_process().rpartition(".")[0] + ".1"
    for process, busy in ((dead, 0), (name_process(), 1), ("", 1)):
        metadata = {"name": "proof-1", "namespace": "gpustack-proof", "annotations": {PROCESS: process}}
        pod = {"metadata": metadata, "spec": {"nodeName": "gpu1", "containers": [container]}}
        (place,) = find_places(build_snapshot(add_answers(Answer(PODS.id, CLUSTER, 0, json.dumps({"items": [pod]})))))
        assert place.busy == busy


def test_a_closed_node_says_why() -> None:
    (place,) = find_places(build_snapshot(add_answers(read_case(NODES, "not-ready-and-cordoned"))))
    assert (place.closed_reason, place.pod_count) == ("the node is not Ready: Kubelet stopped posting node status.", 0)


@pytest.mark.parametrize(
    ("change", "reason", "with_cordoned"),
    [
        ({"unschedulable": True}, "the node is cordoned: it takes no new pods", ""),
        (
            {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]},
            "no ordinary pod gets its GPUs: taint node-role.kubernetes.io/control-plane:NoSchedule",
            "no ordinary pod gets its GPUs: taint node-role.kubernetes.io/control-plane:NoSchedule",
        ),
        ({"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}, "", ""),
    ],
)
def test_a_node_that_takes_no_ordinary_pod_says_why(change: dict[str, Any], reason: str, with_cordoned: str) -> None:
    document = json.loads(read_case(NODES, "two-gpus").stdout)
    document["items"][-1].setdefault("spec", {}).update(change)
    snapshot = build_snapshot(add_answers(replace(read_case(NODES, "two-gpus"), stdout=json.dumps(document))))
    node = document["items"][-1]["metadata"]["name"]
    for with_cordon, expected in ((False, reason), (True, with_cordoned)):
        places = {place.node: place for place in find_places(snapshot, cordoned=with_cordon)}
        assert places[node].closed_reason == expected


def test_devices_of_a_node_that_offers_none_are_counted() -> None:
    snapshot = build_snapshot(add_answers(*make_host_answers("kube1", "a" * 32, TWO)))
    assert [(place.node, place.gpus, place.devices) for place in find_places(snapshot)] == [
        ("kube1", 0, 2),
        ("gpu1", 2, 2),
    ]


def test_hosts_that_cannot_be_proven_are_named() -> None:
    snapshot = build_snapshot(
        add_answers(*make_host_answers("stray", "c" * 32, TWO), *make_host_answers("plain", "d" * 32)),
        ("kube1", "h1", "stray", "plain", "gone", "mute"),
        {"gone": "no answer"},
    )
    assert find_skipped_hosts(snapshot) == (
        ("stray", "it has 2 NVIDIA devices, and is no node of the cluster"),
        ("gone", "unreachable: no answer"),
        ("mute", "whether it has NVIDIA devices is not known"),
    )
    assert find_skipped_hosts(snapshot, ("h1",)) == ()


def test_without_the_api_there_is_no_place() -> None:
    with pytest.raises(FactUnavailable):
        find_places(build_snapshot([]))
    assert locate_exporters(build_snapshot([])) == {}


def test_exporters_are_located_by_node() -> None:
    exporters = locate_exporters(build_snapshot([read_case(EXPORTERS, "two")]))
    assert exporters["gpu-operator/nvidia-dcgm-exporter-4x7k2"] == "gpu1"


KNOWN_SERVICES = View(build_snapshot([read_case(SERVICES, "monitoring")]), CLUSTER)[SERVICES]


def build_service(part: Part, namespace: str, release: str = "", **fields: Any) -> Service:
    label, value = LABELS[part]
    labels = {label: value} | ({"release": release} if release else {})
    service_fields: dict[str, Any] = {"kind": "ClusterIP", "address": "10.96.0.9", "ports": {"": 80}, "node_ports": {}}
    return Service(
        f"{release or 'x'}-{part}", namespace, labels=labels, external_addresses=(), **{**service_fields, **fields}
    )


def test_services_are_found_by_the_labels_of_their_charts() -> None:
    services = {part: find_service(part, KNOWN_SERVICES, SPEC) for part in LABELS}
    assert {part: service and (service.name, select_main_port(service)) for part, service in services.items()} == {
        "grafana": ("monitoring-grafana", 80),
        "prometheus": ("monitoring-prometheus", 9090),
        "alertmanager": None,
        "exporter": None,
    }


def test_the_release_of_the_inventory_comes_first() -> None:
    several = [
        build_service("prometheus", "monitoring", "other"),
        build_service("prometheus", "monitoring", "monitoring"),
    ]
    service = find_service("prometheus", several, SPEC)
    assert service
    assert service.name == "monitoring-prometheus"
    assert find_service("prometheus", [build_service("prometheus", "elsewhere")], SPEC)
    assert (
        find_service("prometheus", [build_service("prometheus", "a"), build_service("prometheus", "b")], SPEC) is None
    )
    assert find_service("prometheus", [build_service("prometheus", "monitoring", address="None")], SPEC) is None


def test_names_of_the_spec_are_used() -> None:
    assert [choose_namespace(part, SPEC) for part in ("grafana", "exporter")] == ["monitoring", "gpu-operator"]
    spec_of_names = {"monitoring": {"namespace": "watch", "release": "kps"}, "gpu": {"namespace": "gpus"}}
    spec = Spec.model_validate(spec_of_names)
    assert [choose_namespace(part, spec) for part in ("prometheus", "exporter")] == ["watch", "gpus"]
    own_service, other_service = build_service("prometheus", "watch", "kps"), build_service("prometheus", "watch")
    assert find_service("prometheus", [other_service, own_service], spec) == own_service


def list_urls(service: Service, *ingresses: Ingress) -> tuple[str, ...] | None:
    access = describe_access("grafana", [service], ingresses, ("10.0.0.1", "10.0.0.2"), SPEC)
    return access.urls if access else None


def test_addresses_of_the_cluster_are_listed() -> None:
    plain = build_service("grafana", "monitoring")
    assert list_urls(plain) == ()
    node_port = build_service("grafana", "monitoring", kind="NodePort", node_ports={"": 30300})
    assert list_urls(node_port) == ("http://10.0.0.1:30300",)
    matching_ingress = Ingress("g", "monitoring", ("https://grafana.example.com/", "http://*/"), (plain.name,))
    assert list_urls(plain, matching_ingress) == ("https://grafana.example.com/",)
    assert list_urls(plain, Ingress("g", "other", ("https://grafana.example.com/",), (plain.name,))) == ()
    (ingress,) = build_snapshot([read_case(INGRESSES, "grafana")]).require_fact(INGRESSES, "kube1")
    assert "monitoring-grafana" in ingress.services
    assert describe_access("exporter", KNOWN_SERVICES, (), (), SPEC) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer("g", "h", 0, '{"admin-password":"cHc=","admin-user":"YWRtaW4="}'), ("admin", "pw")),
        (Answer("g", "h", 0, '{"password":"cHc="}'), "the Secret of Grafana has no admin-user and admin-password"),
        (Answer("g", "h", 0, ""), "the Secret of Grafana has no admin-user and admin-password"),
        (Answer("g", "h", 1, "", 'Error: secrets "x" not found\n'), 'Error: secrets "x" not found'),
        (Answer("g", "h", 3, ""), "it ended with 3"),
        (Answer("g", "h", -1, "", missing_reason="no answer came"), "no answer came"),
    ],
)
def test_the_login_of_grafana_is_parsed(answer: Answer, expected: object) -> None:
    assert parse_login(answer) == expected


def test_offers_of_nodes_are_unknown_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = build_snapshot(CALM)
    monkeypatch.setattr(inventory, "gather", lambda *_, **__: snapshot)
    assert inventory.gather_offers(snapshot.inventory, ignore_event) == {"kube1": 0, "gpu1": 2}
    monkeypatch.setattr(inventory, "gather", lambda *_, **__: build_snapshot([]))
    assert inventory.gather_offers(snapshot.inventory, ignore_event) == {}
