"""Display controllers of a host are GPUs for Kubernetes, or not; they are counted."""

import pytest

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.view import View
from gpustack.config.host import HostSpec
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.rollout.overlay import count_gpus_of_host, find_gpu_driver
from gpustack.steps import STEPS
from gpustack.steps.gpu.count import count_gpus, find_excluded_devices, list_gpus
from gpustack.steps.gpu.hosts import count_host_gpus, count_node_gpus
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import K1, K2
from tests.worlds.snapshots.gpus import build_devices, build_snapshot, set_gpus
from tests.worlds.snapshots.judge import judge_state

A100, GT_710, GT_1030, T400 = "0x20b0 0x030200", "0x128b 0x030000", "0x1d01 0x030000", "0x1fb2 0x030000"
MACHINES = "two-of-four-for-virtual-machines"


def build_bus(*lines: str) -> Answers:
    return place_answers("k1", make_answer("gpu.devices", "".join(f"{line}\n" for line in lines)))


def load_case(name: str) -> Answers:
    return place_answers("k1", read_case("gpu.devices", name))


def count_on_host(devices: Answers, number: int | None = None) -> int:
    hosts = (K1 if number is None else set_gpus(K1, gpustack_gpus=number), K2)
    return count_gpus(View(build_snapshot(devices, hosts=hosts), "k1"))


@pytest.mark.parametrize(
    ("name", "number"),
    [(MACHINES, 2), ("display-card-beside-two", 2), ("virtual-machine-with-one", 1), ("none", 0)],
)
def test_gpus_of_real_hosts_are_counted(name: str, number: int) -> None:
    assert count_on_host(load_case(name)) == number


@pytest.mark.parametrize("driver", ["vfio-pci", "nvgrace-gpu-vfio-pci", "pci-stub", "pciback", "xen-pciback"])
def test_what_is_handed_on_is_somebody_else_s(driver: str) -> None:
    answers = build_bus(f"0000:17:00.0 {A100} {driver}", f"0000:65:00.0 {A100} nvidia")
    assert count_on_host(answers) == 1
    assert find_excluded_devices(View(build_snapshot(answers), "k1")[GPU_DEVICES]) == {
        "0000:17:00.0": f"bound to {driver}"
    }


@pytest.mark.parametrize(
    ("card", "driver", "number"),
    [(GT_710, "nouveau", 1), (GT_710, "-", 1), (GT_1030, "-", 1), (GT_1030, "nvidia", 2), (T400, "-", 2)],
)
def test_a_display_card_counts_where_a_driver_of_today_takes_it(card: str, driver: str, number: int) -> None:
    assert count_on_host(build_bus(f"0000:03:00.0 {card} {driver}", f"0000:41:00.0 {A100} -")) == number


def test_an_old_card_alone_or_one_that_computes_is_not_passed_over() -> None:
    """That the driver does not take it is to be reported, not hidden."""
    assert count_on_host(build_bus(f"0000:03:00.0 {GT_710} -")) == 1
    assert count_on_host(build_bus("0000:03:00.0 0x1db4 0x030200 -", f"0000:41:00.0 {A100} nvidia")) == 2


def test_a_console_card_beside_passed_through_gpus_does_not_count() -> None:
    assert count_on_host(build_bus(f"0000:03:00.0 {GT_710} -", f"0000:41:00.0 {A100} vfio-pci")) == 0


def test_the_inventory_counts_more_than_the_bus() -> None:
    assert count_on_host(load_case("display-card-beside-two"), 3) == 3
    assert count_on_host(build_devices("k1", "0000:17:00.0", "0000:1f:00.0"), 1) == 1


def test_none_for_kubernetes_is_no_driver_and_no_expectation() -> None:
    hosts = (set_gpus(K1, gpustack_gpus=0), K2)
    snapshot = build_snapshot(hosts=hosts)
    view = View(snapshot, "k1")
    assert (list_gpus(view), count_gpus(view)) == ((), 0)
    assert set(count_host_gpus(View(snapshot, CLUSTER))) == {"k2"}
    assert (find_gpu_driver(view), count_gpus_of_host(view)) == ("", 0)
    assert count_gpus_of_host(View(snapshot, "k2")) == 2


@pytest.mark.parametrize("number", [-1, 65, "two", 1.5])
def test_a_malformed_number_of_gpus_is_refused(number: object) -> None:
    with pytest.raises(ValueError, match="gpustack_gpus"):
        HostSpec.model_validate({"gpustack_gpus": number})


def test_what_is_unknown_stays_so() -> None:
    with pytest.raises(FactUnavailable):
        count_on_host(build_bus("?"))


def test_every_step_expects_the_same() -> None:
    """The host that hands on two of four offers two, and nothing is missed: neither GPUs nor series of them."""
    snapshot = build_snapshot(load_case(MACHINES))
    view = View(snapshot, CLUSTER)
    assert count_node_gpus(view) == {"k1": 2, "k2": 2}
    step_states = [
        judge_state(step, view) for step in STEPS if step.id in ("gpu-operator", "gpu-sharing", "gpu-metrics")
    ]
    assert [
        str(judgement.result) for step in step_states for judgement in step.judgements if judgement.outcome != "ok"
    ] == []
