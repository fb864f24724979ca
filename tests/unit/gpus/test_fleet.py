import io
import json
from pathlib import Path

import pytest

from gpustack.gpus.fleet import Fleet, build_fleet, find_majority, select_cards
from gpustack.metrics.exposition import parse_families
from gpustack.metrics.readings import build_readings
from gpustack.report.gpus import json as as_json
from gpustack.report.gpus import text
from gpustack.report.terminal import Terminal
from tests.worlds.prometheus.gpu_series import build_gpu_series, make_fleet

NAN = float("nan")
PAGES = Path(__file__).parents[2] / "recorded" / "exporter-pages"
POD = {"exported_namespace": "team-a", "exported_pod": "train-0"}


def print_fleet(fleet_to_print: Fleet) -> str:
    stdout = io.StringIO()
    text.render_human(Terminal(stdout, width=160), fleet_to_print)
    return stdout.getvalue()


def test_gpus_stand_by_node_and_number() -> None:
    fleet = make_fleet(build_gpu_series("gpu2", 0), build_gpu_series("gpu1", 10), build_gpu_series("gpu1", 2))
    assert [(card.gpu.node, card.gpu.index) for card in fleet.cards] == [("gpu1", "2"), ("gpu1", "10"), ("gpu2", "0")]


def test_a_healthy_gpu_is_ok() -> None:
    fleet = make_fleet(build_gpu_series("gpu1", 0, POD), build_gpu_series("gpu1", 1))
    lines = print_fleet(fleet).splitlines()
    assert " ".join(lines[1].split()) == "gpu1 0 H100 80GB HBM3 80 GiB Gen5 x16 on 595.91.07 team-a/train-0 ok"
    assert lines[2].split()[-2:] == ["free", "ok"]
    assert lines[-1] == "2 GPUs on 1 node, 1 in use"


@pytest.mark.parametrize(
    ("values", "health"),
    [
        ({"XID_ERRORS": 79}, "Xid 79: GPU has fallen off the bus"),
        ({"XID_ERRORS": 31}, "ok"),
        ({"XID_ERRORS": 99999}, "Xid 99999: not known here"),
        ({"GET_GPU_RECOVERY_ACTION": 9}, "the driver asks: action 9, which is not known here"),
        ({"GET_GPU_RECOVERY_ACTION": 2}, "the driver asks: reboot the host"),
        ({"ROW_REMAP_FAILURE": 1}, "a row could not be replaced"),
        ({"ROW_REMAP_PENDING": 1}, "a row is replaced at the next reset"),
        ({"ROW_REMAP_FAILURE": NAN, "ROW_REMAP_PENDING": NAN, "GET_GPU_RECOVERY_ACTION": NAN}, "unknown"),
    ],
)
def test_health_is_described_by_the_worst_reading(values: dict[str, float], health: str) -> None:
    (card,) = make_fleet(build_gpu_series("gpu1", 0, **values)).cards
    assert text.describe_health(card, 1010.0) == health


def test_the_age_of_old_values_is_shown() -> None:
    (card,) = make_fleet(build_gpu_series("gpu1", 0)).cards
    assert text.describe_health(card, 1100.0) == "last sample 1 min 40 s ago"


def test_what_differs_from_its_model_is_marked() -> None:
    """A slower link under load is not a difference; fewer lanes are."""
    fleet = make_fleet(
        build_gpu_series("gpu1", 0),
        build_gpu_series("gpu1", 1, PCIE_LINK_GEN=1),
        build_gpu_series("gpu1", 2, PCIE_LINK_WIDTH=8),
        build_gpu_series("gpu2", 0, {"DCGM_FI_DRIVER_VERSION": "580.95.05"}),
        build_gpu_series("gpu2", 1, {"modelName": "NVIDIA L4"}, FB_TOTAL=23034, ECC_CURRENT=0),
        *(build_gpu_series("gpu3", index, {"DCGM_FI_DEV_VBIOS_VERSION": f"96.00.{index > 1}"}) for index in range(3)),
    )
    assert [card.odd for card in fleet.cards] == [(), (), ("PCIe lanes",), ("driver",), (), (), (), ("VBIOS",)]
    assert [text.format_link(card) for card in fleet.cards[:3]] == [
        "Gen5 x16",
        "Gen1/5 x16",
        "Gen5 x8/16",
    ]


