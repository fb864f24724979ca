import copy
import json
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.view import View
from gpustack.cli.commands.serve import parse_listen
from gpustack.config.serve_image import PORT
from gpustack.serve.routes import HEALTH, respond
from gpustack.steps.serve import NAME, STEP, build_objects
from gpustack.steps.serve import build_variables as wanted_by_role
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import judge_steps
from tests.worlds.snapshots.judge import judge_checks, list_failures
from tests.worlds.snapshots.serve import (
    DEPLOYMENTS,
    DISABLED_SPEC,
    ENABLED_SPEC,
    IMAGE,
    build_snapshot,
    build_wanted_objects,
    make_deployments,
    place_objects,
)

APPLIED_DEPLOYMENTS = "applied.deployments"


def find_failures(spec: dict[str, Any] = ENABLED_SPEC, changes: Answers | None = None) -> dict[str, Any]:
    return list_failures(judge_checks(STEP, build_snapshot(spec, changes or {})))


def build_answers(*answers: Answer) -> Answers:
    return place_answers(CLUSTER, *answers)


def find_object(kind: str) -> dict[str, Any]:
    (desired_object,) = (manifest for manifest in build_wanted_objects() if manifest["kind"] == kind)
    return desired_object


def test_as_the_step_leaves_it_all_holds() -> None:
    assert find_failures() == {}


def test_off_by_default_and_then_nothing_is_wanted() -> None:
    snapshot = cluster.build_snapshot()
    assert list_failures(judge_checks(STEP, snapshot)) == {}
    assert wanted_by_role(View(snapshot, CLUSTER)) == {"objects": [], "dropped": []}


def test_without_monitoring_there_is_no_such_step() -> None:
    assert judge_steps(STEP, spec={"monitoring": {"enabled": False}}) == []


def test_it_reads_the_prometheus_of_the_spec_by_its_service() -> None:
    def find_address(monitoring: dict[str, Any]) -> str:
        spec = {**ENABLED_SPEC, "monitoring": {"persistence": {"enabled": False}, **monitoring}}
        deployment = build_objects(View(cluster.build_snapshot(spec=spec), CLUSTER))[-1]
        return str(deployment["spec"]["template"]["spec"]["containers"][0]["args"][2])

    assert find_address({}) == "http://monitoring-prometheus.monitoring.svc:9090"
    assert find_address({"namespace": "watch", "release": "kps"}) == "http://kps-prometheus.watch.svc:9090"


