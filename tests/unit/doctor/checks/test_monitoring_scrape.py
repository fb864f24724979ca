"""Prometheus reports its targets, and the path from a GPU to a panel has its states."""

from dataclasses import replace

import pytest

from gpustack.ask.probe import CLUSTER
from tests.unit.doctor.checks.evaluation import evaluate, judge_gpu_cluster, snapshot, summarize
from tests.unit.doctor.checks.start_times import start_api_server, start_exporter
from tests.worlds.snapshots import gpus
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

LOOPBACK = "mon-control-plane-targets-loopback"


@pytest.mark.parametrize(
    ("id", "location", "cases", "outcome", "actual"),
    [
        ("mon-kubelet-target-unauthorized", CLUSTER, {"scrape__kubelets": "unauthorized"}, "failed", "k2: server"),
        ("mon-kubelet-target-unauthorized", CLUSTER, {"scrape__kubelets": "away"}, "ok", "scraping allowed by 1"),
        (
            "mon-kubelet-target-unauthorized",
            CLUSTER,
            {"scrape__kubelets": "unauthorized", "scrape__target_errors": "tokens-refused"},
            "ok",
            "kube-controller-manager, kube-scheduler refuse the token of Prometheus, too",
        ),
        ("mon-kubelet-target-unauthorized", CLUSTER, {"scrape__kubelets": "error"}, "unknown", ""),
        ("mon-clock-skew-empty-graphs", CLUSTER, {"scrape__clocks": "skewed"}, "failed", "420 s"),
        ("mon-clock-skew-empty-graphs", CLUSTER, {"scrape__clocks": "error"}, "unknown", ""),
        (
            "mon-target-down-network",
            "k2",
            {"scrape__down_targets": "one-node", "scrape__target_errors": "refused"},
            "failed",
            "not reachable for Prometheus",
        ),
        ("mon-target-down-network", "k1", {"scrape__down_targets": "one-node"}, "ok", "responding"),
        ("mon-target-down-network", "k1", {"scrape__jobs": "no-exporter"}, "ok", "responding"),
        ("st-target-missing", CLUSTER, {"scrape__jobs": "no-exporter"}, "failed", "nothing"),
        ("st-target-down", CLUSTER, {"scrape__jobs": "exporter-down"}, "failed", "down: nvidia-dcgm-exporter"),
        ("st-target-down", CLUSTER, {"scrape__jobs": "error"}, "unknown", ""),
        ("st-no-metrics", CLUSTER, {"dcgm__series": "none"}, "failed", "0"),
        ("st-dashboard-nodata", CLUSTER, {"grafana__response": "failing"}, "failed", "none"),
        ("st-dashboard-nodata", CLUSTER, {"grafana__response": "refused"}, "unknown", "refused the login: HTTP 401"),
        ("st-dashboard-wrong", CLUSTER, {"scrape__duplicates": "two-jobs"}, "failed", "duplicates"),
        ("st-dashboard-wrong", CLUSTER, {"scrape__blanks": "some"}, "failed", "placeholders"),
    ],
)
def test_faults_of_targets_are_judged(id: str, location: str, cases: dict[str, str], outcome: str, actual: str) -> None:
    result = summarize(judge_gpu_cluster(id, location, **cases))
    assert result[0] == outcome, result
    assert actual in result[1]


@pytest.mark.parametrize(
    ("errors", "outcome", "end"),
    [
        ("refused", "failed", "connect: connection refused"),
        ("no-route", "failed", "connect: no route to host"),
        # beclab/Olares#3638, and what the program answers in place of metrics.
        ("deadline", "unknown", "context deadline exceeded: a slow program or a lost packet"),
        ("content-type", "ok", "no fallback_scrape_protocol specified for target"),
        ("usual", "unknown", "a slow program or a lost packet"),
    ],
)
def test_the_network_is_blamed_for_connections_that_fail(errors: str, outcome: str, end: str) -> None:
    cases = {"scrape__down_targets": "one-node", "scrape__target_errors": errors}
    result = summarize(judge_gpu_cluster("mon-target-down-network", "k2", **cases))
    assert result[0] == outcome
    assert result[1].endswith(end)


def test_the_network_is_not_ruled_out_for_an_exporter_that_prometheus_does_not_scrape() -> None:
    healthy = snapshot("k1")
    answer = read_case("scrape.jobs", "two-hosts", ("node-exporter", "another"))
    judgement = evaluate(
        "mon-target-down-network", replace(healthy, answers={**healthy.answers, (answer.probe, CLUSTER): answer}), "k1"
    )
    assert (judgement.outcome, judgement.reason) == ("unknown", "Prometheus has no target of node-exporter")


