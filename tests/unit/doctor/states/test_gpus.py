"""GPUs that a node does not offer or that refuse programs, and hosts with fewer GPUs than others of their model."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.states.gpus import OBSERVERS
from gpustack.doctor.states.state import observe_all
from tests.unit.doctor.states.objects import (
    build_healthy,
    diagnose_items,
    find_item,
    list_states,
    read_items,
    render,
)
from tests.worlds.snapshots.answers import read_case

INSTANCES = "nvidia.com/mig-1g.10gb"


@pytest.mark.parametrize(
    ("resource", "allocatable", "count"),
    [("nvidia.com/gpu", "1", 1), (INSTANCES, "3", 1), (INSTANCES, "0", 0), (INSTANCES, "4", 0)],
    ids=["gpu", "instances", "of-a-removed-plugin", "all"],
)
def test_a_resource_of_which_some_are_unhealthy_is_broken(resource: str, allocatable: str, count: int) -> None:
    nodes = read_items("gpu.nodes")
    status = find_item(nodes, "k2")["status"]
    status["capacity"][resource] = capacity = "2" if resource == "nvidia.com/gpu" else "4"
    status["allocatable"][resource] = allocatable
    diagnosis = diagnose_items(gpu__nodes=nodes)
    message = f"{allocatable} of {capacity} are allocatable: the device plugin calls the others unhealthy"
    states = list_states(diagnosis, "gpus-withheld")
    assert [(state.severity, state.subjects, state.message, state.locations) for state in states] == [
        ("broken", (f"node k2, {resource}",), message, ("k2",))
    ] * count
    assert (message in render(diagnosis)) is bool(count)


def build_hosts(models: Sequence[str], *, explicit_count: int | None = None) -> Snapshot:
    """Build hosts with GPUs of these models, such as `2330*8`. The inventory sets the number of the last host."""
    healthy = build_healthy()
    first_host = healthy.inventory.hosts[0]
    hosts = [replace(first_host, name=f"g{number}") for number in range(len(models))]
    hosts[-1] = replace(hosts[-1], spec=hosts[-1].spec.model_copy(update={"gpustack_gpus": explicit_count}))
    answers = dict(healthy.answers)
    for host, text in zip(hosts, models, strict=True):
        model, _, count = text.partition("*")
        lines = [f"0000:{bus:02x}:00.0 0x{model} 0x030200 nvidia\n" for bus in range(1, int(count) + 1)]
        answers["gpu.devices", host.name] = Answer("gpu.devices", host.name, 0, "".join(lines))
    return replace(healthy, inventory=replace(healthy.inventory, hosts=tuple(hosts)), answers=answers)


@pytest.mark.parametrize(
    ("models", "explicit_count", "hosts"),
    [
        (("2330*8", "2330*8", "2330*7"), None, [("g2",)]),
        (("2330*8", "2330*8", "2330*7"), 7, []),
        (("2330*8", "2330*7"), None, []),
        (("2330*8", "2330*8", "2330*4", "2330*4"), None, []),
        (("2330*8", "2330*8", "2901*4"), None, []),
        (("2330*7", "2330*7", "2330*8"), None, []),
    ],
    ids=["lost", "set-by-the-inventory", "two-hosts", "two-kinds", "another-model", "more"],
)
def test_a_host_with_fewer_gpus_than_its_siblings_is_a_note(
    models: Sequence[str], explicit_count: int | None, hosts: list[tuple[str, ...]]
) -> None:
    snapshot = build_hosts(models, explicit_count=explicit_count)
    states = [state for state in observe_all(OBSERVERS, snapshot)[0] if state.kind == "gpus-fewer"]
    assert [state.locations for state in states] == hosts
    assert all(state.severity == "note" for state in states)
    assert all(state.message == "7 on the PCI bus; 2 hosts of the same model have 8" for state in states)


def test_a_gpu_that_the_driver_asks_to_reset_is_broken() -> None:
    healthy = build_healthy()
    host = healthy.inventory.hosts[0].name
    answer = replace(read_case("gpu.smi", "recovery-reset"), location=host)
    snapshot = replace(healthy, answers={**healthy.answers, ("gpu.smi", host): answer})
    (state,) = (state for state in observe_all(OBSERVERS, snapshot)[0] if state.kind == "gpu-recovery-action")
    assert (state.severity, state.subjects, state.locations) == ("broken", ("GPU 0000:00:07.0",), (host,))
    assert "recovery action is Reset" in state.message


@pytest.mark.parametrize(
    ("modes", "states"),
    [
        (["Default", "Default"], []),
        (["Default", "Prohibited"], [("broken", "GPU 0000:65:00.0", "no program can compute on it")]),
        (["Exclusive_Process", "Default"], [("note", "GPU 0000:17:00.0", "a second program on it is refused")]),
        (["[N/A]", "Prohibited"], []),
    ],
)
def test_a_gpu_that_refuses_programs_by_its_compute_mode_is_named(
    modes: list[str], states: list[tuple[str, str, str]]
) -> None:
    healthy = build_healthy()
    host = healthy.inventory.hosts[0].name
    rows = [f"00000000:{bus}:00.0, {mode}\n" for bus, mode in zip(("17", "65"), modes, strict=True)]
    answer = Answer("gpu.smi", host, 0, "".join([*rows, "\nrc 0\n"]))
    snapshot = replace(healthy, answers={**healthy.answers, ("gpu.smi", host): answer})
    mode_states = [state for state in observe_all(OBSERVERS, snapshot)[0] if state.kind == "gpu-compute-mode"]
    assert [
        (state.severity, *state.subjects, state.message.partition(": ")[2].partition(" (")[0]) for state in mode_states
    ] == (states)
    assert all(state.locations == (host,) for state in mode_states)