def test_nvlink_is_there_where_it_is_measured() -> None:
    fleet = make_fleet(build_gpu_series("gpu1", 0, NVLINK_BANDWIDTH_TOTAL=0), build_gpu_series("gpu1", 1))
    assert [card.nvlink for card in fleet.cards] == [True, None]


@pytest.mark.parametrize(
    ("values", "majority"),
    [([], None), ([None, None], None), ([1, 2], None), ([1, 1, 2], 1), ([1, 1, 2, 2], None), ([1, None], 1)],
)
def test_the_majority_is_of_those_that_say_anything(values: list[object], majority: object) -> None:
    assert find_majority(values) == majority


def test_memory_is_the_sum_of_its_parts_where_nobody_says_it() -> None:
    parts = {"FB_TOTAL": NAN, "FB_USED": 1000, "FB_FREE": 80000, "FB_RESERVED": 559}
    (card,) = make_fleet(build_gpu_series("gpu1", 0, **parts)).cards
    assert card.memory == 81559 * 2**20
    (card,) = make_fleet(build_gpu_series("gpu1", 0, **parts | {"FB_RESERVED": NAN})).cards
    assert card.memory == 81000 * 2**20
    (card,) = make_fleet(build_gpu_series("gpu1", 0, **parts | {"FB_FREE": NAN})).cards
    assert card.memory is None


@pytest.mark.parametrize("order", [1, -1])
def test_the_memory_of_a_shared_gpu_is_not_that_of_one_pod(order: int) -> None:
    groups = [build_gpu_series("gpu1", 0, FB_TOTAL=81559), build_gpu_series("gpu1", 0, {"vgpu": "1"}, FB_TOTAL=1000)]
    (card,) = make_fleet(*groups[::order]).cards
    assert card.memory == 81559 * 2**20


def test_what_a_pod_uses_of_a_shared_gpu_is_no_part_of_its_memory() -> None:
    share = {**POD, "vgpu": "1"}
    parts = {"FB_TOTAL": NAN, "FB_USED": 1000, "FB_FREE": 60000}
    (card,) = make_fleet(build_gpu_series("gpu1", 0, share, **parts)).cards
    assert card.memory is None


def test_instances_stand_after_their_gpu_and_count_with_it() -> None:
    part = {"GPU_I_ID": "7", "GPU_I_PROFILE": "1g.10gb", **POD}
    fleet = make_fleet(build_gpu_series("gpu1", 0), build_gpu_series("gpu1", 0, part), build_gpu_series("gpu1", 1))
    lines = print_fleet(fleet).splitlines()
    assert [line.split()[1] for line in lines[1:4]] == ["0", "0:7", "1"]
    assert lines[-1] == "2 GPUs on 1 node, 1 in use"


def test_nodes_and_models_can_be_chosen() -> None:
    fleet = make_fleet(build_gpu_series("gpu1", 0), build_gpu_series("gpu2", 0, {"modelName": "NVIDIA L4"}))
    assert [card.gpu.node for card in select_cards(fleet, node="gpu2").cards] == ["gpu2"]
    assert [card.gpu.node for card in select_cards(fleet, model="h100").cards] == ["gpu1"]
    assert select_cards(fleet, model="A100").cards == ()


