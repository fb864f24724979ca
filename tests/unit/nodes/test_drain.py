"""The drain against recorded objects and a kubectl that changes them: what it evicts, what it waits for, and what it
never touches."""

from collections.abc import Callable
from typing import Any

import pytest

from gpustack.errors import RolloutError, UnreachableError, UsageError
from gpustack.events import ignore_event
from gpustack.nodes.drain import Drain, DrainResult
from gpustack.nodes.drain_plan import DrainPlan, plan_drain
from gpustack.nodes.node_change import NodeWriter
from gpustack.probes.kubernetes.disruption_budgets import DISRUPTION_BUDGETS
from gpustack.probes.kubernetes.node_pods import NODE_PODS
from gpustack.probes.kubernetes.node_records import NODE_RECORDS
from tests.worlds.programs.node_api import HOSTS, NodeApi

NOTEBOOK, SLICE = "team-a/notebook", "default/slice"


def run(
    api: NodeApi, *ended_pods: str, timeout: float = 0.2, change: Callable[[], object] = lambda: None, **options: Any
) -> DrainResult:
    plan_before = plan_drain(api.gather(), "gpu1", ended_pods)
    change()
    writer = NodeWriter(HOSTS[0], api.execute, "ann")
    return Drain(api.gather, writer, timeout, ignore_event, **options).run(plan_before, ended_pods)


def test_pods_with_a_controller_leave_a_node_that_is_cordoned_as_gpustacks(api: NodeApi) -> None:
    api.keep_pods("train", "exporter", "kube")
    result = run(api, timeout=20)
    assert (result.exit_status, result.remaining_pods, result.cordon) == (0, (), "gpustack")
    assert [name for name in api.list_pod_names() if "train" in name] == []
    node = api.read_node()
    assert node["spec"] == {"unschedulable": True}
    assert '"who": "ann"' in node["metadata"]["annotations"]["gpustack.io/cordon"]
    assert result.next_command == "gpustack node uncordon gpu1 -i hosts.yml"


def test_no_pod_is_forced_and_none_is_deleted_without_the_eviction(api: NodeApi) -> None:
    api.keep_pods("train")
    run(api, timeout=20)
    words = [word for call in api.read()["calls"] for word in call]
    assert not {"delete", "drain", "--force", "--delete-emptydir-data"} & {*words}


def test_a_budget_is_held_and_named_with_its_figures(api: NodeApi) -> None:
    api.keep_pods("web")
    result = run(api)
    assert result.exit_status == 1
    figures = "budget web (minAvailable 2) allows 0 evictions: 2 healthy, 2 needed"
    assert [pod.reason for pod in result.remaining_pods] == [figures, figures]
    assert len(api.list_pod_names()) == 2


def test_drain_waits_for_a_budget_that_allows_single_pods(api: NodeApi) -> None:
    api.keep_pods("web")
    api.set_allowance(1)

    def gather() -> Any:
        snapshot = api.gather()
        api.set_allowance(1)
        return snapshot

    plan_before = plan_drain(api.gather(), "gpu1")
    result = Drain(gather, NodeWriter(HOSTS[0], api.execute), 20, ignore_event).run(plan_before)
    assert (result.exit_status, api.list_pod_names()) == (0, [])


def test_a_pod_that_does_not_end_is_named(api: NodeApi) -> None:
    api.keep_pods("train")
    api.stuck_pods = {name.partition("/")[2] for name in api.list_pod_names()}
    result = run(api)
    assert [pod.reason for pod in result.remaining_pods] == ["its deletion has begun, and it has not ended"]


def test_bare_pods_and_scratch_data_are_refused_before_anything_is_done(api: NodeApi) -> None:
    with pytest.raises(RolloutError) as failure:
        run(api)
    assert failure.value.reference == "node-pods-refused"
    assert "team-a/notebook: no controller makes it anew" in failure.value.reason
    assert "--end-pod team-a/notebook" in failure.value.hint
    assert api.read()["calls"] == []


def test_named_pods_are_evicted_and_no_other(api: NodeApi) -> None:
    api.keep_pods("notebook", "slice")
    with pytest.raises(RolloutError):
        run(api, NOTEBOOK)
    assert run(api, NOTEBOOK, SLICE, timeout=20).exit_status == 0
    assert api.list_pod_names() == []


def test_a_pod_that_is_not_there_cannot_be_named(api: NodeApi) -> None:
    with pytest.raises(UsageError, match="no pod team-a/gone on gpu1"):
        run(api, "team-a/gone")


def add_pod(api: NodeApi, name: str) -> None:
    objects = api.read()
    (pod,) = (pod for pod in objects["pods"] if pod["metadata"]["name"].startswith("train"))
    objects["pods"].append({**pod, "metadata": {**pod["metadata"], "name": name, "uid": name}})
    api.write(objects)


