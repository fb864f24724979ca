"""GPUs are kept by pods, and given back whatever happens."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from gpustack.errors import RolloutError
from gpustack.events import Event
from gpustack.proof.hold import Holder
from gpustack.proof.pod import ApiRefused
from gpustack.proof.workload import NODE

RUNNING: dict[str, Any] = {"phase": "Running", "containerStatuses": [{"name": "held", "state": {"running": {}}}]}
NO_ROOM = {
    "phase": "Pending",
    "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "Insufficient nvidia.com/gpu"}
    ],
}


@dataclass
class Api:
    """`full` are nodes where a pod finds no GPU; `refuses` is what the API says to a new pod."""

    full: tuple[str, ...] = ()
    refuses: str = ""
    pods: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    @contextmanager
    def connect(self) -> Iterator["Api"]:
        yield self

    def open(self) -> int:
        return 0

    def create(self, manifest: Mapping[str, Any]) -> None:
        if self.refuses:
            raise ApiRefused(self.refuses)
        (container,) = manifest["spec"]["containers"]
        assert container["resources"] == {"limits": {"nvidia.com/gpu": "1"}}
        assert "initContainers" not in manifest["spec"]
        self.pods[manifest["metadata"]["name"]] = manifest

    def list_pods(self, run: str = "") -> list[dict[str, Any]]:
        nodes = [(pod, pod["metadata"]["annotations"][NODE]) for pod in self.pods.values()]
        return [{**one, "status": NO_ROOM if node in self.full else RUNNING} for one, node in nodes]

    def delete(self, pod: Mapping[str, Any]) -> None:
        del self.pods[pod["metadata"]["name"]]

    def remove(self, run: str) -> bool:
        assert run == "r1"
        self.pods.clear()
        self.log.append("removed")
        return True


def holder(api: Api, events: list[Event]) -> Holder:
    ticks = iter(range(0, 10_000, 50))
    return Holder(api.connect, events.append, 600, wait=lambda _: None, clock=lambda: next(ticks), run="r1")


def test_all_gpus_of_a_node_are_kept() -> None:
    api = Api()
    with holder(api, []).hold({"gpu1": 2, "gpu2": 1}) as refused:
        assert refused == {}
        assert [pod["metadata"]["annotations"][NODE] for pod in api.pods.values()] == ["gpu1", "gpu1", "gpu2"]
        assert {one["spec"]["activeDeadlineSeconds"] for one in api.pods.values()} == {660}
    assert api.log == ["removed"]


def test_a_node_that_was_taken_meanwhile_is_left_out_at_once() -> None:
    api = Api(full=("gpu2",))
    with holder(api, []).hold({"gpu1": 1, "gpu2": 2}) as refused:
        assert refused == {
            "gpu2": "Its GPUs could not be kept for the test: Unschedulable: Insufficient nvidia.com/gpu"
        }
        assert len(api.pods) == 1


def test_they_are_given_back_when_the_test_breaks_off() -> None:
    api = Api()
    with pytest.raises(KeyboardInterrupt), holder(api, []).hold({"gpu1": 1}):
        raise KeyboardInterrupt
    assert api.log == ["removed"]


def test_what_the_api_refuses_holds_nothing() -> None:
    api = Api(refuses="quota exceeded")
    with pytest.raises(RolloutError) as raised, holder(api, []).hold({"gpu1": 1}):
        raise AssertionError
    assert raised.value.reference == "gpu-not-held"
    assert api.log == ["removed"]


def test_what_cannot_be_removed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    events = list[Event]()
    monkeypatch.setattr(Api, "remove", lambda *_: False)
    with holder(Api(), events).hold({"gpu1": 1}):
        pass
    assert "end by themselves" in events[-1].message
