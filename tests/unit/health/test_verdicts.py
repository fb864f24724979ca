"""Verdicts on constructed readings of an H100: what one source says, what two say, and what is said of no GPU."""

import io
import json

import pytest

from gpustack.errors import UsageError
from gpustack.exit_status import ExitStatus
from gpustack.health.fleet import SILENT, Health, build_health, select_gpus
from gpustack.health.host_sources import HostSources
from gpustack.health.incidents import Incident
from gpustack.health.sources import HeardGpu, NodeOffer, Sources
from gpustack.metrics.prometheus import Series
from gpustack.metrics.readings import build_readings
from gpustack.report.health import json as as_json
from gpustack.report.health import text
from gpustack.report.terminal import Terminal
from tests.worlds.prometheus.gpu_series import LABELS, build_gpu_series

NAN = float("nan")
POD = {"exported_namespace": "team-a", "exported_pod": "train-0"}
RESOURCE = "nvidia_com_gpu"
SILENT_HOSTS = HostSources()
"""Sources of hosts that say nothing."""


def build_watch(node: str, index: int, code: str, value: float) -> Series:
    labels = {**LABELS, "hostname": node, "gpu": str(index), "UUID": f"GPU-{node}-{index}"}
    watch = {"__name__": "DCGM_EXP_GPU_HEALTH_STATUS", "health_watch": "MEM", "health_error_code": code}
    return Series(labels | watch, ((1000.0, value),))


def build_recent_xid(node: str, index: int, code: str, count: float = 1.0) -> Series:
    labels = {**LABELS, "hostname": node, "gpu": str(index), "UUID": f"GPU-{node}-{index}", "xid": code}
    return Series({"__name__": "DCGM_EXP_XID_ERRORS_COUNT", **labels}, ((1000.0, count),))


def judge(
    *groups: list[Series] | Series,
    offers: dict[str, NodeOffer] | None = None,
    sharing: dict[str, str] | None = None,
    heard_gpus: tuple[HeardGpu, ...] = (),
    hosts: HostSources = SILENT_HOSTS,
    unready_nodes: frozenset[str] | None = frozenset(),
) -> Health:
    series = [entry for group in groups for entry in (group if isinstance(group, list) else [group])]
    readings = build_readings(series, {})
    return build_health(
        Sources(readings, offers or {}, frozenset(), sharing or {}, heard_gpus, 1010.0, hosts, unready_nodes)
    )


def offer_gpus(capacity: int, allocatable: int | None = None, node: str = "gpu1") -> dict[str, NodeOffer]:
    count = capacity if allocatable is None else allocatable
    return {node: NodeOffer({RESOURCE: capacity}, {RESOURCE: count})}


def list_verdicts(health: Health) -> list[str]:
    return [entry.verdict for entry in health.gpus]


def render_text(health: Health) -> str:
    stdout = io.StringIO()
    text.render_human(Terminal(stdout, width=200), health)
    return stdout.getvalue()


def test_a_gpu_is_ok_where_the_driver_and_the_kubelet_name_no_fault() -> None:
    health = judge(build_gpu_series("gpu1", 0), offers=offer_gpus(1))
    assert list_verdicts(health) == ["ok"]
    assert health.exit_status == ExitStatus.OK
    assert render_text(health) == "1 GPU on 1 node: 1 ok\n"


@pytest.mark.parametrize("missing", ["kubelet", "driver"])
def test_one_source_alone_is_not_enough_for_ok(missing: str) -> None:
    silent = {"ROW_REMAP_FAILURE": NAN, "ROW_REMAP_PENDING": NAN, "GET_GPU_RECOVERY_ACTION": NAN}
    values = silent if missing == "driver" else {}
    health = judge(build_gpu_series("gpu1", 0, **values), offers=offer_gpus(1) if missing == "driver" else {})
    assert list_verdicts(health) == ["unknown"]
    assert "and two are needed" in health.gpus[0].reason
    assert health.exit_status == ExitStatus.UNKNOWN


@pytest.mark.parametrize(("allocatable", "verdict"), [(1, "unknown"), (0, "watch")])
def test_the_kubelet_of_a_node_that_is_not_ready_is_no_source(allocatable: int, verdict: str) -> None:
    values = {"GET_GPU_RECOVERY_ACTION": 0.0 if allocatable else 1.0}
    offers, unready = offer_gpus(1, allocatable), frozenset({"gpu1"})
    health = judge(build_gpu_series("gpu1", 0, **values), offers=offers, unready_nodes=unready)
    assert list_verdicts(health) == [verdict]
    assert health.nodes[0].reasons == ("it is not Ready, so that what its kubelet said last does not count",)