def test_a_pod_that_came_after_the_preview_stops_the_drain(api: NodeApi) -> None:
    api.keep_pods("train")
    with pytest.raises(RolloutError) as failure:
        run(api, change=lambda: add_pod(api, "new"))
    assert (failure.value.reference, failure.value.reason) == (
        "node-changed-since",
        "team-a/new came to the node",
    )
    assert api.read()["calls"] == []


def test_a_person_who_cordons_meanwhile_stops_the_drain(api: NodeApi) -> None:
    api.keep_pods("train")
    with pytest.raises(RolloutError, match="is not what was shown"):
        run(api, change=lambda: api.set_cordon("kubectl"))


def test_the_cordon_of_a_person_stays_a_person_s(api: NodeApi) -> None:
    api.keep_pods("train")
    api.set_cordon("kubectl")
    result = run(api, timeout=20)
    assert (result.exit_status, result.cordon, result.next_command) == (0, "others", "")
    assert api.read_node()["metadata"]["annotations"] == {}


def test_a_node_that_changes_at_the_same_moment_is_not_cordoned(api: NodeApi) -> None:
    api.keep_pods("train")
    plan_before = plan_drain(api.gather(), "gpu1")

    def gather() -> Any:
        snapshot, objects = api.gather(), api.read()
        objects["nodes"][0]["metadata"]["resourceVersion"] += "9"
        api.write(objects)
        return snapshot

    with pytest.raises(RolloutError) as failure:
        Drain(gather, NodeWriter(HOSTS[0], api.execute), 1, ignore_event).run(plan_before)
    assert (failure.value.reference, "the object has been modified" in failure.value.reason) == (
        "node-change-refused",
        True,
    )
    assert len(api.list_pod_names()) == 1


@pytest.mark.parametrize("probe", [NODE_RECORDS.id, NODE_PODS.id, DISRUPTION_BUDGETS.id])
def test_what_is_unknown_is_never_taken_for_nothing(api: NodeApi, probe: str) -> None:
    api.unread_probes = {probe}
    with pytest.raises(UnreachableError):
        run(api)
    assert api.read()["calls"] == []


def test_a_silent_api_leaves_the_result_unknown(api: NodeApi) -> None:
    api.keep_pods("train")
    plan_before, rounds = plan_drain(api.gather(), "gpu1"), list[int]()

    def gather() -> Any:
        rounds.append(1)
        if len(rounds) > 1:
            api.unread_probes = {NODE_PODS.id}
        return api.gather()

    result = Drain(gather, NodeWriter(HOSTS[0], api.execute), 0.2, ignore_event).run(plan_before)
    assert (result.exit_status, bool(result.unknown_reason), result.remaining_pods) == (8, True, ())


def test_a_stopped_drain_says_so_and_keeps_the_cordon(api: NodeApi) -> None:
    api.keep_pods("train")
    result = run(api, find_stop_reason=lambda: "interrupted")
    assert (result.exit_status, result.cordon) == (130, "gpustack")
    assert [pod.reason for pod in result.remaining_pods] == ["stopped: interrupted"]


def test_a_killed_drain_is_continued_by_the_same_command(api: NodeApi) -> None:
    api.keep_pods("train")
    run(api, find_stop_reason=lambda: "interrupted")
    assert run(api, timeout=20).exit_status == 0
    patches = [call for call in api.read()["calls"] if "patch" in call]
    assert len(patches) == 1, "it is cordoned once"


def plan(api: NodeApi) -> DrainPlan:
    return plan_drain(api.gather(), "gpu1")


def test_holders_are_those_of_the_node_s_own_host(api: NodeApi) -> None:
    api.holders = "812\troot\t-\t/usr/bin/nvidia-persistenced\n"
    drain_plan = plan(api)
    assert (drain_plan.host, [holder.command for holder in drain_plan.holders or ()]) == (
        "h1",
        ["/usr/bin/nvidia-persistenced"],
    )


def test_the_modules_that_hold_the_driver_are_those_of_the_same_host(api: NodeApi) -> None:
    api.modules = "nvidia 3 nvidia_uvm,\nnvidia_uvm 2 -\n"
    drain_plan = plan(api)
    assert [(module.name, module.unnamed_uses) for module in drain_plan.modules or ()] == [
        ("nvidia", 2),
        ("nvidia_uvm", 2),
    ]
    api.modules = "what is this\n"
    drain_plan = plan(api)
    assert (drain_plan.modules, drain_plan.unknown_modules_reason.startswith("unexpected answer")) == (None, True)


def test_holders_without_an_answer_are_unknown(api: NodeApi) -> None:
    api.holders = "what is this\n"
    drain_plan = plan(api)
    assert (drain_plan.holders, drain_plan.unknown_holders_reason.startswith("unexpected answer")) == (None, True)


def test_an_unknown_node_names_those_that_there_are(api: NodeApi) -> None:
    with pytest.raises(UsageError, match="no node gpu9") as failure:
        plan_drain(api.gather(), "gpu9")
    assert "Nodes: gpu1, k1" in failure.value.reason
