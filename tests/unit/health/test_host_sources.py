"""Sources that hosts and the API have, from recorded answers: what they say of each GPU, and what is said where one is
missing."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.health.host_answers import read_host_sources
from gpustack.health.host_sources import NO_HOSTS, HostSources
from gpustack.health.incidents import Incident
from gpustack.metrics.prometheus import Series
from gpustack.probes.gpu.logs import KERNEL_LOG, XidLine
from gpustack.probes.kubernetes.device_health import DEVICE_HEALTH, DeviceHealth
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, PROOF_RECORD, ProvenGpus, parse_proven_gpus
from tests.unit.doctor.states.objects import read_recorded_items
from tests.unit.health.test_verdicts import judge, list_verdicts, offer_gpus, render_text
from tests.worlds.prometheus.gpu_series import build_gpu_series
from tests.worlds.snapshots.answers import make_list, read_case
from tests.worlds.snapshots.healthy import build_healthy_snapshot

BUSES = ("00000000:3B:00.0", "00000000:86:00.0")
RECORD = json.dumps({"at": "2026-11-30T00:10:00+00:00", "gpus": ["GPU-gpu1-0", "GPU-gpu1-1"]})
RECORDED_GPUS = parse_proven_gpus(RECORD)
assert RECORDED_GPUS


def log(*entries: tuple[str, int, int | None], node: str = "gpu1") -> HostSources:
    """Make the kernel log of a node with these addresses, Xids and ages."""
    return HostSources({node: tuple(XidLine(*entry) for entry in entries)})


def tell(health: str, index: int = 0, message: str = "") -> HostSources:
    """Make what a kubelet says of a device."""
    uuid = f"GPU-gpu1-{index}"
    return HostSources(devices={uuid: DeviceHealth("gpu1", uuid, health, message)})  # type: ignore[arg-type]


def build_gpus(count: int = 1, /, **values: float) -> list[list[Series]]:
    """Build GPUs of gpu1 with their addresses; the values are those of the first one."""
    return [
        build_gpu_series("gpu1", index, {"pci_bus_id": BUSES[index]}, **values if index == 0 else {})
        for index in range(count)
    ]


@pytest.mark.parametrize(
    ("values", "entries", "verdict"),
    [
        ({}, [("0000:3b:00", 79, 60)], "watch"),
        ({"GET_GPU_RECOVERY_ACTION": 2}, [("0000:3b:00", 79, 60)], "reboot"),
        ({"XID_ERRORS": 79}, [("0000:3b:00", 79, 60)], "watch"),
        ({"XID_ERRORS": 79}, [("0000:3b:00", 95, 60)], "watch"),
        ({"GET_GPU_RECOVERY_ACTION": 2}, [("0000:86:00", 79, 60)], "watch"),
        ({"GET_GPU_RECOVERY_ACTION": 2}, [("0000:3b:00", 79, None)], "watch"),
        ({"GET_GPU_RECOVERY_ACTION": 2}, [("0000:3b:00", 79, 90_000)], "watch"),
        ({}, [("0000:3b:00", 31, 60)], "restart-app"),
        ({}, [("0000:3b:00", 31, 600)], "ok"),
        ({}, [("0000:3b:00", 45, 60)], "ok"),
    ],
)
def test_the_kernel_log_and_the_exporter_are_one_source_of_xids(
    values: dict[str, float], entries: list[tuple[str, int, int | None]], verdict: str
) -> None:
    health = judge(*build_gpus(**values), offers=offer_gpus(1), hosts=log(*entries))
    assert list_verdicts(health) == [verdict]


def test_an_xid_that_only_the_log_has_is_shown_with_its_origin() -> None:
    health = judge(*build_gpus(GET_GPU_RECOVERY_ACTION=2), offers=offer_gpus(1), hosts=log(("0000:3b:00", 79, 60)))
    assert "Xid 79: GPU has fallen off the bus, in the kernel log" in " ".join(render_text(health).split())


@pytest.mark.parametrize(("action", "verdict"), [(0, "watch"), (1, "reboot"), (float("nan"), "reboot")])
def test_an_xid_of_before_a_reset_is_to_be_watched(action: float, verdict: str) -> None:
    """The device plugin withholds a GPU after its reset as well, until it is started again."""
    groups = build_gpus(GET_GPU_RECOVERY_ACTION=action, XID_ERRORS=0)
    health = judge(*groups, offers=offer_gpus(1, 0), hosts=log(("0000:3b:00", 79, 60)))
    assert list_verdicts(health) == [verdict]


def test_an_empty_log_is_no_second_source() -> None:
    assert list_verdicts(judge(*build_gpus(), hosts=log())) == ["unknown"]


def test_the_log_names_the_gpu_of_a_node_with_mig_instances() -> None:
    part = {"GPU_I_ID": "7", "GPU_I_PROFILE": "1g.10gb", "pci_bus_id": BUSES[0]}
    group = build_gpu_series("gpu1", 0, part, XID_ERRORS=79, GET_GPU_RECOVERY_ACTION=2)
    assert list_verdicts(judge(group, hosts=log(("0000:3b:00", 79, 60)))) == ["reboot"]


@pytest.mark.parametrize(
    ("addresses", "entries", "verdict"),
    [
        pytest.param(BUSES, [("0000:86:00", 79, 60)], "reboot", id="its own address"),
        pytest.param(BUSES, [("0000:3b:00", 79, 60)], "unknown", id="of the other GPU"),
        pytest.param((BUSES[0], ""), [("0000:86:00", 79, 60)], "reboot", id="no address of another"),
        pytest.param(("", ""), [("0000:86:00", 79, 60)], "unknown", id="no address is known"),
        pytest.param(BUSES, [("0000:86:00", 45, 60)], "unknown", id="an Xid of a program"),
    ],
)
def test_a_silent_gpu_that_the_log_names_is_lost(
    addresses: tuple[str, str], entries: list[tuple[str, int, int | None]], verdict: str
) -> None:
    present, silent = (build_gpu_series("gpu1", index, {"pci_bus_id": bus}) for index, bus in enumerate(addresses))
    silent = [replace(series, points=((930.0, 0.0),)) for series in silent]
    health = judge(present, silent, hosts=log(*entries))
    assert next(entry.verdict for entry in health.gpus if entry.gpu.index == "1") == verdict


def test_three_nodes_with_an_xid_in_five_minutes_of_their_logs_are_an_incident() -> None:
    names = ("gpu1", "gpu2", "gpu3")
    groups = [build_gpu_series(name, 0, {"pci_bus_id": BUSES[0]}, GET_GPU_RECOVERY_ACTION=1) for name in names]

    def find_incidents(*ages: int) -> tuple[tuple[Incident, ...], set[str]]:
        lines = {name: (XidLine("0000:3b:00", 95, age),) for name, age in zip(names, ages, strict=True)}
        health = judge(*groups, hosts=HostSources(lines))
        return health.incidents, set(list_verdicts(health))

    assert find_incidents(7200, 7300, 7400) == ((Incident(95, names),), {"watch"})
    assert find_incidents(7200, 7300, 60) == ((), {"reset"})


def test_a_node_that_has_the_xid_again_is_judged_for_itself() -> None:
    names = ("gpu1", "gpu2", "gpu3", "gpu4")
    groups = [build_gpu_series(name, 0, {"pci_bus_id": BUSES[0]}, GET_GPU_RECOVERY_ACTION=1) for name in names]
    lines = dict.fromkeys(names, (XidLine("0000:3b:00", 95, 7200),))
    health = judge(*groups, hosts=HostSources({**lines, "gpu1": (*lines["gpu1"], XidLine("0000:3b:00", 95, 60))}))
    assert health.incidents == (Incident(95, names[1:]),)
    assert list_verdicts(health) == ["reset", "watch", "watch", "watch"]


@pytest.mark.parametrize(
    ("health", "values", "withheld_count", "verdict"),
    [
        ("Unhealthy", {}, 0, "watch"),
        ("Unhealthy", {"XID_ERRORS": 79}, 1, "reboot"),
        ("Healthy", {}, 0, "ok"),
        ("Healthy", {"XID_ERRORS": 79}, 1, "watch"),
        ("Unknown", {}, 0, "unknown"),
        ("Unknown", {"XID_ERRORS": 79}, 1, "watch"),
    ],
)
def test_the_kubelet_names_the_device(health: str, values: dict[str, float], withheld_count: int, verdict: str) -> None:
    offers = offer_gpus(1, 1 - withheld_count)
    assert list_verdicts(judge(*build_gpus(**values), offers=offers, hosts=tell(health))) == [verdict]


def test_an_unknown_device_says_why_the_gpu_is_unknown() -> None:
    health = judge(*build_gpus(), offers=offer_gpus(1), hosts=tell("Unknown", message="no plugin"))
    text = " ".join(render_text(health).split())
    assert "the kubelet does not know the health of its device: no plugin" in text
    assert "the driver said something of its health, and two are needed" in text


def test_the_kubelet_names_one_of_two_unwell_gpus() -> None:
    health = judge(*build_gpus(2, XID_ERRORS=79), offers=offer_gpus(2, 1), hosts=tell("Unhealthy"))
    assert list_verdicts(health) == ["reboot", "ok"]


def test_an_unhealthy_device_that_is_no_gpu_is_told_of_its_node() -> None:
    hosts = HostSources(devices={"MIG-1": DeviceHealth("gpu1", "MIG-1", "Unhealthy")})
    (node,) = judge(*build_gpus(), offers=offer_gpus(1), hosts=hosts).nodes
    assert (node.verdict, node.reasons) == ("watch", ("the kubelet says that MIG-1 is unhealthy",))


def prove(record: ProvenGpus | None = RECORDED_GPUS) -> HostSources:
    return HostSources(proven_gpus={"gpu1": record} if record else {})


def test_the_gpus_of_the_last_proof_are_no_sign() -> None:
    health = judge(*build_gpus(2), offers=offer_gpus(2), hosts=prove())
    assert list_verdicts(health) == ["ok", "ok"]
    assert [node.reasons for node in health.nodes] == [()]


def test_a_swapped_gpu_is_to_be_watched_and_never_more() -> None:
    groups = [*build_gpus(1), build_gpu_series("gpu1", 2)]
    health = judge(*groups, offers=offer_gpus(2), hosts=prove())
    assert list_verdicts(health) == ["ok", "watch"]
    assert [sign.source for sign in health.gpus[1].signs] == ["proof"]
    assert [(node.verdict, node.reasons) for node in health.nodes] == [
        ("watch", ("GPU-gpu1-1 of the last proof, at 2026-11-30 00:10 UTC, sent no values within a day",))
    ]


def test_a_swapped_gpu_is_no_second_source() -> None:
    group = build_gpu_series("gpu1", 2, GET_GPU_RECOVERY_ACTION=1)
    assert list_verdicts(judge(group, offers=offer_gpus(1), hosts=prove())) == ["watch"]
    assert list_verdicts(judge(build_gpu_series("gpu1", 2), hosts=prove())) == ["unknown"]


def test_without_hosts_the_missing_sources_are_named() -> None:
    health = judge(*build_gpus(), offers=offer_gpus(1), hosts=NO_HOSTS)
    assert list_verdicts(health) == ["ok"]
    assert "No host was asked: kernel logs, nvidia-smi, the health of devices by kubelets" in render_text(health)


def build_snapshot(
    answers: Mapping[tuple[str, str], Answer] | None = None, reach: Mapping[str, Reach] | None = None
) -> Snapshot:
    """Build the healthy cluster with other answers. Its nodes are k1 and k2."""
    snapshot = build_healthy_snapshot()
    nodes = read_recorded_items(NODE_RECORDS.id, "proven")
    nodes[0]["metadata"] |= {"name": "k1", "annotations": {PROOF_RECORD: RECORD}}
    records = {(NODE_RECORDS.id, CLUSTER): make_list(NODE_RECORDS.id, nodes)}
    return replace(
        snapshot, answers={**snapshot.answers, **records, **(answers or {})}, reach={**snapshot.reach, **(reach or {})}
    )


def test_the_sources_are_read_from_the_answers() -> None:
    snapshot = build_snapshot(
        {
            (KERNEL_LOG.id, "k1"): read_case(KERNEL_LOG.id, "bus-without-xid"),
            (DEVICE_HEALTH.id, CLUSTER): read_case(DEVICE_HEALTH.id, "unhealthy"),
        }
    )
    hosts = read_host_sources(snapshot)
    assert hosts.xid_lines == {"k1": (XidLine("0000:b3:00", 79, 157),), "k2": ()}
    uuid = "GPU-6b75a633-a890-501d-bbf6-642606597fd0"
    assert hosts.devices == {uuid: DeviceHealth("host1", uuid, "Unhealthy")}
    assert hosts.proven_gpus == {"k1": RECORDED_GPUS}
    assert hosts.doubts == ()


def test_a_device_of_a_node_that_is_not_ready_has_an_unknown_health() -> None:
    nodes = read_recorded_items(NODE_RECORDS.id, "proven")
    nodes[0]["metadata"]["name"] = "host1"
    for condition in nodes[0]["status"]["conditions"]:
        condition["status"] = "Unknown"
    snapshot = build_snapshot(
        {
            (NODE_RECORDS.id, CLUSTER): make_list(NODE_RECORDS.id, nodes),
            (DEVICE_HEALTH.id, CLUSTER): read_case(DEVICE_HEALTH.id, "unhealthy"),
        }
    )
    (device,) = read_host_sources(snapshot).devices.values()
    assert (device.health, device.message) == ("Unknown", "its node is not Ready")


def test_each_source_that_is_missing_is_a_doubt() -> None:
    odd_answer = read_case(DEVICE_HEALTH.id, "odd")
    unread = {
        (probe, CLUSTER): replace(odd_answer, probe=probe, stdout="x") for probe in (DEVICE_HEALTH.id, NODE_RECORDS.id)
    }
    reach = Reach("k2", "host-no-route", "no route to it")
    snapshot = build_snapshot(unread, {"k2": reach})
    answers = {key: answer for key, answer in snapshot.answers.items() if key[1] != "k2"}
    hosts = read_host_sources(replace(snapshot, answers=answers))
    assert [doubt.partition(":")[0] for doubt in hosts.doubts] == [
        "The kernel log is missing of k2",
        "nvidia-smi gave no answer on k2",
        "The health of devices by the kubelets is missing",
        "The record of proven GPUs is missing",
    ]
    assert "no route to it" in hosts.doubts[0]


def test_the_log_of_a_host_without_a_node_is_missing() -> None:
    xids = read_case(KERNEL_LOG.id, "xids")
    snapshot = build_snapshot({(KERNEL_LOG.id, "k1"): xids, ("kube.nodes", CLUSTER): make_list("kube.nodes", [])})
    hosts = read_host_sources(snapshot)
    assert hosts.xid_lines == {}
    assert hosts.doubts == ("The kernel log is missing of k1: k1 has Xids, and which node it is is unknown.",)
