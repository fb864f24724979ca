"""A proof from its first pod to its last, against a cluster, a Prometheus and a Grafana that are none."""

from contextlib import nullcontext
from typing import Any

import pytest

from gpustack.errors import RolloutError
from gpustack.events import Event
from gpustack.proof.grafana import Grafana, Refusal
from gpustack.proof.http import NoAnswer
from gpustack.proof.pod import ApiRefused
from gpustack.proof.pod_run import PodRun
from gpustack.proof.prometheus import Prometheus, Sample, Series
from gpustack.proof.prove import Proof, Prover
from tests.unit.proof.proof_inputs import (
    STEP,
    TIME,
    UUIDS,
    Clock,
    build_refusal,
    build_sample,
    build_series,
    list_marks,
    place,
)  # fmt: skip
from tests.unit.proof.proof_nodes import Nodes

GOOD = ["gpu1 00 ooo", "gpu1 01 ooo", "gpu2 00 ooo", "gpu2 01 ooo"]


class RecordingPrometheus(Prometheus):
    """Scrapes each GPU every 15 s, but for those that are late."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.late: set[str] = set()
        self.metric = "DCGM_FI_DEV_GPU_TEMP"
        self.looks = 0

    def query_time(self) -> float:
        return TIME + self.clock.seconds

    def query_series(self, *, targets: bool = False) -> Series:
        self.looks += 1
        return Series(self.metric, self.query_time(), tuple(self.list_samples()), build_series([]).scrapes)

    def list_samples(self) -> list[Sample]:
        last = TIME + self.clock.seconds // STEP * STEP
        return [
            build_sample(index, timestamp=TIME - 20 if uuid in self.late else last) for index, uuid in enumerate(UUIDS)
        ]

    def query_values(self, timestamp: float) -> dict[str, float]:
        return {sample.uuid: sample.value for sample in self.list_samples()}


class Panels(Grafana):
    def __init__(self, prometheus: RecordingPrometheus) -> None:
        object.__setattr__(self, "prometheus", prometheus)
        object.__setattr__(self, "wrong", {})

    def query_panel(self, metric: str, time: float) -> dict[str, tuple[float, float]]:
        values: dict[str, float] = self.prometheus.query_values(time) | self.wrong  # type: ignore[attr-defined]
        return {uuid: (time - 5, value) for uuid, value in values.items()}


class World:
    def __init__(self) -> None:
        self.clock = Clock()
        self.nodes, self.prometheus = Nodes(self.clock), RecordingPrometheus(self.clock)
        self.grafana = Panels(self.prometheus)
        self.events: list[Event] = []
        self.stop = ""

    def prove(self, **options: Any) -> Proof:
        arguments = {"places": (place("gpu1"), place("gpu2")), "prometheus": self.prometheus, "grafana": self.grafana}
        arguments |= {"namespace": "gpu-operator", "author": "anna@desk"}
        run = PodRun(
            lambda: nullcontext(self.nodes),
            self.events.append,
            lambda: self.stop,
            "kernel",
            pause=0.5,
            wait=self.clock.wait,
            clock=self.clock.read_time,
            id="r",
        )
        return Prover(run, **{**arguments, **options}).prove()


@pytest.fixture
def world() -> World:
    return World()


def test_all_is_proven_and_nothing_is_left(world: World) -> None:
    proof = world.prove()
    assert list_marks(proof.rows) == GOOD
    assert (proof.stop_reason, proof.remaining, world.nodes.pods, world.nodes.removals) == ("", "", {}, 1)
    assert world.nodes.max_count == 4, "all at the same time, so that each meets another GPU"
    assert proof.seconds < 2 + STEP + 2
    assert {link.note for row in proof.rows for _, link in row.links} == {
        "the exporter says that proof-0 uses it",
        "the exporter says that proof-1 uses it",
        "the exporter says that proof-2 uses it",
        "the exporter says that proof-3 uses it",
        "",
    }
    assert [event.message for event in world.events if event.kind == "step"] == [
        "4 pods on 2 nodes",
        "asking Prometheus",
        "asking Grafana",
        "taking the pods away",
    ]


def test_only_free_gpus_get_a_pod(world: World) -> None:
    proof = world.prove(places=(place("gpu1", busy=2), place("gpu2", closed_reason="cordoned")))
    assert world.nodes.max_count == 0
    assert list_marks(proof.rows) == ["gpu1 00 soo", "gpu1 01 soo", "gpu2 00 uoo", "gpu2 01 uoo"]
    assert world.nodes.removals == 0


def test_a_late_scrape_is_waited_for_two_intervals_and_no_longer(world: World) -> None:
    world.prometheus.late = {UUIDS[3]}
    proof = world.prove()
    assert list_marks(proof.rows) == [*GOOD[:3], "gpu2 01 ofo"]
    assert 2 * STEP < proof.seconds < 2 * STEP + 10


def test_pods_that_stay_pending_are_not_known_and_taken_away(world: World) -> None:
    world.nodes.after = 10**6
    proof = world.prove(timeout=30)
    assert {row.kernel.reason for row in proof.rows} == {"FailedScheduling: nowhere"}
    assert list_marks(proof.rows) == ["gpu1 00 uoo", "gpu1 01 uoo", "gpu2 00 uoo", "gpu2 01 uoo"]
    assert world.nodes.pods == {}
    assert proof.seconds < 40


def test_a_pod_without_a_place_is_believed_after_twenty_seconds(world: World) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "Insufficient"}
    world.nodes.statuses = {f"proof-r-{index}": {"phase": "Pending", "conditions": [condition]} for index in range(4)}
    proof = world.prove()
    assert {row.kernel.reason for row in proof.rows} == {"Unschedulable: Insufficient"}
    assert 20 <= proof.parts[0][1] < 22


def test_a_pod_that_was_refused_breaks_its_link_alone(world: World) -> None:
    world.nodes.statuses = {
        "proof-r-1": {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "unhealthy"}
    }
    assert list_marks(world.prove().rows) == [GOOD[0], "gpu1 01 foo", *GOOD[2:]]


def test_the_api_s_refusal_is_the_reason(world: World) -> None:
    world.nodes.refuse = build_refusal("create", ApiRefused("exceeded quota", 403))
    proof = world.prove()
    assert {row.kernel.outcome for row in proof.rows} == {"unknown"}
    assert {row.kernel.reason for row in proof.rows} == {"exceeded quota"}
    world.nodes.refuse = build_refusal("open", ApiRefused("the API was not reached"))
    assert {row.kernel.reason for row in world.prove().rows} == {"the API was not reached"}


def test_ctrl_c_takes_the_pods_away_and_tells_what_is_known(world: World) -> None:
    world.nodes.after = 10**6
    wait = world.clock.wait

    def press_ctrl_c(seconds: float) -> None:
        wait(seconds)
        world.stop = "interrupted" if world.clock.seconds > 5 else ""

    world.clock.wait = press_ctrl_c  # type: ignore[method-assign]
    proof = world.prove()
    assert proof.stop_reason == "interrupted"
    assert (world.nodes.pods, world.nodes.removals) == ({}, 1)
    assert {row.kernel.reason for row in proof.rows} == {"interrupted"}
    assert proof.seconds < 10


def test_a_second_ctrl_c_still_takes_them_away(world: World) -> None:
    world.nodes.refuse = build_refusal("all", KeyboardInterrupt())  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        world.prove()
    assert (world.nodes.pods, world.nodes.removals) == ({}, 1)


def test_a_namespace_that_is_not_ours_ends_it_before_anything_is_made(world: World) -> None:
    world.nodes.refuse = build_refusal("open", RolloutError("proof-namespace-foreign", "not ours"))
    with pytest.raises(RolloutError):
        world.prove()
    assert (world.nodes.max_count, world.nodes.removals) == (0, 0)


def test_what_cannot_be_removed_is_reported(world: World) -> None:
    world.nodes.refuse = build_refusal("remove", ApiRefused("the API was not reached"))
    remaining_pods = world.prove().remaining
    assert remaining_pods.startswith(
        "the pods could not be removed (the API was not reached); they end by themselves within 240 s"
    )


def test_what_an_earlier_proof_left_is_reported(world: World) -> None:
    world.nodes.remaining = 3
    assert world.prove().removed_pods == 3


def test_monitoring_that_cannot_be_asked_is_unknown(world: World) -> None:
    assert list_marks(world.prove(grafana="no login").rows) == [marks[:-1] + "u" for marks in GOOD]
    assert list_marks(world.prove(prometheus="no Service").rows) == [marks[:-2] + "uu" for marks in GOOD]


@pytest.mark.parametrize(("error", "mark"), [(NoAnswer("down"), "u"), (Refusal("elsewhere"), "f")])
def test_a_failing_grafana_marks_panels(
    world: World, error: Exception, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Panels, "query_panel", fail)
    assert list_marks(world.prove().rows) == [marks[:-1] + mark for marks in GOOD]


def test_a_panel_is_asked_again_before_it_is_wrong(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    right, call = Panels.query_panel, []

    def spoil_first(self: Panels, metric: str, time: float) -> dict[str, tuple[float, float]]:
        call.append(time)
        values = right(self, metric, time)
        return {uuid: (stamp, value + 1) for uuid, (stamp, value) in values.items()} if len(call) == 1 else values

    monkeypatch.setattr(Panels, "query_panel", spoil_first)
    assert list_marks(world.prove().rows) == GOOD
    assert len(call) == 2
