"""The step gpu-metrics: the counters of the exporter, one monitor, and each GPU in Prometheus once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.probes.gpu.temporary_changes import Mark
from gpustack.steps.gpu.exporter import merge_counters
from gpustack.steps.gpu.metrics import STEP
from gpustack.steps.gpu.metrics_objects import build_config_map, build_variables
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import TAKEN_AT, Answers
from tests.worlds.snapshots.cluster import K1
from tests.worlds.snapshots.gpus import build_devices, build_snapshot, edit_answer, judge, place_list, read_answers
from tests.worlds.snapshots.judge import find_unknown, list_failures

COUNTERS, MONITORS, SERIES, INPUTS = "dcgm.counters", "dcgm.monitors", "dcgm.series", "dcgm.alert-inputs"
OWN_MONITOR = {"gpu": {"metrics": {"service_monitor": "ours"}}}
NAME = "gpustack-dcgm-counters"


def load_case(probe: str, name: str) -> Answers:
    return place_answers(CLUSTER, read_case(probe, name))


def build_objects(spec: dict[str, Any] | None = None) -> dict[str, Any]:
    return build_variables(View(build_snapshot(spec=spec), CLUSTER))


def test_the_step_holds_with_every_gpu_in_prometheus() -> None:
    assert list_failures(judge(STEP)) == {}
    assert list_failures(judge(STEP, read_answers(SERIES, "in-use"))) == {}
    assert list_failures(judge(STEP, read_answers(SERIES, "older-exporter"))) == {}


def test_without_gpus_there_is_nothing_to_measure() -> None:
    without_counters = {
        **build_devices("k1"),
        **build_devices("k2"),
        **load_case(COUNTERS, "none"),
        **load_case(MONITORS, "no-such-kind"),
    }
    assert list_failures(judge(STEP, {**without_counters, **load_case(SERIES, "none")})) == {}
    assert list_failures(judge(STEP, {**without_counters, **load_case(SERIES, "error")})) == {}, (
        "Prometheus is not even asked"
    )


def test_a_host_without_gpus_needs_no_series() -> None:
    mixed_answers = {**build_devices("k1"), **edit_answer(SERIES, lambda samples: samples.__delitem__(slice(2)))}
    assert list_failures(judge(STEP, mixed_answers)) == {}


def test_other_counters_are_for_install() -> None:
    assert list_failures(judge(STEP, load_case(COUNTERS, "none"))) == {"csv": ("nothing", "install")}
    assert list_failures(judge(STEP, load_case(COUNTERS, "other-key"))) == {"csv": ("nothing", "install")}
    (difference, cure) = list_failures(judge(STEP, load_case(COUNTERS, "two-hosts")))["csv"]
    assert (difference.startswith("without DCGM_FI_DEV_ENC_UTIL, "), difference.endswith(" more"), cure) == (
        True,
        True,
        "install",
    )
    more_counters = {"gpu": {"metrics": {"counters": ["DCGM_FI_DEV_FAN_SPEED"]}}}
    before = place_list(COUNTERS, [{"metadata": {"name": NAME}, "data": {"dcgm-metrics.csv": merge_counters(())}}])
    assert list_failures(judge(STEP, spec=more_counters)) == {}
    assert list_failures(judge(STEP, before, spec=more_counters)) == {
        "csv": ("without DCGM_FI_DEV_FAN_SPEED", "install")
    }


@pytest.mark.parametrize("spec", [{}, OWN_MONITOR])
@pytest.mark.parametrize("name", ["none", "no-such-kind"])
def test_a_missing_monitor_is_for_install(spec: dict[str, Any], name: str) -> None:
    assert list_failures(judge(STEP, load_case(MONITORS, name), spec=spec)) == {"monitor": ("nothing", "install")}


def test_the_spec_decides_whose_monitor_it_is() -> None:
    assert list_failures(judge(STEP, load_case(MONITORS, "ours"), spec=OWN_MONITOR)) == {}
    assert list_failures(judge(STEP, load_case(MONITORS, "ours"))) == {"monitor": ("gpustack-dcgm", "install")}
    assert list_failures(judge(STEP, spec=OWN_MONITOR)) == {"monitor": ("nvidia-dcgm-exporter", "install")}
    doubled_series = ("two, so every GPU counts twice", "install")
    assert list_failures(judge(STEP, load_case(MONITORS, "both"))) == {"monitor": doubled_series}
    assert list_failures(judge(STEP, load_case(MONITORS, "both"), spec=OWN_MONITOR)) == {"monitor": doubled_series}


def test_without_an_operator_it_is_ours() -> None:
    host = {"gpu": {"stack": "host"}}
    assert list_failures(judge(STEP, load_case(MONITORS, "ours"), spec=host)) == {}
    assert build_objects(host)["monitor"] == "gpustack-dcgm"


def test_the_monitor_of_somebody_else_is_left_alone() -> None:
    failures = list_failures(judge(STEP, load_case(MONITORS, "of-others")))
    assert failures == {"monitor": ("also observability/dcgm", "operator")}
    mismatch = judge(STEP, load_case(MONITORS, "of-others"))["monitor"].result
    assert mismatch
    assert mismatch.hint.startswith("kubectl -n observability delete servicemonitor dcgm ")


def test_a_gpu_missing_in_prometheus_is_named() -> None:
    answers = edit_answer(SERIES, lambda samples: samples.pop(0))
    assert list_failures(judge(STEP, answers)) == {"series": ("k1: 1 of 2", "install")}
    mismatch = judge(STEP, answers)["series"].result
    assert mismatch
    assert mismatch.passing
    assert list_failures(judge(STEP, load_case(SERIES, "none"))) == {"series": ("k1: 0 of 2; k2: 0 of 2", "install")}


def test_a_series_of_a_gpu_that_is_gone_is_named() -> None:
    """A stale series is a GPU too many."""
    assert list_failures(judge(STEP, build_devices("k1", "0000:17:00.0"))) == {"series": ("k1: 2 of 1", "install")}


def test_series_under_another_host_name_do_not_count() -> None:
    """An exporter that says its pod's name for the node's counts for nobody."""

    def renamed(samples: list[Any]) -> None:
        samples[0]["metric"]["hostname"] = "nvidia-dcgm-exporter-x7"

    assert list_failures(judge(STEP, edit_answer(SERIES, renamed))) == {"series": ("k1: 1 of 2", "install")}


def test_a_gpu_that_is_scraped_twice_names_the_jobs() -> None:
    """Two jobs are two series for each GPU: every sum would be doubled, and no UUID would be missing."""
    words = "each from 2 jobs: dcgm, nvidia-dcgm-exporter"
    assert list_failures(judge(STEP, read_answers(SERIES, "scraped-twice"))) == {
        "series": (f"k1: {words}; k2: {words}", "install")
    }


@pytest.mark.parametrize(("seconds", "twice"), [(60, True), (180, False)])
def test_what_a_job_left_that_is_scraped_no_more_counts_for_nothing(seconds: int, *, twice: bool) -> None:
    """Prometheus answers with its series for five minutes more."""

    def set_ages(samples: list[Any]) -> None:
        for sample in samples:
            age = seconds if sample["metric"]["job"] == "dcgm" else 5
            sample["value"][1] = str(sample["value"][0] - age)

    assert ("series" in list_failures(judge(STEP, edit_answer(SERIES, set_ages, "scraped-twice")))) == twice


@pytest.mark.parametrize(("interval", "outcome"), [("15s", ("k1: 0 of 2; k2: 0 of 2", "install")), ("1m", None)])
def test_samples_that_are_minutes_old_are_none(interval: str, outcome: Any) -> None:
    """A sample counts for three scrapes, or two minutes."""

    def set_ages(samples: list[Any]) -> None:
        for sample in samples:
            sample["value"][1] = str(sample["value"][0] - 150)

    assert (
        list_failures(
            judge(STEP, edit_answer(SERIES, set_ages), spec={"gpu": {"metrics": {"interval": interval}}})
        ).get("series")
        == outcome
    )


def test_a_gpu_that_is_given_to_pods_is_one_gpu() -> None:
    """Sharing makes a series for each pod."""

    def share_gpu(samples: list[Any]) -> None:
        samples.append({**samples[0], "metric": {**samples[0]["metric"], "exported_pod": "b"}})

    assert list_failures(judge(STEP, edit_answer(SERIES, share_gpu, "in-use"))) == {}


def test_a_host_that_is_no_node_is_the_matter_of_the_workers() -> None:
    assert list_failures(judge(STEP, edit_answer("gpu.nodes", lambda items: items.pop(0)))) == {}


@pytest.mark.parametrize(
    ("probe", "check"), [(COUNTERS, "csv"), (MONITORS, "monitor"), (SERIES, "series"), ("gpu.nodes", "series")]
)
def test_lost_answers_are_unknown(probe: str, check: str) -> None:
    assert find_unknown(
        judge(STEP, {(probe, CLUSTER): replace(make_answer(probe, "", -1), missing_reason="no answer")})
    ) == {check}


@pytest.mark.parametrize(("probe", "name"), [(MONITORS, "refused"), (SERIES, "error"), (COUNTERS, "not-json")])
def test_a_refusal_is_no_answer(probe: str, name: str) -> None:
    assert len(find_unknown(judge(STEP, load_case(probe, name)))) == 1


@pytest.mark.parametrize(
    ("remaining", "says", "hint"),
    [
        (timedelta(hours=2), "temporary, until 2026-11-21 07:00 UTC", "gpustack explain gpu-metrics"),
        (-timedelta(hours=1), "temporary, overdue since 2026-11-21 04:00 UTC", "gpustack gpu config show"),
    ],
)
def test_a_temporary_change_is_named(remaining: timedelta, says: str, hint: str) -> None:
    mark = Mark("k1", "power-limit", TAKEN_AT + remaining, "bob", "300", ("250",)).text
    texts = {"gpustack.io/temporary-power-limit": mark, "gpustack.io/temporary-policy": "{}"}
    judgements = judge(STEP, place_list("gpu.temporary", [{"metadata": {"name": "k1", "annotations": texts}}]))
    result = judgements["temporary"].result
    assert result is not None
    assert result.actual == f"k1: policy, no mark of gpustack: {{}}; k1: power limit 250 W, {says} (before: 300 W)"
    assert result.cure == "operator"
    assert result.hint.startswith(hint)


@pytest.mark.parametrize(("remaining", "differs"), [(timedelta(minutes=5), False), (-timedelta(minutes=5), True)])
def test_a_load_is_no_change_before_its_deadline(remaining: timedelta, differs: bool) -> None:
    texts = {"gpustack.io/temporary-load": Mark("k1", "load", TAKEN_AT + remaining, "bob").text}
    judgements = judge(STEP, place_list("gpu.temporary", [{"metadata": {"name": "k1", "annotations": texts}}]))
    assert (judgements["temporary"].result is not None) == differs


def test_no_gpus_is_reported_only_where_all_hosts_are_known() -> None:
    alone: Answers = {**build_devices("k1"), ("gpu.devices", "k2"): make_answer("gpu.devices", "?\n")}
    assert find_unknown(judge(STEP, alone)) == {
        "csv",
        "monitor",
        "monitor-content",
        "series",
        "silent-alerts",
        "temporary",
    }


def test_the_operator_s_monitor_is_not_applied_by_us() -> None:
    objects = build_objects()
    assert objects["monitor"] == "nvidia-dcgm-exporter"
    assert [manifest["kind"] for manifest in objects["objects"]] == ["ConfigMap"]


def test_our_monitor_is_as_the_operator_s() -> None:
    objects = build_objects({"gpu": {"metrics": {"service_monitor": "ours", "interval": "30s"}}})
    assert objects["monitor"] == "gpustack-dcgm"
    _, monitor = objects["objects"]
    assert (monitor["metadata"]["name"], monitor["metadata"]["namespace"]) == ("gpustack-dcgm", "gpu-operator")
    assert monitor["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "gpustack"}
    assert monitor["spec"]["selector"] == {"matchLabels": {"app": "nvidia-dcgm-exporter"}}
    (endpoint,) = monitor["spec"]["endpoints"]
    assert (endpoint["port"], endpoint["interval"], endpoint["honorLabels"]) == ("gpu-metrics", "30s", False)


def test_relabelings_are_spelled_as_the_prometheus_operator_does() -> None:
    rules = [
        {"source_labels": ["exported_pod"], "target_label": "workload", "regex": "(.+)-[^-]+"},
        {"action": "labeldrop", "regex": "DCGM_FI_DEV_SERIAL"},
    ]
    own_monitor = {"gpu": {"metrics": {"service_monitor": "ours", "relabelings": rules}}}
    (endpoint,) = build_objects(own_monitor)["objects"][1]["spec"]["endpoints"]
    assert endpoint["metricRelabelings"] == [
        {"action": "replace", "regex": "(.+)-[^-]+", "sourceLabels": ["exported_pod"], "targetLabel": "workload",
         "replacement": "$1"},
        {"action": "labeldrop", "regex": "DCGM_FI_DEV_SERIAL"},
    ]  # fmt: skip


def test_a_monitor_of_ours_with_other_settings_is_for_install() -> None:
    own_monitor = {"gpu": {"metrics": {"service_monitor": "ours"}}}
    changed_monitor = {"gpu": {"metrics": {"service_monitor": "ours", "interval": "30s"}}}
    before = {
        key: answer
        for key, answer in build_snapshot(spec=own_monitor).answers.items()
        if key[0] == "applied.service-monitors"
    }
    answers = {**read_answers(MONITORS, "ours"), **before}
    assert list_failures(judge(STEP, answers, spec=own_monitor)) == {}
    failures = list_failures(judge(STEP, answers, spec=changed_monitor))
    assert failures == {"monitor-content": ("gpustack-dcgm with different content", "install")}


def test_the_table_has_no_label_of_ours() -> None:
    """The operator's release brings the same ConfigMap: of two owners of one label each would undo the other's."""
    (table,) = build_objects({"gpu": {"metrics": {"counters": ["DCGM_FI_DEV_FAN_SPEED"]}}})["objects"]
    assert table["metadata"] == {"name": NAME, "namespace": "gpu-operator"}
    assert table["data"] == {"dcgm-metrics.csv": merge_counters(("DCGM_FI_DEV_FAN_SPEED",))}


def test_it_is_for_clusters_with_monitoring() -> None:
    assert STEP.applies(build_snapshot().inventory, K1)
    assert not STEP.applies(build_snapshot(spec={"monitoring": {"enabled": False}}).inventory, K1)


@pytest.mark.parametrize(
    ("stack", "labels"), [("host", {"app.kubernetes.io/managed-by": "gpustack"}), ("operator", None)]
)
def test_the_counters_have_our_label_where_no_release_of_helm_brings_them(stack: str, labels: Any) -> None:
    """A person who edits the only field of an object takes it from us: then the label alone says that it is ours."""
    config_map = build_config_map(View(build_snapshot(spec={"gpu": {"stack": stack}}), CLUSTER))
    assert config_map["metadata"].get("labels") == labels