def test_the_pod_may_nothing_and_listens_where_service_and_probes_look() -> None:
    pod = find_object("Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    # https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"volumes", "hostNetwork", "hostPID"} & set(pod)
    assert pod["automountServiceAccountToken"] is find_object("ServiceAccount")["automountServiceAccountToken"] is False
    assert container["image"] == IMAGE
    words = container["args"]
    assert parse_listen(words[words.index("--listen") + 1]) == ("0.0.0.0", PORT)
    assert [(port["name"], port["containerPort"]) for port in container["ports"]] == [("http", PORT)]
    (port,) = find_object("Service")["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (PORT, "http")
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": HEALTH, "port": "http"}


def test_the_probes_do_not_ask_prometheus() -> None:
    path = find_object("Deployment")["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["httpGet"]["path"]

    def refuse_call() -> Any:
        raise AssertionError

    assert json.loads(respond(path, refuse_call, str)) == {"outcome": "ok"}


def test_the_service_leads_to_the_pod() -> None:
    deployment = find_object("Deployment")["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == find_object("Service")["spec"]["selector"] == labels


@pytest.mark.parametrize("kind", ["ServiceAccount", "Service"])
def test_what_is_missing_is_for_install(kind: str) -> None:
    remaining_objects = [manifest for manifest in build_wanted_objects() if manifest["kind"] != kind]
    assert find_failures(changes=place_objects(*remaining_objects)) == {
        "objects-applied": (f"{NAME} missing", "install")
    }


def test_another_image_is_another_content() -> None:
    spec = {"serve": {"enabled": True, "image": "registry.example.com/gpustack:0.2.0"}}
    assert find_failures(spec) == {"objects-applied": (f"{NAME} with different content", "install")}


def test_an_edited_deployment_is_for_install() -> None:
    edited_object = copy.deepcopy(find_object("Deployment"))
    del edited_object["spec"]["template"]["spec"]["containers"][0]["securityContext"]
    other_objects = [manifest for manifest in build_wanted_objects() if manifest["kind"] != "Deployment"]
    assert find_failures(changes=place_objects(*other_objects, edited_object)) == {
        "objects-applied": (f"{NAME} changed by an unknown client", "install")
    }


def test_a_deployment_of_that_name_that_is_not_ours_stays() -> None:
    other_objects = [manifest for manifest in build_wanted_objects() if manifest["kind"] != "Deployment"]
    assert find_failures(changes=place_objects(*other_objects)) == {"foreign": ("another's", "operator")}
    # Not even install --force brings ours.
    assert wanted_by_role(View(build_snapshot(ENABLED_SPEC, place_objects(*other_objects)), CLUSTER)) == {
        "objects": [],
        "dropped": [],
    }
    assert find_failures(DISABLED_SPEC, place_objects(*other_objects)) == {}
    assert [
        line for line in list_dropped(DISABLED_SPEC, place_objects(*other_objects)) if line.startswith("Deployment")
    ] == []


def test_a_pod_that_does_not_run_is_waited_for() -> None:
    unready = make_deployments(readyReplicas=0)
    result = judge_checks(STEP, build_snapshot(ENABLED_SPEC, build_answers(unready)))["available"].result
    assert result
    assert (result.actual, result.passing, result.cure) == ("not running", True, "install")
    assert find_failures(changes=build_answers(make_deployments(0))) == {"available": ("scaled to 0", "install")}


def test_a_missing_deployment_is_for_install() -> None:
    without_objects = {**build_answers(make_answer(DEPLOYMENTS, '{"items":[]}')), **place_objects()}
    assert find_failures(changes=without_objects) == {
        "objects-applied": (f"{NAME} missing", "install"),
        "available": ("nothing", "install"),
    }


def list_dropped(spec: dict[str, Any], changes: Answers | None = None) -> list[str]:
    dropped_objects: list[str] = wanted_by_role(View(build_snapshot(spec, changes or {}), CLUSTER))["dropped"]
    return dropped_objects


def test_switched_off_it_is_removed_the_deployment_last() -> None:
    assert find_failures(DISABLED_SPEC) == {"leftovers": ("a Deployment of gpustack", "install")}
    assert list_dropped(DISABLED_SPEC) == [
        f"{kind} monitoring {NAME}" for kind in ("ServiceAccount", "Service", "Deployment")
    ]
    assert list_dropped(ENABLED_SPEC) == []


def test_what_cannot_be_read_is_unknown_and_not_deleted() -> None:
    secret = build_answers(read_case(APPLIED_DEPLOYMENTS, "forbidden"))
    assert judge_checks(STEP, build_snapshot(ENABLED_SPEC, secret))["objects-applied"].outcome == "unknown"
    assert judge_checks(STEP, build_snapshot(DISABLED_SPEC, secret))["leftovers"].outcome == "unknown"
    assert list_dropped(DISABLED_SPEC, secret) == []
    blind = build_answers(read_case(DEPLOYMENTS, "forbidden"))
    outcomes = {
        id: judgement.outcome for id, judgement in judge_checks(STEP, build_snapshot(ENABLED_SPEC, blind)).items()
    }
    assert outcomes["available"] == outcomes["foreign"] == "unknown"


def test_it_answers_to_the_names_of_its_service() -> None:
    """The endpoint answers to addresses too, by which the kubelet and Prometheus ask."""
    spec = {**ENABLED_SPEC, "kubernetes": {"dns_domain": "gpus.internal"}}
    deployment = build_objects(View(cluster.build_snapshot(spec=spec), CLUSTER))[-1]
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    names = [arguments[index + 1] for index, word in enumerate(arguments) if word == "--allow-host"]
    assert names == [
        NAME, f"{NAME}.monitoring", f"{NAME}.monitoring.svc", f"{NAME}.monitoring.svc.gpus.internal",
    ]  # fmt: skip
