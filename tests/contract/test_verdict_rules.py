"""The recorded verdicts are those of `gpustack gpu health` on the same samples, out of one Prometheus."""

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.health.fleet import build_health
from gpustack.health.sign import VERDICTS, find_rank
from gpustack.health.sources import HeardGpu, NodeOffer, Sources
from gpustack.metrics.prometheus import Series
from gpustack.metrics.readings import build_readings
from gpustack.vocabulary.health_codes import load_health_codes
from gpustack.vocabulary.xids import load_xids
from tests.contract.promql import RULES
from tests.contract.promtool import run_promtool
from tests.worlds.prometheus.gpu_series import build_gpu_series

RESOURCE = "nvidia_com_gpu"
MODEL = "NVIDIA H100 80GB HBM3"
MINUTES, SILENT_MINUTES = 8, 3
ABSENT = float("nan")
GROUPS = ["gpustack-gpu-board", "gpustack-nodes", "gpustack-verdicts"]


@dataclass
class Case:
    """Hold the samples of a cluster: series of GPUs, those that end after SILENT_MINUTES, capacity and allocatable
    units by node, how nodes share their GPUs, and which are not Ready."""

    series: list[Series] = field(default_factory=list)
    silent_series: list[Series] = field(default_factory=list)
    offers: dict[str, tuple[int, int]] = field(default_factory=dict)
    sharing: dict[str, str] = field(default_factory=dict)
    unready_nodes: set[str] = field(default_factory=set)

    def add_gpu(self, node: str, index: int, labels: Mapping[str, str] | None = None, /, **values: float) -> None:
        self.series += build_gpu_series(node, index, dict(labels or {}), **values)

    def add_labelled(self, metric: str, node: str, index: int, value: float, **labels: str) -> None:
        gpu = build_gpu_series(node, index)[0].labels
        self.series.append(Series({**gpu, "__name__": metric, **labels}, ((1000.0, value),)))

    def judge(self) -> dict[tuple[str, str], int]:
        """Judge the samples by Python, as ranks by node and UUID."""
        old = [replace(series, points=((880.0, series.points[0][1]),)) for series in self.silent_series]
        silent_gpus = {
            (series.labels["hostname"], series.labels["UUID"]): HeardGpu(
                series.labels["hostname"], series.labels["UUID"], MODEL
            )
            for series in old
        }
        offers = {
            node: NodeOffer({RESOURCE: capacity}, {RESOURCE: allocatable})
            for node, (capacity, allocatable) in self.offers.items()
        }
        health = build_health(
            Sources(
                build_readings(self.series, {}),
                offers,
                frozenset(),
                self.sharing,
                tuple(silent_gpus.values()),
                time=1010.0,
                unready_nodes=frozenset(self.unready_nodes),
            )
        )
        return {(entry.gpu.node, entry.gpu.uuid): find_rank(entry.verdict) for entry in health.gpus}

    def describe(self, name: str) -> dict[str, Any]:
        """Describe the samples as a test of promtool that expects what Python says."""
        kube = [
            (f'kube_node_status_{kind}{{node="{node}",resource="{RESOURCE}"}}', f"{count}x{MINUTES}")
            for node, pair in self.offers.items()
            for kind, count in zip(("capacity", "allocatable"), pair, strict=True)
        ]
        kube += [
            (f'kube_node_labels{{node="{node}",label_nvidia_com_gpu_sharing_strategy="{strategy}"}}', f"1x{MINUTES}")
            for node, strategy in self.sharing.items()
        ]
        kube += [
            (f'kube_node_status_condition{{node="{node}",condition="Ready",status="true"}}', f"{ready:d}x{MINUTES}")
            for node, ready in ((node, node not in self.unready_nodes) for node in self.offers)
        ]
        lasting = [(format_series(series), f"{series.points[0][1]:g}x{MINUTES}") for series in self.series]
        silent = [
            (format_series(series), f"{series.points[0][1]:g}x{SILENT_MINUTES} stale") for series in self.silent_series
        ]
        expected = [
            {"labels": f'{{node="{node}", UUID="{uuid}"}}', "value": rank}
            for (node, uuid), rank in self.judge().items()
        ]
        expr = "max by (node, UUID) (gpustack:gpu_verdict:rank)"
        return {
            "name": name,
            "interval": "1m",
            "input_series": [{"series": text, "values": values} for text, values in (*kube, *lasting, *silent)],
            "promql_expr_test": [{"expr": expr, "eval_time": f"{MINUTES}m", "exp_samples": expected}],
        }