def test_json_and_csv_say_the_same() -> None:
    fleet = make_fleet(build_gpu_series("gpu1", 0, POD, XID_ERRORS=79), build_gpu_series("gpu1", 1, FB_TOTAL=NAN))
    document = json.loads(as_json.render_json(fleet))
    assert document["schema"] == "gpustack/gpus/v1"
    first, second = document["gpus"]
    assert first["owners"] == [{"namespace": "team-a", "pod": "train-0", "container": None}]
    assert first["memory_total_bytes"] == 81559 * 2**20
    assert second["memory_total_bytes"] is None
    assert second["owners"] == []
    head, first_row, two = as_json.render_csv(fleet).splitlines()
    assert head.startswith("node,index,uuid,")
    assert first_row.startswith("gpu1,0,GPU-gpu1-0,")
    assert first_row.endswith(",team-a,train-0")
    assert ",Xid 79: GPU has fallen off the bus," in first_row
    assert len(two.split(",")) == len(head.split(","))


def test_an_escape_in_a_label_reaches_no_terminal() -> None:
    fleet = make_fleet(build_gpu_series("gpu1", 0, {"modelName": "H100\x1b]0;x\x07"}))
    assert "\x1b" not in print_fleet(fleet) + as_json.render_json(fleet) + as_json.render_csv(fleet)


@pytest.mark.parametrize("order", [1, -1])
def test_a_serious_xid_is_shown_beside_a_later_one_of_a_program(order: int) -> None:
    codes = [build_gpu_series("gpu1", 0, {"err_code": code}, XID_ERRORS=float(code)) for code in ("79", "13")]
    (card,) = make_fleet(*codes[::order]).cards
    assert card.ill == ("Xid 79: GPU has fallen off the bus",)


@pytest.mark.parametrize(
    ("values", "in_use"),
    [
        ({}, None),
        ({"PROF_GR_ENGINE_ACTIVE": 0.0}, None),
        ({"FB_USED": 0}, None),
        ({"PROF_GR_ENGINE_ACTIVE": 0.0, "FB_USED": 12}, False),
        ({"GPU_UTIL": 0, "FB_USED": 12}, False),
        ({"PROF_GR_ENGINE_ACTIVE": 0.0, "FB_USED": 5120}, None),
        ({"PROF_GR_ENGINE_ACTIVE": 0.0, "GPU_UTIL": 91, "FB_USED": 0}, None),
    ],
)
def test_without_any_pod_only_an_idle_gpu_is_called_free(values: dict[str, float], in_use: bool | None) -> None:
    """The exporter may not ask the kubelet; that of another node tells nothing about it."""
    fleet = make_fleet(build_gpu_series("gpu1", 0, **values), build_gpu_series("gpu2", 0, POD))
    assert [card.in_use for card in fleet.cards] == [in_use, True]
    text_ = print_fleet(fleet)
    assert ("free" in text_.splitlines()[1]) is (in_use is False)
    assert ("note: no GPU of gpu1 has a pod" in text_) is (in_use is None)
    document = json.loads(as_json.render_json(fleet))
    assert [gpu["in_use"] for gpu in document["gpus"]] == [in_use, True]


@pytest.mark.parametrize("name", ["t4-full-load", "a100-exporter-2"])
def test_a_recorded_gpu_that_works_is_not_called_free(name: str) -> None:
    families = parse_families((PAGES / f"{name}.prom").read_text())
    readings = build_readings([series for family in families for series in family.series], {})
    fleet = build_fleet(readings, 0.0)
    assert {card.in_use for card in fleet.cards} == {None}
    # Used and free memory of the source; the A100's page has no reservation.
    assert fleet.cards[0].memory == {"t4-full-load": 15358, "a100-exporter-2": 40535}[name] * 2**20


def test_instances_stand_by_number() -> None:
    parts = [{"GPU_I_ID": number, "GPU_I_PROFILE": "1g.10gb"} for number in ("10", "2")]
    fleet = make_fleet(*(build_gpu_series("gpu1", 0, part) for part in parts))
    assert [card.gpu.instance for card in fleet.cards] == ["2", "10"]


def test_a_job_that_maps_no_pods_takes_no_owner_away() -> None:
    mapped_series, other_series = build_gpu_series("gpu1", 0, POD), build_gpu_series("gpu1", 0, {"job": "another"})
    for order in ((mapped_series, other_series), (other_series, mapped_series)):
        (card,) = make_fleet(*order).cards
        assert card.owner
