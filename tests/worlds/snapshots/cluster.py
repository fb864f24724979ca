"""A healthy cluster of two hosts, k1 (control plane) and k2, made of recorded answers; a test changes what it needs."""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.probes.kubernetes.applied_objects import DIGEST, MANAGER
from gpustack.rollout.overlay import build_cluster_variables
from gpustack.rollout.plan import StepState, plan
from gpustack.steps.alerts import load_groups
from gpustack.steps.step import Step
from tests.worlds.snapshots.answers import CASES, USUAL, find_case, index_probes, make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers, build
from tests.worlds.snapshots.judge import judge_checks
from tests.worlds.snapshots.managed_fields import build_owned_fields

K1 = Host("k1", "10.78.0.11", groups=frozenset({CONTROL_PLANE}))
K2 = Host("k2", "10.78.0.12", groups=frozenset({NODE}))
MACHINES = {"k1": "121ca0afe03a40a488e2456beddcd32a", "k2": "ba0ba3be313041508437d607678a4fb3"}
ACTIVE = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nActiveEnterTimestamp=@1795237377"
STOPPED_UNIT = "LoadState=loaded\nActiveState=inactive\nUnitFileState=enabled\nActiveEnterTimestamp="
ABSENT = "LoadState=not-found\nActiveState=inactive\nUnitFileState=\nActiveEnterTimestamp="
# What the recorded cluster was made with.
SPEC: dict[str, Any] = {
    "kubernetes": {"version": "1.36.4"},
    "kubelet": {"failCgroupV1": False},
    "kube_proxy": {"conntrack": {"max_per_core": 0, "min": 0}},
    "swap": "keep",
    "monitoring": {"persistence": {"enabled": False}},
}


def build_units(kubelet: str) -> Answer:
    return make_answer("units.services", f"Id=containerd.service\n{ACTIVE}\n\nId=kubelet.service\n{kubelet}\n")


@cache
def read_answers() -> dict[tuple[str, str], Answer]:
    """Read what was recorded of the control plane, the cluster and the worker."""
    answers = {
        (path.name, CLUSTER if index_probes()[path.name].scope == "cluster" else "k1"): read_case(path.name, case)
        for path in CASES.iterdir()
        if (case := find_case(path.name, "control-plane"))
    }
    for (probe, location), answer in tuple(answers.items()):
        if location == "k1" and find_case(probe, "worker") == USUAL:
            answers[probe, "k2"] = answer
    for probe in ("kubeadm.files", "kubeadm.certificates", "kubeadm.listeners", "kubelet.health", "flannel.host"):
        answers[probe, "k2"] = read_case(probe, "worker")
    answers["storage.classes", CLUSTER] = read_case("storage.classes", "local-path")
    answers["storage.provisioner", CLUSTER] = read_case("storage.provisioner", "local-path")
    for host, system in (("k1", "debian-12"), ("k2", "debian-13")):
        answers["units.services", host] = build_units(ACTIVE)
        answers["system.identity", host] = make_answer("system.identity", f"{MACHINES[host]}\n\n")
        answers["network.listeners", host] = read_case("network.listeners", f"monitored-{system}")
        answers["gpu.devices", host] = read_case("gpu.devices", "none")
    return answers


def build_answers() -> dict[tuple[str, str], Answer]:
    """Build answers in which releases and objects have the digests of this tree for the recorded spec."""
    return dict(mark_recorded_answers())


@cache
def mark_recorded_answers() -> dict[tuple[str, str], Answer]:
    return mark_answers(read_answers())


def mark_answers(answers: Answers) -> dict[tuple[str, str], Answer]:
    """Replace releases and objects of ours by those of this tree, and add the dashboards that are newer than the
    recorded cluster."""
    variables = build_cluster_variables(build((K1, K2), answers, SPEC))
    digests = {release["name"]: release["digest"] for release in variables["gpustack_releases"].values() if release}
    objects = [manifest for step in variables["gpustack_objects"].values() for manifest in step.get("objects", ())]
    stamps = {
        manifest["metadata"]["name"]: manifest
        for manifest in objects
        if DIGEST in manifest["metadata"].get("annotations", {})
    }
    marked_answers = dict(answers)

    def release(metadata: dict[str, Any]) -> None:
        metadata["labels"]["gpustack-digest"] = digests.get(metadata["labels"]["name"], "")

    def mark_applied(metadata: dict[str, Any]) -> None:
        if stamped_object := stamps.get(metadata["name"]):
            metadata["annotations"][DIGEST] = stamped_object["metadata"]["annotations"][DIGEST]
            metadata["managedFields"] = [{"manager": MANAGER, "fieldsV1": build_owned_fields(stamped_object)}]

    for probe, stamp in (
        ("helm.releases", release),
        ("applied.config-maps", mark_applied),
        ("applied.rules", mark_applied),
    ):
        document = json.loads(marked_answers[probe, CLUSTER].stdout)
        if probe == "applied.config-maps":
            document["items"] += list_new_objects(
                document["items"], variables["gpustack_objects"]["dashboards"]["objects"]
            )
        for entry in document["items"]:
            stamp(entry["metadata"])
        marked_answers[probe, CLUSTER] = replace(
            marked_answers[probe, CLUSTER], stdout=json.dumps(document, separators=(",", ":"))
        )
    return marked_answers | place_answers(CLUSTER, make_answer("alerting.rules", json.dumps(build_loaded_rules())))


def build_loaded_rules() -> dict[str, Any]:
    """Build what Prometheus says of gpustack's rules. The operator writes a file for each object."""
    groups = [
        {
            "file": f"/etc/prometheus/rules/monitoring-gpustack-{file}-x.yaml",
            "name": group["name"],
            "rules": [{"name": rule.get("record") or rule["alert"]} for rule in group["rules"]],
        }
        for file, file_groups in load_groups("").items()
        for group in file_groups
    ]
    return {"status": "success", "data": {"groups": groups}}


def list_new_objects(items: list[dict[str, Any]], desired_objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The metadata of objects that are not there yet."""
    existing_names = {entry["metadata"]["name"] for entry in items}
    new_objects = [
        deepcopy(manifest["metadata"])
        for manifest in desired_objects
        if manifest["metadata"]["name"] not in existing_names
    ]
    return [{"metadata": metadata} for metadata in new_objects]


def build_snapshot(
    answers: Answers | None = None, spec: Mapping[str, Any] | None = None, hosts: Sequence[Host] = (K1, K2)
) -> Snapshot:
    return build(hosts, build_answers() | dict(answers or {}), SPEC | dict(spec or {}))


def judge_steps(
    *steps: Step,
    answers: Answers | None = None,
    spec: Mapping[str, Any] | None = None,
    hosts: Sequence[Host] = (K1, K2),
) -> list[StepState]:
    return list(plan(build_snapshot(answers, spec, hosts), steps).states)


def judge(
    step: Step, answers: Answers | None = None, spec: Mapping[str, Any] | None = None, hosts: Sequence[Host] = (K1, K2)
) -> dict[str, Judgement]:
    """The judgements of a step's only location, by check."""
    return judge_checks(step, build_snapshot(answers, spec, hosts))
