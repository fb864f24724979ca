"""Series that a person wrote for the rules have labels that a real Prometheus stored from recorded pages, say what they
were constructed from, and pass with all labels of their targets."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpustack.vocabulary.fields import find_fields
from tests.contract.healthy_states import State, build_pages, read_kubernetes_page
from tests.contract.promql import OTHER_SERIES, ROOT, RULES, read_exported
from tests.contract.promtool import run_promtool
from tests.contract.scraped_pages import Page, store_pages
from tests.contract.test_rendered_charts import render_simulated
from tests.contract.timelines import StoredSeries
from tests.contract.whole_series import WRITTEN_SERIES, complete_cases, find_job, find_targets, read_labels
from tests.contract.written_series import list_series
from tests.unit.gpus.exporter_faults import PAGES

TESTS = sorted((RULES / "tests").glob("*.yaml"))
ORIGIN = "# constructed from "
SOURCES = {
    "nvidia-dcgm-exporter": "tests/recorded/exporter-pages",
    "kube-state-metrics": "tests/recorded/kubernetes",
    "apiserver": "tests/recorded/kubernetes",
    "kubelet": "tests/recorded/kubernetes",
    "node-exporter": "tests/recorded/kubernetes",
}
CONSTRUCTED_LABELS = {
    "DCGM_FI_SYSTEM_DRIVER_VERSION": "dcgm-exporter 4.9.0 renamed DCGM_FI_DRIVER_VERSION",
    "health_error_code": "dcgm-exporter, internal/pkg/collector/gpu_health_collector.go",
    "health_watch": "the same",
    "label_nvidia_com_gpu_deploy_operands": "a label of a node, which gpustack lets kube-state-metrics export",
    "pod_uid": "dcgm-exporter 4.8.2, internal/pkg/transformation/kubernetes.go, with --kubernetes-virtual-gpus",
    "vgpu": "the same",
    "window_size_in_ms": "dcgm-exporter, internal/pkg/collector/expcollector.go",
    "xid": "the same",
}
"""Labels that no recorded page has, with their source."""
CONSTRUCTED_METRICS = {
    "gpu_operator_reconciliation_status": "the GPU operator's controllers/operator_metrics.go",
    "gpustack:gpu_retired_pages:total": "a recorded series of ours: a week of scrapes takes minutes",
    "scrape_duration_seconds": "Prometheus itself: the labels of `up`",
    "up": "Prometheus itself: targets of a static list have fewer labels",
    **dict.fromkeys(
        (name for name in OTHER_SERIES if name.startswith("container_")),
        "cAdvisor of the kubelet, metrics/prometheus.go",
    ),
    **dict.fromkeys(
        ("training_loss", "training_samples_total", "training_step_seconds_sum", "training_step_seconds_count"),
        "an application",
    ),
}
INTEGER_BOUND = re.compile(r'\ble="\d+"')
PROMETHEUS_2 = "in the words of Prometheus 2"
STATIC_TARGETS = "targets"
"""The targets of this file have no pod on purpose."""

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
Shapes = Mapping[bool, StoredSeries]


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Shapes:
    """Store all recorded pages as they are, in both shapes of labels."""
    return {honour: store_recorded_pages(tmp_path_factory.mktemp("pages"), honour) for honour in (False, True)}


def store_recorded_pages(folder: Path, honour: bool) -> StoredSeries:
    stack = render_simulated("kube-prometheus-stack", folder)
    other_pages = (
        Page(
            f"{pod}:8080", read_kubernetes_page(page), stack["ServiceMonitor", f"monitoring-{service}"], "monitoring",
            service, pod, labels={"app.kubernetes.io/name": service},
        )
        for page, service, pod in (
            ("kube-state-metrics-pods", "kube-state-metrics", "pods"),
            ("kube-state-metrics-jobs", "kube-state-metrics", "jobs"),
            ("node-exporter", "prometheus-node-exporter", "host"),
        )
    )  # fmt: skip
    states = [State(page.stem, page.stem) for page in sorted(PAGES.glob("*.prom"))]
    return store_pages(folder, [*build_pages(states, folder), *other_pages], honour, refused_pages=1)


def list_written_series(file: Path) -> list[str]:
    return [series for _, series in WRITTEN_SERIES.findall(file.read_text())]


def test_written_series_are_found() -> None:
    for file in TESTS:
        written_count = file.read_text().count("series:") - file.read_text().count("input_series:")
        assert len(list_written_series(file)) == written_count, file.name


@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_a_file_says_what_it_was_constructed_from(file: Path) -> None:
    origin = file.read_text().partition("rule_files")[0].partition(ORIGIN)[2]
    jobs = {find_job(read_labels(series)["__name__"]) for series in list_written_series(file)}
    sources = {SOURCES[job] for job in jobs if job}
    assert origin.strip()
    assert [source for source in sources if source not in origin] == []
    assert all((ROOT / source).is_dir() for source in sources)


def test_written_labels_are_stored_ones(shapes: Shapes) -> None:
    """The pages have `Hostname` of old exporters and `hostname` of new ones, and all fields of a page have the same
    labels."""
    stored_names: dict[str, set[frozenset[str]]] = {}
    for series in shapes.values():
        for labels, _ in series:
            name = labels["__name__"]
            key = "DCGM_" if name.startswith("DCGM_") else name
            names = {"Hostname" if label == "hostname" else label for label in labels}
            stored_names.setdefault(key, set()).add(frozenset(names))
    written_series = {file.name: list_written_series(file) for file in TESTS}
    written_series["written_series.py"] = [entry["series"] for entry in list_series()]
    invented_series = []
    for source, texts in written_series.items():
        for text in texts:
            labels = read_labels(text)
            name = labels["__name__"]
            if name in CONSTRUCTED_METRICS:
                continue
            is_field = name in read_exported() or (name.startswith("DCGM_FI_") and bool(find_fields(name)))
            names = {"Hostname" if label == "hostname" else label for label in labels} - CONSTRUCTED_LABELS.keys()
            if not any(names <= label_names for label_names in stored_names.get("DCGM_" if is_field else name, ())):
                invented_series.append(f"{source}: {text}")
    assert invented_series == []


def test_written_bounds_are_stored_ones() -> None:
    """Prometheus 3 stores a bound as a float, `604800.0`; one case is of Prometheus 2."""
    cases = [part for file in TESTS for part in file.read_text().split("  - name: ")[1:]]
    assert [case.partition("\n")[0] for case in cases if INTEGER_BOUND.search(case) and PROMETHEUS_2 not in case] == []
    assert [entry["series"] for entry in list_series() if INTEGER_BOUND.search(entry["series"])] == []


@pytest.mark.slow
@pytest.mark.parametrize("honour", [False, True], ids=["exported_pod", "pod"])
@pytest.mark.parametrize("file", [file for file in TESTS if file.stem != STATIC_TARGETS], ids=lambda file: file.stem)
def test_each_file_passes_with_all_labels_of_its_targets(
    shapes: Shapes, file: Path, honour: bool, tmp_path: Path
) -> None:
    """A case has the labels that matter to it; those of the targets, and `up` of the exporters, are as stored."""
    text = complete_cases(file.read_text(), find_targets(shapes[honour]), honour)
    (tmp_path / file.name).write_text(text.replace("../", f"{RULES}/"))
    assert run_promtool("test", "rules", tmp_path / file.name) == ""
