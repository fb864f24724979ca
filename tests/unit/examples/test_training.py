"""The example of a training job: it runs, its metrics are of their kinds, its manifests are what the API takes."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import platformdirs
import pytest
import yaml
from jsonschema import Draft202012Validator
from kubernetes import client

from gpustack.errors import UnreachableError
from gpustack.metrics.exposition import Family, fetch_families
from gpustack.metrics.web import Access, Web

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "training"
JOB, MONITOR = yaml.safe_load_all((EXAMPLE / "training.yaml").read_text())
REFERENCE = Path(os.environ.get("GPUSTACK_REFERENCE_DATA") or ROOT.parent / "shared" / "data")
CRDS = [
    *(platformdirs.user_cache_path("gpustack") / "parts" / "prometheus-crds").glob("*/out/*podmonitors.yaml"),
    *(REFERENCE / "crds").glob("crd-podmonitors.yaml"),
]
KINDS = {
    "training_step_seconds": "histogram",
    "training_loader_wait_seconds": "histogram",
    "training_samples_total": "counter",
    "training_loss": "gauge",
}


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_for_step(url: str) -> dict[str, Family]:
    """Wait until a step is done, and return its metrics by name."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            families = {family.name: family for family in fetch_families(Web(Access(url)))}
        except UnreachableError:
            time.sleep(0.2)
            continue
        if families["training_samples"].series[0].points[0][1]:
            return families
        time.sleep(0.2)
    raise AssertionError(f"{url} has no step")


def test_it_trains_serves_its_metrics_and_stops(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "train.py", tmp_path)
    shutil.copy(ROOT / "logs" / "gpustack_logs.py", tmp_path)
    port = find_free_port()
    argv = [sys.executable, str(tmp_path / "train.py"), "--address", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as job:
        try:
            for_step = wait_for_step(f"http://127.0.0.1:{port}/metrics")
        finally:
            job.send_signal(signal.SIGTERM)
            _, err = job.communicate(timeout=20)
    assert job.returncode == 0, err
    kinds = {f"{name}_total" if family.kind == "counter" else name: family.kind for name, family in for_step.items()}
    assert {name: kind for name, kind in kinds.items() if name.startswith("training_")} == KINDS
    assert 0 < for_step["training_loss"].series[0].points[0][1] < 10
    assert '"message": "step 0"' in err
    assert '"gpu": {"source": "nvml"' in err


def find_unknown_keys(manifest: Any, kind: str, path: str = "") -> list[str]:
    """Find keys that the API does not have, by the client's own list of them."""
    if match := re.fullmatch(r"list\[(.+)\]", kind):
        return [unknown_key for element in manifest for unknown_key in find_unknown_keys(element, match[1], path)]
    model = getattr(client, kind, None)
    if not isinstance(manifest, dict) or model is None:
        return []
    names = {value: key for key, value in model.attribute_map.items()}
    unknown = [f"{path}.{key}" for key in manifest if key not in names]
    kinds = {key: model.openapi_types[names[key]] for key in manifest if key in names}
    return unknown + [
        unknown_key for key in kinds for unknown_key in find_unknown_keys(manifest[key], kinds[key], f"{path}.{key}")
    ]


def test_the_job_has_no_key_that_the_api_does_not_know() -> None:
    assert find_unknown_keys(JOB, "V1Job") == []
    assert find_unknown_keys({"spec": {"template": {"spec": {"container": []}}}}, "V1Job") == [
        ".spec.template.spec.container"
    ]


@pytest.mark.skipif(not CRDS, reason="no schema of PodMonitor in the bundle's cache (make bundle)")
def test_the_monitor_has_the_form_of_its_kind() -> None:
    (version,) = yaml.safe_load(CRDS[0].read_text())["spec"]["versions"]
    schema = close_schema(version["schema"]["openAPIV3Schema"])
    metadata: dict[str, Any] = {"apiVersion": {}, "kind": {}, "metadata": {}}
    validator = Draft202012Validator({**schema, "properties": {**schema["properties"], **metadata}})
    assert [error.message for error in validator.iter_errors(MONITOR)] == []


def close_schema(schema: Any) -> Any:
    """Close a schema to other keys: the API server drops them without a word."""
    if isinstance(schema, list):
        return [close_schema(element) for element in schema]
    if not isinstance(schema, dict):
        return schema
    properties = {key: close_schema(value) for key, value in schema.items()}
    return properties | {"additionalProperties": False} if isinstance(schema.get("properties"), dict) else properties


def test_the_monitor_selects_the_pods_of_the_job_and_its_port() -> None:
    template = JOB["spec"]["template"]
    assert MONITOR["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    assert MONITOR["spec"]["jobLabel"] in template["metadata"]["labels"]
    (endpoint,), (container,) = MONITOR["spec"]["podMetricsEndpoints"], template["spec"]["containers"]
    assert endpoint["port"] in [port["name"] for port in container["ports"]]


def test_prometheus_reads_monitors_without_a_label() -> None:
    values = yaml.safe_load((ROOT / "values" / "monitoring.yaml").read_text())
    assert values["prometheus"]["prometheusSpec"]["podMonitorSelectorNilUsesHelmValues"] is False
    assert "labels" not in MONITOR["metadata"]


def test_the_image_has_the_library_that_we_test_with() -> None:
    (version,) = re.findall(r"prometheus-client==(\S+)", (EXAMPLE / "Dockerfile").read_text())
    assert f"prometheus-client=={version} " in (ROOT / "requirements" / "runtime.txt").read_text()