def format_series(series: Series) -> str:
    labels = ",".join(f'{name}="{value}"' for name, value in series.labels.items() if name != "__name__")
    return f"{series.labels['__name__']}{{{labels}}}"


def make_written_cases() -> dict[str, Case]:
    """Make the cases that tests/unit/health has of Prometheus alone."""
    cases: dict[str, Case] = {}

    def begin(name: str, **offers: tuple[int, int]) -> Case:
        cases[name] = Case(offers=offers)
        return cases[name]

    for number, values in enumerate(
        (
            {},
            {"GET_GPU_RECOVERY_ACTION": 1.0},
            {"XID_ERRORS": 79.0},
            {"GET_GPU_RECOVERY_ACTION": 1.0, "XID_ERRORS": 95.0},
            {"GET_GPU_RECOVERY_ACTION": 2.0, "XID_ERRORS": 95.0},
            {"GET_GPU_RECOVERY_ACTION": 9.0},
            {"XID_ERRORS": 31.0, "GET_GPU_RECOVERY_ACTION": 1.0},
            {"XID_ERRORS": 45.0},
            {"XID_ERRORS": 99999.0},
            {"ROW_REMAP_FAILURE": 1.0},
            {"ROW_REMAP_FAILURE": 1.0, "XID_ERRORS": 64.0},
            {"ROW_REMAP_PENDING": 1.0},
            {"ROW_REMAP_FAILURE": ABSENT, "ROW_REMAP_PENDING": ABSENT, "GET_GPU_RECOVERY_ACTION": ABSENT},
        )
    ):
        for units in ({"gpu1": (1, 1)}, {"gpu1": (1, 0)}, {}):
            begin(f"values {number} {units}", **units).add_gpu("gpu1", 0, **values)
    for allocatable in (1, 0):
        unready = begin(f"not Ready {allocatable}", gpu1=(1, allocatable))
        unready.unready_nodes.add("gpu1")
        unready.add_gpu("gpu1", 0, GET_GPU_RECOVERY_ACTION=1.0 - allocatable)
    two = begin("a withheld GPU of two", gpu1=(2, 1))
    two.add_gpu("gpu1", 0, XID_ERRORS=79)
    two.add_gpu("gpu1", 1)
    two_faults = begin("two faults and one withheld", gpu1=(2, 1))
    two_faults.add_gpu("gpu1", 0, XID_ERRORS=79)
    two_faults.add_gpu("gpu1", 1, XID_ERRORS=95)
    shares = begin("shares", gpu1=(4, 3))
    shares.sharing["gpu1"] = "time-slicing"
    shares.add_gpu("gpu1", 0, XID_ERRORS=79)
    for count in (2, 3):
        names = [f"gpu{number}" for number in range(count)]
        wave = begin(f"an Xid of {count} nodes", **dict.fromkeys(names, (1, 0)))
        for name in names:
            wave.add_gpu(name, 0, XID_ERRORS=79)
            wave.add_labelled("DCGM_EXP_XID_ERRORS_COUNT", name, 0, 1.0, xid="79")
        repetition = begin(f"an Xid of {count} nodes with its watch", **dict.fromkeys(names, (1, 1)))
        for name in names:
            repetition.add_gpu(name, 0, XID_ERRORS=95, GET_GPU_RECOVERY_ACTION=1)
            repetition.add_labelled("DCGM_EXP_XID_ERRORS_COUNT", name, 0, 1.0, xid="95")
            labels = {"health_watch": "MEM", "health_error_code": "DCGM_FR_UNCONTAINED_ERROR"}
            repetition.add_labelled("DCGM_EXP_GPU_HEALTH_STATUS", name, 0, 20.0, **labels)
    for errors in (0.0, 1.0):
        program = begin(f"{errors} Xid 31", gpu1=(1, 1))
        program.add_gpu("gpu1", 0)
        program.add_labelled("DCGM_EXP_XID_ERRORS_COUNT", "gpu1", 0, errors, xid="31")
        program = begin(f"{errors} Xid 94 beside a reset", gpu1=(1, 1))
        program.add_gpu("gpu1", 0, GET_GPU_RECOVERY_ACTION=4)
        program.add_labelled("DCGM_EXP_XID_ERRORS_COUNT", "gpu1", 0, errors, xid="94")
    mig = begin("MIG")
    mig.add_gpu("gpu1", 0, {"GPU_I_ID": "7", "GPU_I_PROFILE": "1g.10gb"}, XID_ERRORS=79, GET_GPU_RECOVERY_ACTION=2)
    for offers, sharing in (((2, 1), ""), ((2, 2), ""), ((1, 1), ""), ((8, 4), "mps")):
        silent = begin(f"silent {offers} {sharing}", gpu1=offers)
        silent.sharing |= {"gpu1": sharing} if sharing else {}
        silent.add_gpu("gpu1", 0)
        silent.silent_series = build_gpu_series("gpu1", 1)
    alone = begin("a silent exporter", gpu1=(2, 1), gpu2=(1, 1))
    alone.silent_series = build_gpu_series("gpu1", 1)
    alone.add_gpu("gpu2", 0)
    return cases