def test_the_error_of_a_target_is_shown_as_prometheus_words_it() -> None:
    cases = {"scrape__jobs": "exporter-down", "scrape__target_errors": "content-type"}
    outcome, actual = summarize(judge_gpu_cluster("st-target-down", CLUSTER, **cases))
    assert (outcome, actual.partition(": non")[0]) == (
        "failed",
        "down: nvidia-dcgm-exporter; nvidia-dcgm-exporter 10.244.1.5:9400",
    )
    assert actual.endswith("sending blank Content-Type and no fallback_scrape_protocol specified for target")


def test_control_plane_targets_on_loopback_fail() -> None:
    assert summarize(judge_gpu_cluster(LOOPBACK)) == ("ok", "nothing")
    assert summarize(judge_gpu_cluster(LOOPBACK, scrape__jobs="control-plane-down")) == ("ok", "nothing")
    listeners = make_answer("kubeadm.listeners", "LISTEN 0 4096 127.0.0.1:10259 0.0.0.0:*\n")
    stopped_plane = {
        ("scrape.jobs", CLUSTER): read_case("scrape.jobs", "control-plane-down"),
        ("kubeadm.listeners", "k1"): listeners,
    }
    assert summarize(evaluate(LOOPBACK, gpus.build_snapshot(stopped_plane), CLUSTER)) == ("failed", "kube-scheduler")


def test_targets_of_others_are_theirs() -> None:
    stopped_exporter = read_case("scrape.jobs", "exporter-down", ('"namespace":"gpu-operator"', '"namespace":"shop"'))
    world = gpus.build_snapshot({("scrape.jobs", CLUSTER): stopped_exporter})
    assert summarize(evaluate("st-target-down", world, CLUSTER)) == ("ok", "up")


@pytest.mark.parametrize(("age", "outcome"), [(60, "unknown"), (95, "failed")])
def test_targets_are_unknown_until_they_were_scraped_after_the_api_started(age: int, outcome: str) -> None:
    stopped_exporter = start_api_server(age) | place_answers(CLUSTER, read_case("scrape.jobs", "exporter-down"))
    assert summarize(evaluate("st-target-down", gpus.build_snapshot(stopped_exporter), CLUSTER))[0] == outcome


@pytest.mark.parametrize(
    ("start", "outcome"), [("2026-11-21T04:59:58Z", "unknown"), ("2026-11-21T04:58:58Z", "failed")]
)
def test_an_exporter_that_was_started_just_now_has_yet_to_be_asked(start: str, outcome: str) -> None:
    answers = start_exporter(start) | place_answers(CLUSTER, read_case("scrape.jobs", "exporter-down"))
    assert summarize(evaluate("st-target-down", gpus.build_snapshot(answers), CLUSTER))[0] == outcome


def test_another_target_that_is_down_is_confirmed_all_the_same() -> None:
    dns = '"job":"coredns","namespace":"kube-system","service":"monitoring-coredns"},"value":[1795321824.553,'
    stopped_dns = read_case("scrape.jobs", "exporter-down", (f'{dns}"1"', f'{dns}"0"'))
    answers = start_exporter("2026-11-21T04:59:58Z") | {("scrape.jobs", CLUSTER): stopped_dns}
    summary = summarize(evaluate("st-target-down", gpus.build_snapshot(answers), CLUSTER))
    assert summary == ("failed", "down: coredns, nvidia-dcgm-exporter")


UP_SAMPLE = '"job":"kubelet","namespace":"kube-system","service":"monitoring-kubelet"},"value":[1795321824.553,"1"]'


@pytest.mark.parametrize(
    ("age", "state", "outcome"),
    [(30, "active", "unknown"), (95, "active", "failed"), (30, "failed", "failed")],
)
def test_a_kubelet_that_was_started_just_now_has_yet_to_be_asked_and_so_has_the_exporter(
    age: int, state: str, outcome: str
) -> None:
    changes = [(UP_SAMPLE, UP_SAMPLE.replace('"1"]', '"0"]'))]
    kubelet = "Id=kubelet.service\nLoadState=loaded\nUnitFileState=enabled\nActiveEnterTimestamp=@1795321800\n"
    units = make_answer("units.services", f"Now={1795321800 + age}\n\n{kubelet}ActiveState={state}\n")
    answers = {
        ("scrape.jobs", CLUSTER): read_case("scrape.jobs", "exporter-down", *changes),
        ("units.services", "k2"): units,
    }
    assert summarize(evaluate("st-target-down", gpus.build_snapshot(answers), CLUSTER))[0] == outcome


def test_what_another_program_answers_on_the_port_is_no_matter_of_the_network() -> None:
    summary = summarize(
        judge_gpu_cluster(
            "mon-target-down-network", "k2", scrape__down_targets="one-node", network__programs="node-exporter"
        )
    )
    assert summary == ("ok", "port used by prometheus-node-exporter.service")
