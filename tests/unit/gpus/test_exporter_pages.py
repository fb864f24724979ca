"""The whole judgement of every recorded page (tests/recorded/exporter-pages), and of nineteen kinds of wrong ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from gpustack.gpus.contract import Contract, judge_exporter
from gpustack.metrics.exposition import parse_page
from tests.unit.gpus.exporter_faults import FAULTS, PAGES, D, Fault, P, read_page

CHECKS = {
    "order", "names", "labels", "hosts", "instances", "types", "units", "blanks", "duplicates", "profiling",
    "contradictions", "pods", "cadence", "fields", "alerts",
}  # fmt: skip
# One answer does not tell whether values are new, and no page has all fields, nor those of all alerts.
ASKED_ONCE: dict[str, Sequence[str]] = {"cadence": (), "fields": (), "alerts": ()}
IDLE = ASKED_ONCE | {"pods": ()}
A30 = ("GPU-190f02a4-0000-4000-8000-000000000000", "GPU-835bf014-0000-4000-8000-000000000001")


@dataclass(frozen=True)
class Expectation:
    """Hold what is expected of a page: numbers of metrics, GPUs and MIG instances, and of fields that are there for
    all boards; checks that are not ok, with the names that they give; and fields without a value, or of some boards."""

    counts: tuple[int, int, int]
    present: int
    unknown: Mapping[str, Sequence[str]]
    wrong: Mapping[str, Sequence[str]] = field(default_factory=dict)
    blank: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


EXPECTATIONS = {
    "t4-idle": Expectation((17, 1, 0), 17, IDLE, blank=(f"{D}MEMORY_TEMP",)),
    "t4-full-load": Expectation(
        (20, 1, 0), 20, ASKED_ONCE | {"pods": ("GPU-a152828e-0000-4000-8000-000000000000",)}, blank=(f"{D}MEMORY_TEMP",)
    ),
    "l4": Expectation((23, 1, 0), 23, IDLE, blank=(f"{D}MEMORY_TEMP",)),
    "l40s": Expectation((23, 1, 0), 23, IDLE, blank=(f"{D}MEMORY_TEMP",)),
    "vgpu-guest-a100-10c": Expectation(
        (11, 1, 0),
        11,
        IDLE | {"profiling": ("GPU-e04abf7f-0000-4000-8000-000000000000 (GRID A100-10C)",)},
        blank=(f"{D}MEMORY_TEMP",),
    ),
    "a800-mig": Expectation((16, 4, 3), 16, IDLE, partial=(f"{D}GPU_UTIL",)),
    "a800-mig-unconvertible-row": Expectation(
        (17, 4, 3),
        16,
        IDLE,
        {"format": (f"{D}VGPU_PER_PROCESS_UTILIZATION, line 111: ERROR - FAILED TO CONVERT TO STRING",)},
        partial=(f"{D}GPU_UTIL",),
    ),
    "a100-exporter-2": Expectation(
        (16, 1, 1),
        16,
        ASKED_ONCE
        | {
            "pods": (
                "GPU-6ac2d6fc-0000-4000-8000-000000000000",
                "GPU-6ac2d6fc-0000-4000-8000-000000000000 instance 13",
            )
        },
        {"labels": ("modelName (20 series)",)},
    ),
    "a30-mig-beside-rtx2000-pod-as-host": Expectation(
        (3, 3, 6),
        3,
        ASKED_ONCE | {"profiling": ("GPU-fc8f430c-0000-4000-8000-000000000002 (NVIDIA RTX 2000 Ada Generation)",)},
        {"hosts": ("dcgm-exporter-x7k2p",), "profiling": tuple(f"{uuid} (NVIDIA A30)" for uuid in A30)},
    ),
    "t4-pod-as-host": Expectation(
        (4, 1, 0),
        5,
        ASKED_ONCE,
        {
            "hosts": ("nvidia-dcgm-exporter-x7k2p",),
            "profiling": ("GPU-5479099a-0000-4000-8000-000000000000 (Tesla T4)",),
        },
    ),
}


def order_lines(text: str, order: str) -> str:
    """Order the lines of a page: `types` before `helps`, or all of them behind the `rows`."""
    lines = text.splitlines(keepends=True)
    kinds = {
        "types": [line for line in lines if line.startswith("# TYPE")],
        "helps": [line for line in lines if line.startswith("# HELP")],
        "rows": [line for line in lines if not line.startswith("#")],
    }
    return "".join(line for kind in order.split() for line in kinds[kind])


def judge_page(text: str, later: str | None = None) -> Contract:
    return judge_exporter("", parse_page(text), None if later is None else parse_page(later), 40)


def list_names(contract: Contract, outcome: str) -> dict[str, tuple[str, ...]]:
    return {verdict.check: verdict.names for verdict in contract.verdicts if verdict.outcome == outcome}


def test_every_recorded_page_is_judged() -> None:
    assert {path.stem for path in PAGES.glob("*.prom")} == set(EXPECTATIONS)


@pytest.mark.parametrize("order", ["types helps rows", "helps types rows", "types rows helps"])
@pytest.mark.parametrize("name", EXPECTATIONS)
def test_types_that_stand_before_all_samples_are_read(name: str, order: str) -> None:
    text = read_page(name)
    page, ordered_page = parse_page(text), parse_page(order_lines(text, order))
    assert {family.name: family for family in ordered_page.families} == {
        family.name: family for family in page.families
    }
    assert (len(ordered_page.refused_rows), ordered_page.late_types) == (len(page.refused_rows), ())


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_types_behind_the_samples_are_late(name: str) -> None:
    types = [family for family in parse_page(read_page(name)).families if family.kind != "unknown"]
    assert len(parse_page(order_lines(read_page(name), "rows helps types")).late_types) >= len(types) > 0


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_a_recorded_page_is_judged_as_it_is(name: str) -> None:
    expected, contract = EXPECTATIONS[name], judge_page(read_page(name))
    assert (contract.families, contract.gpus, contract.instances) == expected.counts
    unknown = list_names(contract, "unknown")
    assert unknown | {"fields": (), "alerts": ()} == {check: tuple(names) for check, names in expected.unknown.items()}
    assert list_names(contract, "wrong") == expected.wrong
    assert list_names(contract, "ok").keys() == CHECKS - expected.unknown.keys() - expected.wrong.keys()
    assert contract.kept is not bool(expected.wrong)
    states = {state.name: state.state for state in contract.fields}
    by_state = {
        kind: tuple(sorted(field for field, state in states.items() if state == kind)) for kind in set(states.values())
    }
    assert (by_state.get("blank", ()), by_state.get("partial", ())) == (expected.blank, expected.partial)
    assert len(by_state["present"]) == expected.present
    assert set(unknown["fields"]) >= set(by_state["missing"])


def test_the_table_has_nineteen_kinds_and_five_passed_before() -> None:
    """A page with names of 1.x beside those of today was one of them, TYPE twice is no fault of values."""
    assert len({fault.kind for fault in FAULTS}) == 19
    assert [fault.kind for fault in FAULTS if fault.before is None and fault.check != "order"] == [
        "names of 1.x beside those of today",
        "the exporter's pod as host",
        "no profiling field",
        "MIG instances as GPUs",
        "utilisation without an engine",
    ]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind.replace(" ", "-"))
def test_every_kind_of_fault_is_named(fault: Fault) -> None:
    text = read_page(fault.page)
    page = fault.change(text)
    contract = judge_page(page, page if fault.repeated else None)
    wrong = list_names(contract, "wrong")
    assert set(wrong) == {fault.check}
    assert any(fault.name in name for name in wrong[fault.check])
    assert judge_page(text).kept
    assert not contract.kept


@pytest.mark.parametrize("host", ["localhost", "localhost.localdomain", "127.0.0.1", "3f4e5d6c7b8a", "dcgm-exporter-q"])
def test_a_host_that_is_no_node_is_named(host: str) -> None:
    page = read_page("l4").replace('Hostname="node1"', f'hostname="{host}"')
    assert list_names(judge_page(page), "wrong") == {"hosts": (host,)}


@pytest.mark.parametrize("host", ["node1", "gpu-worker-0.example.com", "ip-10-0-0-1", "deadbeef", "10.0.0.1"])
def test_a_node_may_have_any_name(host: str) -> None:
    assert judge_page(read_page("l4").replace('Hostname="node1"', f'Hostname="{host}"')).kept


def test_a_fault_is_found_at_the_field_that_it_is_of() -> None:
    fault = next(fault for fault in FAULTS if fault.check == "contradictions")
    contract = judge_page(fault.change(read_page(fault.page)))
    states = [state.name for state in contract.fields if state.problems]
    assert states == [f"{D}GPU_UTIL", f"{P}GR_ENGINE_ACTIVE"]


@pytest.mark.parametrize(
    ("model", "outcome"),
    [
        ("NVIDIA H100 80GB HBM3", "wrong"),
        ("NVIDIA A100-SXM4-80GB", "wrong"),
        ("Tesla T4", "wrong"),
        ("NVIDIA A10-24Q", "unknown"),
        ("GRID A100-10C", "unknown"),
        ("NVIDIA GeForce RTX 4090", "unknown"),
        ("NVIDIA RTX A6000", "unknown"),
        ("", "unknown"),
    ],
)
def test_profiling_is_missed_where_dcgm_has_it(model: str, outcome: str) -> None:
    text = "".join(line for line in read_page("l4").splitlines(keepends=True) if P not in line)
    assert "profiling" in list_names(judge_page(text.replace("NVIDIA L4", model)), outcome)


def test_a_gpu_without_the_profiling_fields_of_its_model_is_named() -> None:
    text = read_page("l4").replace("NVIDIA L4", "NVIDIA RTX A6000")
    other_gpu = "".join(line for line in text.splitlines(keepends=True) if P not in line and not line.startswith("#"))
    contract = judge_page(text + other_gpu.replace("GPU-a8ee9348", "GPU-b").replace('gpu="0"', 'gpu="1"'))
    (name,) = list_names(contract, "wrong")["profiling"]
    assert name.startswith("GPU-b")


def test_an_idle_guest_that_stands_still_is_not_wrong() -> None:
    """Such a guest has no field that changes as long as nothing runs."""
    text = read_page("vgpu-guest-a100-10c")
    assert list_names(judge_page(text, text), "unknown")["cadence"] == ("GPU-e04abf7f-0000-4000-8000-000000000000",)
    assert judge_page(text, text).kept
    assert "cadence" in list_names(judge_page(text, text.replace("} 1410", "} 1395")), "ok")


def test_types_before_all_series_are_those_of_their_metrics() -> None:
    lines = read_page("l4").splitlines()
    types = [line for line in lines if line.startswith("#")]
    contract = judge_page("\n".join([*types, *(line for line in lines if line not in types), ""]))
    assert list_names(contract, "wrong") == {}
    assert contract.families == 23


def test_without_a_row_that_can_be_read_there_is_no_page() -> None:
    with pytest.raises(ValueError, match="line 2: ERROR"):
        parse_page('# TYPE a gauge\na{b="c"} ERROR\n')
