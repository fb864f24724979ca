"""The reboot of a node at each of its stages, against recorded objects, a kubectl that changes them, and a systemd that
counts boots."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack.events import ignore_event
from gpustack.nodes import node_reboot
from gpustack.nodes.drain_plan import build_drain_plan
from gpustack.nodes.gpu_jobs import find_gpu_jobs
from gpustack.nodes.node_change import NodeWriter
from gpustack.nodes.node_reboot import NodeOutcome, NodeReboot, Waits
from gpustack.nodes.reboot_plan import plan_reboot
from gpustack.nodes.reboot_record import RebootRecord, parse_reboot_record
from gpustack.nodes.reboot_verification import describe_lost_devices, explain_unfinished
from gpustack.nodes.rolling_reboot import build_record
from gpustack.nodes.stranded_pods import find_stranded_pods, select_replaced
from gpustack.probes.kubernetes.node_pods import NODE_PODS
from tests.worlds.programs.node_api import HOSTS, NodeApi

SHORT = Waits(jobs=0.3, drain=0.3, boot=0.3)


@pytest.fixture(autouse=True)
def quick_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_reboot, "PAUSE", 0.01)


def record_state(api: NodeApi) -> RebootRecord:
    (target,) = plan_reboot({"gpu1": api.gather()}).targets
    return build_record(target, "ann")


def build_reboot(api: NodeApi, record: RebootRecord | None = None, **options: Any) -> NodeReboot:
    writer = NodeWriter(HOSTS[0], api.execute, "ann")
    waits = options.pop("waits", SHORT)
    return NodeReboot("gpu1", HOSTS[1], record or record_state(api), api.gather, writer, waits, ignore_event, **options)


def run(api: NodeApi, **options: Any) -> NodeOutcome:
    return build_reboot(api, **options).run()


def list_reboots(api: NodeApi) -> list[str]:
    return [call[1] for call in api.read()["calls"] if call[0] == "reboot"]


def test_a_node_is_drained_rebooted_and_returned(api: NodeApi) -> None:
    api.keep_pods("web", "exporter")
    api.set_allowance(2)
    outcome = run(api, waits=Waits(1, 20, 20))
    assert (outcome.outcome, list_reboots(api), api.list_pod_names()) == (
        "rebooted",
        ["h1"],
        ["default/exporter-n6dcv"],
    )
    node = api.read_node()
    assert (node["spec"], node["metadata"]["annotations"]) == ({}, {})


def test_alerts_are_silenced_before_a_reboot_and_not_again(api: NodeApi) -> None:
    api.keep_pods("exporter")
    record, silenced_after = record_state(api), list[int]()
    for _ in range(2):
        reboot = build_reboot(
            api,
            record,
            waits=Waits(1, 20, 20),
            silence_alerts=lambda: silenced_after.append(len(list_reboots(api))),
        )
        assert reboot.start() is None
    assert (silenced_after, list_reboots(api)) == ([0], ["h1"])


def test_a_silence_is_repeated_while_a_boot_is_waited_for(api: NodeApi) -> None:
    api.keep_pods("exporter")
    repeated_after = list[int]()
    outcome = run(api, waits=Waits(1, 20, 20), repeat_silence=lambda: repeated_after.append(len(list_reboots(api))))
    assert (outcome.outcome, set(repeated_after)) == ("rebooted", {1})


def test_the_cordon_of_a_person_stays_after_the_reboot(api: NodeApi) -> None:
    api.keep_pods("exporter")
    api.set_cordon("kubectl")
    assert run(api, waits=Waits(1, 20, 20)).outcome == "rebooted"
    assert api.read_node()["spec"] == {"unschedulable": True}


@pytest.mark.parametrize("pod", ["exporter", "train"])
def test_a_node_that_gpustack_drained_before_stays_cordoned(api: NodeApi, pod: str) -> None:
    """Somebody drained it, or remediation cordoned it, which this reboot is no reason to undo."""
    api.keep_pods(pod)
    api.set_cordon("gpustack-nodes", '{"who": "bob", "at": "2026-11-30T10:00:00+00:00"}')
    record = parse_reboot_record(record_state(api).text)
    outcome = run(api, record=record, waits=Waits(0.3, 20, 20))
    assert outcome.outcome == ("rebooted" if pod == "exporter" else "skipped")
    node = api.read_node()
    assert node["spec"] == {"unschedulable": True}
    assert list(node["metadata"]["annotations"]) == ["gpustack.io/cordon"]


def test_a_node_with_gpu_jobs_is_skipped_and_takes_pods_again(api: NodeApi) -> None:
    api.keep_pods("train", "exporter")
    outcome = run(api)
    assert outcome.outcome == "skipped"
    assert outcome.reason.startswith("GPU jobs still run there after 0 s: team-a/train-9cqn5 (Job train)")
    assert (list_reboots(api), api.read_node()["spec"]) == ([], {})
    assert len(api.list_pod_names()) == 2


def test_a_job_that_ends_is_waited_for(api: NodeApi) -> None:
    api.keep_pods("train")
    rounds = list[int]()

    def gather(*words: Any) -> Any:
        rounds.append(1)
        if len(rounds) == 6:
            objects = api.read()
            objects["pods"][0]["status"]["phase"] = "Succeeded"
            api.write(objects)
        return api.gather()

    reboot = replace(build_reboot(api, waits=Waits(60, 20, 20)), gather=gather)
    assert (reboot.start(), list_reboots(api)) == (None, ["h1"])


def test_a_bare_gpu_pod_is_a_job_unless_it_is_given_up(api: NodeApi) -> None:
    api.keep_pods("notebook")
    assert "team-a/notebook" in run(api).reason
    assert run(api, ended_pods=["team-a/notebook"], waits=Waits(1, 20, 20)).outcome == "rebooted"
    assert api.list_pod_names() == []


def test_a_budget_of_zero_keeps_the_node_as_it_was(api: NodeApi) -> None:
    api.keep_pods("web")
    outcome = run(api)
    assert (outcome.outcome, list_reboots(api), api.read_node()["spec"]) == ("skipped", [], {})
    assert "budget web (minAvailable 2) allows 0 evictions: 2 healthy, 2 needed" in outcome.reason


def test_scratch_data_skips_the_node_before_anything_is_done(api: NodeApi) -> None:
    api.keep_pods("cache")
    outcome = run(api)
    assert outcome.reason == (
        "pods would lose what nobody brings back (team-a/cache-8488fccc77-xkwtd: its emptyDir data, fast is lost)"
    )
    assert len(api.list_pod_names()) == 1


def test_a_reboot_that_was_begun_is_only_completed(api: NodeApi) -> None:
    api.keep_pods("exporter")
    record = record_state(api)
    assert build_reboot(api, record, waits=Waits(1, 20, 20)).start() is None
    assert list_reboots(api) == ["h1"]
    reboot = build_reboot(api, record, waits=Waits(1, 20, 20))
    assert reboot.start() is None, "it has another boot already"
    assert (reboot.complete().outcome, list_reboots(api)) == ("rebooted", ["h1"])
    assert api.read_node()["spec"] == {}


def test_a_host_of_another_boot_is_not_rebooted_again(api: NodeApi) -> None:
    record = replace(record_state(api), boot="00000000-0000-0000-0000-000000000000-1")
    assert build_reboot(api, record).start() is None
    assert api.read()["calls"] == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ready": "False"}, "it is not Ready: kubelet is posting ready status"),
        ({"gpus": "3"}, "it offers 3 of 4 nvidia.com/gpu"),
        ({"gpus": None}, "it offers 0 of 4 nvidia.com/gpu"),
        ({"heartbeat": "2026-11-01T00:00:00Z"}, "its kubelet has not reported since the boot"),
    ],
)
def test_a_node_that_is_not_as_before_stays_cordoned(api: NodeApi, changes: dict[str, Any], reason: str) -> None:
    api.keep_pods("exporter")
    reboot = build_reboot(api)
    assert reboot.start() is None
    objects = api.read()
    status = objects["nodes"][0]["status"]
    (ready,) = status["conditions"]
    ready["status"] = changes.get("ready", "True")
    ready["lastHeartbeatTime"] = changes.get("heartbeat", ready["lastHeartbeatTime"])
    if "gpus" in changes:
        status["allocatable"] = {"nvidia.com/gpu": changes["gpus"]} if changes["gpus"] else {}
    api.write(objects)
    outcome = reboot.complete()
    assert (outcome.outcome, outcome.reason.startswith(reason)) == ("failed", True), outcome.reason
    assert api.read_node()["spec"] == {"unschedulable": True}


def test_a_host_that_does_not_reboot_is_a_failure(api: NodeApi) -> None:
    outcome = build_reboot(api).complete()
    assert (outcome.outcome, outcome.reason.startswith("its host has not rebooted yet")) == ("failed", True)


def test_an_exporter_that_was_ready_has_to_be_ready_again(api: NodeApi) -> None:
    record = replace(record_state(api), boot="x", has_exporter=True)
    assert explain_unfinished(api.gather(), "gpu1", "h1", record) == "its exporter of GPUs is not ready"
    assert explain_unfinished(api.gather(), "gpu1", "h1", replace(record, has_exporter=False)) == ""


def test_what_is_unknown_is_not_as_before(api: NodeApi) -> None:
    record = replace(record_state(api), boot="x")
    api.unread_probes = {NODE_PODS.id}
    assert explain_unfinished(api.gather(), "gpu1", "h1", record).startswith("its pods are unknown")


def refuse_pod(api: NodeApi, name: str) -> None:
    """Let the kubelet refuse a pod its GPUs, in the words of a real one."""
    objects = api.read()
    (pod,) = (pod for pod in objects["pods"] if pod["metadata"]["name"].startswith(name))
    reason = {"phase": "Failed", "reason": "UnexpectedAdmissionError"}
    metadata = {**pod["metadata"], "name": f"{name}-stranded", "uid": f"{name}-stranded"}
    objects["pods"].append({**pod, "metadata": metadata, "status": {**pod["status"], **reason}})
    api.write(objects)


def test_only_stranded_pods_with_a_successor_are_deleted(api: NodeApi) -> None:
    refuse_pod(api, "train")
    refuse_pod(api, "notebook")
    api.keep_pods("train", "notebook-stranded")
    names, deleted_names = build_reboot(api).tidy_stranded_pods()
    assert (names, deleted_names) == (("team-a/train-stranded", "team-a/notebook-stranded"), ("team-a/train-stranded",))
    assert api.list_pod_names() == ["team-a/notebook-stranded", "team-a/train-9cqn5"]


def test_a_stranded_pod_without_a_successor_stays(api: NodeApi) -> None:
    refuse_pod(api, "train")
    (pod,) = find_stranded_pods(NODE_PODS.extract_fact(api.gather().find_answer(NODE_PODS, "k1")))
    assert select_replaced([pod], frozenset()) == ()
    assert select_replaced([replace(pod, owner_uid="")], {""}) == ()


def test_servers_with_gpus_are_no_jobs(api: NodeApi) -> None:
    objects = api.read()
    for pod in objects["pods"]:
        pod["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    api.write(objects)
    jobs = find_gpu_jobs(build_drain_plan(api.gather(), "gpu1").residents)
    assert [job.pod.name for job in jobs] == ["slice", "notebook", "train-9cqn5"]


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", '{"host": "h1", "boot": "b", "devices": 4}', "[" * 2000])
def test_a_text_that_is_no_record_continues_nothing(text: str) -> None:
    assert parse_reboot_record(text) is None


def test_a_record_is_read_as_it_was_written() -> None:
    record = RebootRecord("h1", "b", {"nvidia.com/gpu": 4}, has_exporter=True, author="ann", begun_at="today")
    assert parse_reboot_record(record.text) == record


def test_more_gpus_than_before_are_no_loss() -> None:
    assert describe_lost_devices({"nvidia.com/gpu": 2}, {"nvidia.com/gpu": 4}) == ""


def test_a_cordon_that_somebody_ended_leaves_no_record(api: NodeApi) -> None:
    reboot = build_reboot(api)
    objects = api.read()
    objects["nodes"][0]["metadata"]["annotations"] = {"gpustack.io/cordon": "{}", "gpustack.io/reboot": "{}"}
    api.write(objects)
    reboot.end_reboot()
    assert (api.read_node().get("spec", {}), api.read_node()["metadata"]["annotations"]) == ({}, {})