@pytest.mark.parametrize(("allocatable", "verdict"), [(1, "unknown"), (0, "watch")])
def test_kubelets_are_no_source_where_it_is_unknown_which_nodes_are_ready(allocatable: int, verdict: str) -> None:
    values = {"GET_GPU_RECOVERY_ACTION": 0.0 if allocatable else 1.0}
    health = judge(build_gpu_series("gpu1", 0, **values), offers=offer_gpus(1, allocatable), unready_nodes=None)
    assert list_verdicts(health) == [verdict]


@pytest.mark.parametrize(
    ("values", "watch", "verdict"),
    [
        ({"GET_GPU_RECOVERY_ACTION": 1}, None, "watch"),
        ({"XID_ERRORS": 79}, None, "watch"),
        ({"GET_GPU_RECOVERY_ACTION": 1, "XID_ERRORS": 95}, None, "reset"),
        ({"GET_GPU_RECOVERY_ACTION": 2, "XID_ERRORS": 95}, None, "reboot"),
        ({"GET_GPU_RECOVERY_ACTION": 0, "XID_ERRORS": 79}, None, "watch"),
        ({"XID_ERRORS": 31, "GET_GPU_RECOVERY_ACTION": 1}, None, "watch"),
        ({"XID_ERRORS": 45}, None, "ok"),
        ({"XID_ERRORS": 99999}, None, "watch"),
        ({"ROW_REMAP_FAILURE": 1}, None, "watch"),
        ({"ROW_REMAP_FAILURE": 1, "XID_ERRORS": 64}, None, "replace"),
        ({"GET_GPU_RECOVERY_ACTION": 1}, ("DCGM_FR_GPU_RECOVERY_RESET", 20.0), "watch"),
        ({"XID_ERRORS": 95}, ("DCGM_FR_UNCONTAINED_ERROR", 20.0), "watch"),
        ({"XID_ERRORS": 48}, ("DCGM_FR_VOLATILE_DBE_DETECTED", 20.0), "reset"),
        ({"XID_ERRORS": 48}, ("DCGM_FR_VOLATILE_DBE_DETECTED", 10.0), "watch"),
        ({}, ("DCGM_FR_CLOCKS_EVENT_POWER", 10.0), "ok"),
        ({}, ("DCGM_FR_OF_NEXT_YEAR", 20.0), "watch"),
    ],
)
def test_whatever_ends_work_needs_two_sources(
    values: dict[str, float], watch: tuple[str, float] | None, verdict: str
) -> None:
    watches = [build_watch("gpu1", 0, *watch)] if watch else []
    health = judge(build_gpu_series("gpu1", 0, **values), watches, offers=offer_gpus(1))
    assert list_verdicts(health) == [verdict]
    assert health.exit_status == (ExitStatus.DIFFERS if verdict in ("reset", "reboot", "replace") else ExitStatus.OK)


def test_a_withheld_gpu_is_the_only_one_with_a_fault() -> None:
    groups = [build_gpu_series("gpu1", 0, POD, XID_ERRORS=79), build_gpu_series("gpu1", 1)]
    health = judge(*groups, offers=offer_gpus(2, 1))
    assert list_verdicts(health) == ["reboot", "ok"]
    assert [node.verdict for node in health.nodes] == ["reboot"]
    report_text = render_text(health)
    assert "team-a/train-0  reboot" in report_text
    assert "Xid 79: GPU has fallen off the bus; the kubelet does not offer 1 of 2" in report_text
    assert "reboot: Drain the node and reboot the host." in report_text
    assert report_text.endswith("2 GPUs on 1 node: 1 ok, 1 reboot\n")


def test_a_withheld_gpu_is_unknown_where_several_could_be_meant() -> None:
    groups = [build_gpu_series("gpu1", 0, XID_ERRORS=79), build_gpu_series("gpu1", 1, XID_ERRORS=95)]
    assert list_verdicts(judge(*groups, offers=offer_gpus(2, 1))) == ["watch", "watch"]
    health = judge(build_gpu_series("gpu1", 0), offers=offer_gpus(1, 0))
    assert [(node.verdict, node.reasons) for node in health.nodes] == [
        ("unknown", ("the kubelet does not offer 1 of 1, and no fault of a GPU says which",))
    ]


