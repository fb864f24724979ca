"""GPUs are kept by pods, and given back whatever happens."""

from collections.abc import Mapping
from contextlib import AbstractContextManager

import pytest

from gpustack.errors import RolloutError
from gpustack.proof.hold import hold_gpus
from gpustack.proof.workload import NODE
from tests.worlds.programs.pod_api import NO_ROOM, PodApi, make_run


def hold(api: PodApi, gpu_counts: Mapping[str, int]) -> AbstractContextManager[Mapping[str, str]]:
    return hold_gpus(make_run(api), gpu_counts, 600)


def test_all_gpus_of_a_node_are_kept() -> None:
    api = PodApi()
    with hold(api, {"gpu1": 2, "gpu2": 1}) as refusals:
        assert refusals == {}
        assert [pod["metadata"]["annotations"][NODE] for pod in api.pods.values()] == ["gpu1", "gpu1", "gpu2"]
        assert {pod["spec"]["activeDeadlineSeconds"] for pod in api.pods.values()} == {660}
        for pod in api.pods.values():
            (container,) = pod["spec"]["containers"]
            assert container["resources"] == {"limits": {"nvidia.com/gpu": "1"}}
            assert "initContainers" not in pod["spec"]
        assert api.removals == 0
    assert api.removals == 1


def test_a_node_that_was_taken_meanwhile_is_left_out_at_once() -> None:
    api = PodApi(statuses={1: NO_ROOM, 2: NO_ROOM})
    with hold(api, {"gpu1": 1, "gpu2": 2}) as refusals:
        assert refusals == {"gpu2": "Its GPUs could not be kept for the test: Unschedulable: 0/2 nodes"}
        assert len(api.pods) == 1
        assert api.time <= 30


def test_they_are_given_back_when_the_test_breaks_off() -> None:
    api = PodApi()
    with pytest.raises(KeyboardInterrupt), hold(api, {"gpu1": 1}):
        raise KeyboardInterrupt
    assert api.removals == 1


@pytest.mark.parametrize(("verb", "removals"), [("open", 0), ("create", 1), ("list", 1)])
def test_what_the_api_refuses_holds_nothing(verb: str, removals: int) -> None:
    api = PodApi(refuses=lambda asked_verb: "quota exceeded" if asked_verb == verb else "")
    with pytest.raises(RolloutError) as excinfo, hold(api, {"gpu1": 1}):
        raise AssertionError
    assert (excinfo.value.reference, excinfo.value.reason) == ("gpu-not-held", "quota exceeded")
    assert (api.removals, api.time) == (removals, 0)


def test_what_cannot_be_removed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    api = PodApi()
    monkeypatch.setattr(PodApi, "remove", lambda *_: False)
    with hold(api, {"gpu1": 1}):
        pass
    assert "end by themselves" in api.events[-1].message
