import json
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.steps.monitoring.step import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.cluster import SPEC, build_answers, build_snapshot, judge, judge_steps
from tests.worlds.snapshots.judge import judge_checks, list_failures

LISTENERS, RELEASES = "network.listeners", ("helm.releases", CLUSTER)


def load_case(probe: str, name: str, *edits: tuple[str, str]) -> dict[tuple[str, str], Answer]:
    return place_answers(CLUSTER, read_case(probe, name, *edits))


def edit_releases(*edits: tuple[str, str]) -> dict[tuple[str, str], Answer]:
    """Edit the healthy cluster's releases; each word to replace must be there."""
    answer = build_answers()[RELEASES]
    text = answer.stdout
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return {RELEASES: Answer(answer.probe, answer.location, 0, text)}


NO_RELEASE = load_case("helm.releases", "none")


def test_before_the_chart_all_is_for_install() -> None:
    answers = NO_RELEASE | {(LISTENERS, host): read_case(LISTENERS, "ready-debian-12") for host in ("k1", "k2")}
    for probe in ("monitoring.deployments", "monitoring.daemon-sets"):
        answers |= load_case(probe, "none")
    for probe in ("monitoring.prometheuses", "monitoring.alertmanagers"):
        answers |= load_case(probe, "unknown-kind")
    answers |= place_answers(CLUSTER, make_answer("monitoring.definitions", '{"items":[]}'))
    answers |= load_case("monitoring.targets", "not-yet") | load_case("grafana.rules", "none")
    judgements = judge(STEP, answers)
    assert {judgement.result.cure for judgement in judgements.values() if judgement.result} == {"install"}
    outcomes = {check: judgement.outcome for check, judgement in judgements.items()}
    missing = dict.fromkeys(
        ("definitions", "chart", "grafana-rules", "workloads", "prometheus", "alertmanager"), "failed"
    )
    other_outcomes = dict.fromkeys(
        ("port", "namespace", "receiver-secrets", "alertmanager-egress", "selectors", "receivers", "data-source"), "ok"
    )
    assert outcomes == missing | other_outcomes | {"targets": "unknown"}


def test_not_monitored_by_us_there_is_no_such_step() -> None:
    assert judge_steps(STEP, spec={"monitoring": {"enabled": False}}) == []


def test_a_port_that_others_have_is_for_a_person() -> None:
    """A node_exporter without our release is somebody else's."""
    failures = list_failures(judge(STEP, NO_RELEASE))
    assert failures["port"] == ("node_exporter on k1, node_exporter on k2", "operator")
    answers = place_answers("k2", read_case(LISTENERS, "monitored-debian-13", ("node_exporter", "java")))
    assert list_failures(judge(STEP, answers)) == {"port": ("java on k2", "operator")}
    assert "port" not in list_failures(judge(STEP, answers, {"monitoring": {"node_exporter_port": 9101}}))


def test_a_host_that_cannot_tell_its_ports_is_judged_for_that_itself() -> None:
    assert list_failures(judge(STEP, place_answers("k2", make_answer(LISTENERS, "", 127)))) == {}


def test_definitions_of_another_minor_or_missing_are_for_install() -> None:
    assert list_failures(judge(STEP, load_case("monitoring.definitions", "older"))) == {
        "definitions": ("0.85", "install")
    }
    other_definitions = load_case("monitoring.definitions", "control-plane", ('"0.93.0"', '"0.93.7"'))
    assert list_failures(judge(STEP, other_definitions)) == {}
    lost_definitions = load_case("monitoring.definitions", "control-plane", ("probes.monitoring", "probes.else"))
    assert list_failures(judge(STEP, lost_definitions)) == {"definitions": ("no probes", "install")}
    unversioned_definitions = load_case(
        "monitoring.definitions", "control-plane", ("operator.prometheus.io/version", "else")
    )
    assert list_failures(judge(STEP, unversioned_definitions)) == {"definitions": ("no version", "install")}