def test_shares_of_a_gpu_are_no_second_source() -> None:
    group = build_gpu_series("gpu1", 0, XID_ERRORS=79)
    health = judge(group, offers=offer_gpus(4, 3), sharing={"gpu1": "time-slicing"})
    assert list_verdicts(health) == ["watch"]


@pytest.mark.parametrize(("count", "verdict"), [(2, "reboot"), (3, "watch")])
def test_an_xid_of_three_nodes_within_minutes_is_no_fault_of_their_gpus(count: int, verdict: str) -> None:
    names = [f"gpu{number}" for number in range(count)]
    groups = [build_gpu_series(name, 0, XID_ERRORS=79) for name in names]
    recent = [build_recent_xid(name, 0, "79") for name in names]
    offers = {name: NodeOffer({RESOURCE: 1}, {RESOURCE: 0}) for name in names}
    health = judge(*groups, recent, offers=offers)
    assert set(list_verdicts(health)) == {verdict}
    assert health.incidents == ((Incident(79, tuple(names)),) if count == 3 else ())
    assert ("incident: Xid 79 on gpu0" in render_text(health)) is (count == 3)


@pytest.mark.parametrize(("count", "verdict"), [(2, "reset"), (3, "watch")])
def test_a_watch_that_repeats_a_shared_xid_is_no_fault_of_the_gpus(count: int, verdict: str) -> None:
    names = [f"gpu{number}" for number in range(count)]
    groups = [build_gpu_series(name, 0, XID_ERRORS=95, GET_GPU_RECOVERY_ACTION=1) for name in names]
    xids = [build_recent_xid(name, 0, "95") for name in names]
    watches = [build_watch(name, 0, "DCGM_FR_UNCONTAINED_ERROR", 20.0) for name in names]
    assert set(list_verdicts(judge(*groups, xids, watches))) == {verdict}


def test_a_program_is_started_again_for_an_xid_of_the_last_minutes_alone() -> None:
    health = judge(build_gpu_series("gpu1", 0), build_recent_xid("gpu1", 0, "31"), offers=offer_gpus(1))
    assert list_verdicts(health) == ["restart-app"]
    assert health.exit_status == ExitStatus.DIFFERS
    health = judge(build_gpu_series("gpu1", 0), build_recent_xid("gpu1", 0, "31", 0.0), offers=offer_gpus(1))
    assert list_verdicts(health) == ["ok"]


def test_a_program_is_started_again_beside_a_reset_that_one_source_asks_for() -> None:
    health = judge(build_gpu_series("gpu1", 0, GET_GPU_RECOVERY_ACTION=4), build_recent_xid("gpu1", 0, "94"))
    assert (list_verdicts(health), "asked for by the driver alone" in health.gpus[0].reason) == (["restart-app"], True)


def test_an_xid_of_a_node_with_mig_instances_may_be_of_another_gpu() -> None:
    part = {"GPU_I_ID": "7", "GPU_I_PROFILE": "1g.10gb"}
    groups = [build_gpu_series("gpu1", 0, part, XID_ERRORS=79, GET_GPU_RECOVERY_ACTION=2)]
    health = judge(*groups, offers={"gpu1": NodeOffer({"nvidia_com_mig_1g_10gb": 7}, {"nvidia_com_mig_1g_10gb": 7})})
    (entry,) = health.gpus
    assert (entry.verdict, entry.gpu.instance) == ("watch", "")


def test_a_silent_exporter_and_a_silent_gpu_are_unknown() -> None:
    offers = offer_gpus(2) | offer_gpus(2, node="gpu2")
    heard_gpus = tuple(HeardGpu("gpu1", f"GPU-gpu1-{index}", "NVIDIA H100 80GB HBM3") for index in range(2))
    removed_gpu = HeardGpu("gpu9", "GPU-gpu9-0", "NVIDIA H100 80GB HBM3")
    health = judge(
        build_gpu_series("gpu1", 0), offers=offers, sharing={"gpu1": "none"}, heard_gpus=(*heard_gpus, removed_gpu)
    )
    assert [(entry.gpu.uuid, entry.verdict) for entry in health.gpus] == [
        ("GPU-gpu1-1", "unknown"),
        ("GPU-gpu1-0", "ok"),
    ]
    assert [(node.node, node.verdict, node.reasons) for node in health.nodes] == [
        ("gpu1", "unknown", ("1 of 2 GPUs send values",)),
        ("gpu2", "unknown", ("no exporter sends values of its GPUs",)),
    ]


