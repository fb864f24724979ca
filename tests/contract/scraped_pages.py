"""Pages as a real Prometheus stores them: with the labels that ServiceMonitors and the discovery of Kubernetes give."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from tests.contract.prometheus_server import build_data_command, run_prometheus

PATIENCE = 120
# What prometheus-operator 0.93 makes of a ServiceMonitor (pkg/prometheus, promcfg.go); `kept` labels of the discovery.
DISCOVERED_LABELS = {
    "node": "__meta_kubernetes_endpoint_address_target_name",
    "namespace": "__meta_kubernetes_namespace",
    "service": "__meta_kubernetes_service_name",
    "pod": "__meta_kubernetes_pod_name",
    "container": "__meta_kubernetes_pod_container_name",
    "job": "__meta_kubernetes_service_name",
}
CAMEL = {"sourceLabels": "source_labels", "targetLabel": "target_label"}


@dataclass(frozen=True)
class Page:
    """The page of a target. `labels` are those of its Service, which `jobLabel` of a ServiceMonitor names; a target
    that is a node, as a kubelet is, has `node` and no pod."""

    address: str
    text: str
    monitor: Mapping[str, Any]
    namespace: str
    service: str
    pod: str = ""
    node: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


def build_scrape_config(page: Page, honour: bool | None) -> dict[str, Any]:
    """Build the job of one target. `honour` replaces what the ServiceMonitor says of honorLabels; scheme and
    credentials are left out."""
    spec = page.monitor["spec"]
    (endpoint, *_) = spec["endpoints"]
    discovery_labels = {
        "__meta_kubernetes_namespace": page.namespace,
        "__meta_kubernetes_service_name": page.service,
        "__meta_kubernetes_pod_name": page.pod,
        "__meta_kubernetes_pod_container_name": page.service if page.pod else "",
        "__meta_kubernetes_endpoint_address_target_name": page.node,
        **{f"__meta_kubernetes_service_label_{format_label(name)}": text for name, text in page.labels.items()},
    }
    relabelings: list[dict[str, Any]] = [
        {"source_labels": [source], "target_label": label} for label, source in DISCOVERED_LABELS.items()
    ]
    job_source = f"__meta_kubernetes_service_label_{format_label(spec['jobLabel'])}"
    relabelings += [
        {"source_labels": [job_source], "target_label": "job", "regex": "(.+)"},
        {"target_label": "endpoint", "replacement": endpoint["port"]},
        *(rename_keys(rule) for rule in endpoint.get("relabelings", ())),
    ]
    return {
        "job_name": page.address,
        "honor_labels": endpoint.get("honorLabels", False) if honour is None else honour,
        "static_configs": [{"targets": [page.address], "labels": discovery_labels}],
        "relabel_configs": relabelings,
        "metric_relabel_configs": [rename_keys(rule) for rule in endpoint.get("metricRelabelings", ())],
    }


def format_label(name: str) -> str:
    return "".join(character if character.isalnum() else "_" for character in name)


def rename_keys(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Rename the keys of a relabelling from the operator's spelling to Prometheus'."""
    return {CAMEL.get(key, key): value for key, value in rule.items()}


@contextmanager
def serve_pages(pages: Sequence[Page]) -> Iterator[str]:
    """Serve each page at its address, as a proxy on loopback; yield the proxy's address."""
    texts = {page.address: page.text.encode() for page in pages}

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = texts[urlsplit(self.path).netloc]
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def store_pages(
    folder: Path, pages: Sequence[Page], honour: bool, refused_pages: int = 0
) -> list[tuple[dict[str, str], float]]:
    """Let Prometheus scrape each page, and return labels and value of each series that it stored. `honour` counts for
    targets of GPUs; others do what their ServiceMonitor says. `refused_pages` are refused for what is in them."""
    with serve_pages(pages) as proxy:
        jobs = [
            build_scrape_config(page, honour if "dcgm" in page.monitor["metadata"]["name"] else None)
            | {"proxy_url": proxy}
            for page in pages
        ]
        config = {"global": {"scrape_interval": "5s", "scrape_timeout": "5s"}, "scrape_configs": jobs}
        with run_prometheus(folder, build_data_command(folder, config, {})) as server:
            deadline = time.monotonic() + PATIENCE
            answer: list[dict[str, Any]] = []
            while sum(is_scraped(series) for series in answer) < len(pages) - refused_pages:
                assert time.monotonic() < deadline, server.answer("up")
                time.sleep(1)
                answer = server.answer('{__name__=~".+",__name__!~"scrape_(samples|series).+"}')
    return [(series["metric"], float(series["value"][1])) for series in answer]


def is_scraped(series: Mapping[str, Any]) -> bool:
    return bool(series["metric"]["__name__"] == "up" and series["value"][1] == "1")