@pytest.mark.parametrize("newer", ["0.99.0", "0.94.0", "1.0.0", "0.100.1"])
def test_newer_definitions_of_another_operator_are_ok_and_named(newer: str) -> None:
    """The text of an ok check says so; install --force does not put them back either (test_definitions.py)."""
    judgement = judge(STEP, load_case("monitoring.definitions", "control-plane", ('"0.93.0"', f'"{newer}"')))[
        "definitions"
    ]
    assert judgement.outcome == "ok"
    assert str(judgement.result).endswith(f"{newer.rsplit('.', 1)[0]}, newer than 0.93: they are left as they are")


def test_one_older_definition_among_newer_ones_is_for_install() -> None:
    text = load_case("monitoring.definitions", "control-plane", ('"0.93.0"', '"0.99.0"'))
    ((place, answer),) = text.items()
    mixed_answers = {place: replace(answer, stdout=answer.stdout.replace('"0.99.0"', '"0.92.0"', 1))}
    assert list_failures(judge(STEP, mixed_answers)) == {"definitions": ("0.92, 0.99", "install")}


BY_HAND = "revision 1, created by another Helm client"


@pytest.mark.parametrize(
    ("edit", "actual", "cure"),
    [
        (('"name":"monitoring","owner"', '"name":"x","owner"'), "nothing", "install"),
        (('"namespace":"monitoring"', '"namespace":"default"'), "nothing", "install"),
        (('"gpustack-chart":"88.5.3"', '"gpustack-chart":"87.0.0"'), "kube-prometheus-stack 87.0.0", "upgrade"),
        (('"status":"deployed"', '"status":"failed"'), "failed", "install"),
        (('"gpustack-digest":"', '"gpustack-digest":"0'), "different values", "install"),
        (('"name":"monitoring","owner"', '"gpustack-revision":"9","name":"monitoring","owner"'), BY_HAND, "install"),
    ],
)
def test_another_release_has_its_cure(edit: tuple[str, str], actual: str, cure: str) -> None:
    assert list_failures(judge(STEP, edit_releases(edit)))["chart"] == (actual, cure)


def test_a_release_of_somebody_else_is_for_a_person() -> None:
    answers = edit_releases(('"gpustack-digest"', '"digest"'))
    assert list_failures(judge(STEP, answers))["chart"] == ("not gpustack's, deployed", "operator")
    mismatch = judge(STEP, answers)["chart"].result
    assert mismatch
    assert "monitoring.release" in mismatch.hint


@pytest.mark.parametrize(
    "spec",
    [
        {"monitoring": {"retention": "10d"}},
        {"monitoring": {"retention_size": "10GB"}},
        {"monitoring": {"external_labels": {"site": "a"}}},
        {"cluster_name": "other"},
        {"monitoring": {"persistence": {"enabled": True}}},
        {"monitoring": {"access": {"prometheus_node_port": 30900}}},
        {"monitoring": {"access": {"type": "node-port"}}},
        {"kubernetes": {**SPEC["kubernetes"], "metrics_bind": "127.0.0.1"}},
        {"alerts": {"receivers": {"default": [{"type": "webhook", "secret_file": "/x"}]}}},
    ],
)
def test_a_change_of_the_spec_changes_the_release(spec: dict[str, Any]) -> None:
    assert list_failures(judge(STEP, spec=spec))["chart"] == ("different values", "install")


def test_missing_or_unready_workloads_are_for_install() -> None:
    lost_deployment = load_case("monitoring.deployments", "control-plane", ("monitoring-grafana", "grafana"))
    assert list_failures(judge(STEP, lost_deployment)) == {"workloads": ("no monitoring-grafana", "install")}
    idle = load_case("monitoring.deployments", "control-plane", ('"replicas":1', '"replicas":0'))
    mismatch = judge(STEP, idle)["workloads"].result
    assert mismatch
    assert (mismatch.actual, mismatch.passing) == (
        "monitoring-grafana, monitoring-kube-state-metrics, monitoring-operator scaled to 0",
        False,
    )
    stopped_exporter = load_case("monitoring.daemon-sets", "one-of-two")
    assert list_failures(judge(STEP, stopped_exporter)) == {
        "workloads": ("monitoring-prometheus-node-exporter 1 of 2", "install")
    }
    old = load_case(
        "monitoring.daemon-sets", "control-plane", ('"updatedNumberScheduled":2', '"updatedNumberScheduled":1')
    )
    mismatch = judge(STEP, old)["workloads"].result
    assert mismatch
    assert mismatch.passing