def build_silent_series(node: str, index: int) -> list[Series]:
    """Build the last values of a lost GPU, which Prometheus keeps for minutes. Seen on a lab host."""
    return [Series(series.labels, ((930.0, 0.0),)) for series in build_gpu_series(node, index)]


def test_a_gpu_that_the_exporter_and_the_kubelet_miss_is_lost() -> None:
    health = judge(build_gpu_series("gpu1", 0), build_silent_series("gpu1", 1), offers=offer_gpus(2, 1))
    assert [(entry.gpu.index, entry.verdict) for entry in health.gpus] == [("0", "ok"), ("1", "reboot")]
    assert "none of this one; the kubelet does not offer 1 of 2" in " ".join(render_text(health).split())
    assert [node.verdict for node in health.nodes] == ["reboot"]
    assert health.exit_status == ExitStatus.DIFFERS


@pytest.mark.parametrize(
    ("indices", "offers", "sharing"),
    [
        pytest.param([0], offer_gpus(2), {}, id="the kubelet offers all"),
        pytest.param([0], offer_gpus(1), {}, id="somebody removed it"),
        pytest.param([0], {}, {}, id="the kubelet says nothing"),
        pytest.param([], offer_gpus(2, 1), {}, id="the exporter is silent"),
        pytest.param([0], offer_gpus(8, 4), {"gpu1": "time-slicing"}, id="GPUs are shared"),
    ],
)
def test_a_silent_gpu_without_two_sources_is_unknown(
    indices: list[int], offers: dict[str, NodeOffer], sharing: dict[str, str]
) -> None:
    groups = [build_gpu_series("gpu1", index) for index in indices]
    health = judge(*groups, build_silent_series("gpu1", 1), offers=offers, sharing=sharing)
    (silent,) = [entry for entry in health.gpus if entry.gpu.index == "1"]
    assert (silent.verdict, silent.reason) == ("unknown", SILENT)
    assert health.exit_status == ExitStatus.UNKNOWN


def test_of_a_silent_gpu_and_a_faulty_one_the_kubelet_names_neither() -> None:
    health = judge(build_gpu_series("gpu1", 0, XID_ERRORS=79), build_silent_series("gpu1", 1), offers=offer_gpus(2, 1))
    assert [(entry.gpu.index, entry.verdict) for entry in health.gpus] == [("0", "watch"), ("1", "unknown")]


def test_old_readings_of_a_gpu_do_not_count() -> None:
    old = [Series(series.labels, ((900.0, 2.0),)) for series in build_gpu_series("gpu1", 0) if "ACTION" in str(series)]
    group = build_gpu_series("gpu1", 0, GET_GPU_RECOVERY_ACTION=NAN, XID_ERRORS=79)
    assert list_verdicts(judge(group, old, offers=offer_gpus(1))) == ["watch"]


def test_a_node_or_a_gpu_can_be_chosen() -> None:
    groups = [build_gpu_series("gpu1", 0), build_gpu_series("gpu2", 0, XID_ERRORS=79)]
    health = judge(*groups, offers=offer_gpus(1) | offer_gpus(1, 0, "gpu2"))
    assert health.exit_status == ExitStatus.DIFFERS
    assert select_gpus(health, node="gpu1").exit_status == ExitStatus.OK
    assert [entry.gpu.node for entry in select_gpus(health, gpu="GPU-gpu2").gpus] == ["gpu2"]
    with pytest.raises(UsageError, match="There is no GPU 7 of node gpu1"):
        select_gpus(health, node="gpu1", gpu="7")


def test_the_document_has_the_verdicts_and_signs() -> None:
    group = build_gpu_series("gpu1", 0, POD, GET_GPU_RECOVERY_ACTION=2, XID_ERRORS=79)
    document = json.loads(as_json.render_json(judge(group, offers=offer_gpus(1))))
    assert document["schema"] == "gpustack/gpu-health/v1"
    (entry,) = document["gpus"]
    assert (entry["health"], entry["owners"][0]["pod"]) == ("reboot", "train-0")
    assert [(sign["origin"], sign["xid"]) for sign in entry["signs"]] == [("driver", None), ("xid", 79)]
    assert document["exit"]["code"] == ExitStatus.DIFFERS