def draw_case(seed: int) -> Case:
    """Draw a cluster of up to four nodes, whose signs are of any source."""
    draw = random.Random(seed)
    case = Case()
    xids, codes = [*load_xids(), 99999], [*load_health_codes(), "DCGM_FR_OF_NEXT_YEAR"]
    wave = draw.choice(xids)
    for node in (f"gpu{number}" for number in range(draw.randint(1, 4))):
        count = draw.randint(1, 3)
        for index in range(count):
            values = {
                "GET_GPU_RECOVERY_ACTION": draw.choice([0.0, 0.0, 1.0, 2.0, 3.0, 5.0, ABSENT]),
                "ROW_REMAP_FAILURE": draw.choice([0.0, 0.0, 0.0, 1.0, ABSENT]),
                "ROW_REMAP_PENDING": draw.choice([0.0, 0.0, 0.0, 1.0, ABSENT]),
                "XID_ERRORS": float(draw.choice([0, 0, draw.choice(xids), wave])),
            }
            case.add_gpu(node, index, **values)
            if draw.random() < 0.5:
                code = str(draw.choice([draw.choice(xids), wave]))
                case.add_labelled("DCGM_EXP_XID_ERRORS_COUNT", node, index, draw.choice([0.0, 1.0, 3.0]), xid=code)
            if draw.random() < 0.5:
                code, value = draw.choice([("", 0.0), (draw.choice(codes), draw.choice([10.0, 20.0]))])
                labels = {"health_watch": "ALL", "health_error_code": code}
                case.add_labelled("DCGM_EXP_GPU_HEALTH_STATUS", node, index, value, **labels)
        if draw.random() < 0.3:
            case.silent_series += build_gpu_series(node, count)
        if draw.random() < 0.8:
            case.offers[node] = (count, count - draw.randint(0, min(2, count)))
            case.unready_nodes |= {node} if draw.random() < 0.2 else set()
        if draw.random() < 0.2:
            case.sharing[node] = draw.choice(["none", "mps", "time-slicing"])
    return case


def write_rules(path: Path) -> None:
    """Write the rules of verdicts, and of all that they read, into a file: promtool evaluates each rule of a file."""
    groups = yaml.safe_load((RULES / "gpu-recording.yaml").read_text())["groups"]
    texts: dict[str, str] = {}
    for rule in (rule for group in groups for rule in group["rules"]):
        texts[rule["record"]] = texts.get(rule["record"], "") + rule["expr"]
    needed_names, open_names = set[str](), {"gpustack:gpu_verdict:rank"}
    while open_names:
        needed_names |= open_names
        names_read = {name for record in open_names for name in re.findall(r"gpustack:\w+:\w+", texts.get(record, ""))}
        open_names = names_read - needed_names
    chosen_groups = [
        {**group, "rules": [rule for rule in group["rules"] if rule["record"] in needed_names]}
        for group in groups
        if group["name"] in GROUPS
    ]
    path.write_text(yaml.safe_dump({"groups": chosen_groups}))


def compare(cases: Iterable[tuple[str, Case]], folder: Path) -> str:
    """Compare the verdicts of rules and Python. Return where they differ."""
    write_rules(folder / "rules.yaml")
    document = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "group_eval_order": GROUPS,
        "tests": [case.describe(name) for name, case in cases],
    }
    path = folder / "verdicts.yaml"
    path.write_text(yaml.safe_dump(document))
    return run_promtool("test", "rules", path)


def test_rules_and_the_command_agree_on_written_samples(tmp_path: Path) -> None:
    assert compare(make_written_cases().items(), tmp_path) == ""


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_rules_and_the_command_agree_on_drawn_samples(tmp_path: Path) -> None:
    cases = [(f"seed {seed}", draw_case(seed)) for seed in range(80)]
    assert len({rank for _, case in cases for rank in case.judge().values()}) == len(VERDICTS)
    assert compare(cases, tmp_path) == ""