@pytest.mark.parametrize(
    ("probe", "name", "check", "actual"),
    [
        ("monitoring.prometheuses", "none", "prometheus", "no monitoring-prometheus"),
        ("monitoring.prometheuses", "unknown-kind", "prometheus", "no monitoring-prometheus"),
        ("monitoring.prometheuses", "just-made", "prometheus", "not reconciled yet"),
        (
            "monitoring.alertmanagers",
            "not-reconciled",
            "alertmanager",
            "provision alertmanager configuration: failed to initialize from secret: undefined receiver",
        ),
    ],
)
def test_objects_that_the_operator_has_not_made_are_waited_for(probe: str, name: str, check: str, actual: str) -> None:
    assert list_failures(judge(STEP, load_case(probe, name))) == {check: (actual, "install")}


@pytest.mark.parametrize("probe", ["monitoring.prometheuses", "monitoring.alertmanagers", "monitoring.definitions"])
def test_what_the_api_refuses_to_tell_is_unknown(probe: str) -> None:
    outcomes = {judgement.outcome for judgement in judge(STEP, load_case(probe, "forbidden")).values()}
    assert outcomes == {"ok", "unknown"}


def test_targets_that_are_down_or_missing_are_named() -> None:
    assert list_failures(judge(STEP, load_case("monitoring.targets", "etcd-down"))) == {
        "targets": ("kube-etcd down", "install")
    }
    lost_target = load_case("monitoring.targets", "control-plane", ('"coredns"', '"else"'))
    assert list_failures(judge(STEP, lost_target)) == {"targets": ("no coredns", "install")}
    stopped_targets = read_case("monitoring.targets", "control-plane")
    body = json.loads(stopped_targets.stdout)
    body["data"]["result"].append({"metric": {"job": "theirs"}, "value": [0, "0"]})
    assert (
        list_failures(
            judge(STEP, {("monitoring.targets", CLUSTER): make_answer(stopped_targets.probe, json.dumps(body))})
        )
        == {}
    )


def test_with_the_control_plane_out_of_reach_its_targets_are_not_wanted() -> None:
    spec = {"kubernetes": {**SPEC["kubernetes"], "metrics_bind": "127.0.0.1"}}
    answers = load_case(
        "monitoring.targets", "control-plane", *((f'"kube-{part}"', '"else"') for part in ("etcd", "proxy"))
    )
    assert list_failures(judge(STEP, answers)) == {"targets": ("no kube-etcd, kube-proxy", "install")}
    assert "targets" not in list_failures(judge(STEP, answers, spec))


@pytest.mark.parametrize(("case", "actual"), [("none", "none"), ("other", "different"), ("control-plane", "none")])
def test_a_secret_unlike_its_file_is_for_install(case: str, actual: str) -> None:
    """Said by nobody where there is no admin.conf yet: then it is not there."""
    receiver = {"alerts": {"receivers": {"default": [{"type": "webhook", "secret_file": "/x"}]}}}
    answers = place_answers("k1", read_case("alerting.secret", case))
    assert list_failures(judge(STEP, answers, receiver))["receiver-secrets"] == (f"default-webhook {actual}", "install")
    assert list_failures(judge(STEP, answers)) == {}
    same_secret = place_answers("k1", read_case("alerting.secret", "same"))
    assert "receiver-secrets" not in list_failures(judge(STEP, same_secret, receiver))


def test_a_secret_that_cannot_be_compared_is_unknown() -> None:
    for case in ("odd", "refused"):
        receiver = {"alerts": {"receivers": {"default": [{"type": "webhook", "secret_file": "/x"}]}}}
        judgements = judge(STEP, place_answers("k1", read_case("alerting.secret", case)), receiver)
        assert judgements["receiver-secrets"].outcome == "unknown"


