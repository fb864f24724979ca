"""The basis of numbers of GPUs and pods: measured, copied from a device that several share, derived or unknown."""

import json
from typing import Any

from gpustack.gpus.activity import Activity, build_activity
from gpustack.gpus.fleet import build_fleet
from gpustack.metrics.exposition import parse_page
from gpustack.metrics.readings import Readings, build_readings
from gpustack.report.gpus import activity as activity_report
from gpustack.report.gpus import json as fleet_json
from gpustack.report.gpus import text as fleet_text
from tests.unit.gpus.exporter_faults import read_page
from tests.unit.report.screen import print_screen
from tests.worlds.prometheus.gpu_series import BUSY, build_gpu_series, make_activity

NAN = float("nan")
POD = {"exported_namespace": "team-a", "exported_pod": "train-0"}
LINE = (
    'DCGM_FI_DEV_FB_USED{{gpu="0",UUID="GPU-a",pci_bus_id="00000000:00:05.0",device="nvidia0",'
    'modelName="NVIDIA A100-SXM4-80GB",Hostname="gpu1",{}}} 15866\n'
)
OWNERS = (
    'container="burn",namespace="default",pod="burn-0",vgpu="1"',
    'container="vllm",namespace="vllm-inference",pod="vllm-0",vgpu="3"',
)
COPIES = "# TYPE DCGM_FI_DEV_FB_USED gauge\n" + "".join(map(LINE.format, OWNERS))
"""Lines of an A100 that two pods share by MPS, in NVIDIA/dcgm-exporter#432; UUID, host and pods are replaced."""


def read_readings(text: str) -> Readings:
    return build_readings((series for family in parse_page(text).families for series in family.series), {})


def load_rows(activity: Activity, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(activity_report.render_json(activity))[name]
    return rows


def print_pods(activity: Activity) -> str:
    return print_screen(lambda screen: activity_report.render_human(screen, activity, pods=True))


def test_the_values_of_a_gpu_that_pods_share_are_copied_for_each_of_them() -> None:
    activity = build_activity(read_readings(COPIES))
    rows = load_rows(activity, "pods")
    counts = {"gpu_count": "allocated", "shared_gpu_count": "allocated"}
    assert [row["basis"] for row in rows] == [counts | {"memory_used_bytes": "copied"}] * 2
    text = print_pods(activity)
    assert text.count("15^ GiB") == 2
    assert text.count("^ copied: of a whole device, which several pods or MIG instances share") == 1
    (gpu,) = load_rows(activity, "gpus")
    assert gpu["basis"] == {"memory_used_bytes": "measured"}


def test_the_values_of_a_pod_that_is_alone_on_its_gpus_are_measured_and_have_no_mark() -> None:
    activity = make_activity(build_gpu_series("gpu1", 0, POD, **BUSY), build_gpu_series("gpu1", 1, POD, **BUSY))
    (row,) = load_rows(activity, "pods")
    assert set(row["basis"].values()) == {"measured", "allocated"}
    assert "^" not in print_pods(activity)
    assert "copied" not in print_pods(activity)


def test_a_value_that_is_unknown_has_no_basis() -> None:
    activity = make_activity(build_gpu_series("gpu1", 0, POD, **BUSY | {"PROF_SM_ACTIVE": NAN, "POWER_USAGE": NAN}))
    (row,) = load_rows(activity, "gpus")
    assert {name for name in ("sm_ratio", "power_watts") if name in row["basis"]} == set()
    assert row["basis"]["engine_ratio"] == "measured"


def test_utilisation_that_stands_in_is_measured() -> None:
    silent = {name: NAN for name in BUSY if name.startswith("PROF_")}
    activity = make_activity(build_gpu_series("gpu1", 0, POD, **BUSY | silent | {"GPU_UTIL": 91}))
    (row,) = load_rows(activity, "pods")
    assert row["basis"]["utilisation_ratio"] == "measured"
    assert "91 %** " in print_pods(activity)


def test_mig_instances_have_copies_of_the_values_of_their_board() -> None:
    activity = build_activity(read_readings(read_page("a800-mig")))
    instances = [row for row in load_rows(activity, "gpus") if row["instance"]]
    assert [(row["basis"]["power_watts"], row["basis"]["temperature_celsius"]) for row in instances] == [
        ("copied", "copied")
    ] * 3
    assert [(row["basis"]["dram_ratio"], row["basis"]["memory_used_bytes"]) for row in instances] == [
        ("measured", "measured")
    ] * 3
    boards = [row["basis"] for row in load_rows(activity, "gpus") if not row["instance"]]
    assert {words["power_watts"] for words in boards} == {"measured"}


def test_a_size_that_is_the_sum_of_its_parts_is_derived() -> None:
    fleet = build_fleet(read_readings(read_page("l4")), 0)
    (row,) = json.loads(fleet_json.render_json(fleet))["gpus"]
    assert row["basis"] == {"memory_total_bytes": "derived"}
    text = print_screen(lambda screen: fleet_text.render_human(screen, fleet))
    assert "22~ GiB" in text
    assert "~ derived: computed from other quantities" in text
    sent_fleet = build_fleet(build_readings(build_gpu_series("gpu1", 0), {}), 1000)
    (row,) = json.loads(fleet_json.render_json(sent_fleet))["gpus"]
    assert set(row["basis"].values()) == {"measured"}