def test_each_receiver_has_its_secret_and_those_of_others_are_theirs_to_make() -> None:
    critical = [{"type": "pagerduty", "secret_file": "/x"}, {"type": "slack", "secret_file": "/y", "channel": "#a"}]
    warning = {"type": "slack", "secret": "ours/slack", "channel": "#a"}
    answers = place_answers("k1", read_case("alerting.secret", "several"))
    spec = {"alerts": {"receivers": {"critical": critical, "warning": critical[1:], "info": []}}}
    actual = "critical-slack different, warning-slack none"
    assert list_failures(judge(STEP, answers, spec))["receiver-secrets"] == (actual, "install")
    other_receivers = {"alerts": {"receivers": {"critical": critical[:1], "warning": [warning]}}}
    assert list_failures(judge(STEP, answers, other_receivers))["receiver-secrets"] == ("no ours/slack", "operator")
    # Before there is a cluster nobody can have made it.
    before = place_answers("k1", read_case("alerting.secret", "control-plane"))
    assert list_failures(judge(STEP, before, other_receivers))["receiver-secrets"] == (
        "critical-pagerduty none",
        "install",
    )


def test_receivers_unlike_the_spec_are_for_install() -> None:
    webhook = {"alerts": {"receivers": {"default": [{"type": "webhook", "secret_file": "/x"}]}}}
    assert list_failures(judge(STEP, spec=webhook))["receivers"] == ("null", "install")
    assert "receivers" not in list_failures(judge(STEP, load_case("alerting.receivers", "gpustack"), webhook))
    assert judge(STEP, load_case("alerting.receivers", "not-yet"))["receivers"].outcome == "unknown"


def test_one_data_source_has_the_uid_that_is_asked() -> None:
    lost_source = load_case("grafana.data-sources", "control-plane", ("uid: prometheus", "uid: other"))
    assert list_failures(judge(STEP, lost_source)) == {"data-source": ("0", "install")}
    assert list_failures(judge(STEP, load_case("grafana.data-sources", "two"))) == {"data-source": ("2", "operator")}
    assert judge(STEP, load_case("grafana.data-sources", "no-yaml"))["data-source"].outcome == "unknown"


def test_a_prometheus_that_selects_too_little_is_for_install() -> None:
    narrow = load_case("monitoring.prometheuses", "narrow")
    actual = "restricted by ruleNamespaceSelector, serviceMonitorSelector"
    assert list_failures(judge(STEP, narrow)) == {"selectors": (actual, "install")}


@pytest.mark.parametrize("name", ["chart", "wide"])
def test_grafana_must_not_read_secrets_or_more(name: str) -> None:
    failures = list_failures(judge(STEP, load_case("grafana.rules", name)))
    assert list(failures) == ["grafana-rules"]
    assert failures["grafana-rules"][1] == "install"
    assert ("get secrets" if name == "chart" else "* apps/deployments") in failures["grafana-rules"][0]


def test_a_missing_cluster_role_is_for_install() -> None:
    assert list_failures(judge(STEP, load_case("grafana.rules", "none"))) == {"grafana-rules": ("nothing", "install")}


def test_rights_that_the_values_of_the_operator_name_are_theirs() -> None:
    grafana_values = {"grafana": {"rbac": {"useExistingClusterRole": "theirs"}}}
    snapshot = build_snapshot(load_case("grafana.rules", "none"))
    snapshot = replace(snapshot, inventory=replace(snapshot.inventory, values={"monitoring": grafana_values}))
    assert judge_checks(STEP, snapshot)["grafana-rules"].outcome == "ok"


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_a_level_that_somebody_set_is_for_a_person(level: str) -> None:
    answer = build_answers()["kube.namespaces", CLUSTER]
    document = json.loads(answer.stdout)
    for item in document["items"]:
        if item["metadata"]["name"] == "monitoring":
            item["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = level
    changed_namespaces = {("kube.namespaces", CLUSTER): replace(answer, stdout=json.dumps(document))}
    assert list_failures(judge(STEP, changed_namespaces)) == {"namespace": (level, "operator")}
