"""Sources of gpustack's objects: Helm releases with their values, upstream manifests, and objects of its own.

The digests need no chart, so that a test can compare them with the page.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.resources import locate_playbooks
from gpustack.config.spec import Spec
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.proof.workload import build_namespace, build_proof_pod
from gpustack.steps import serve
from gpustack.steps.care.objects import build_cron_job
from gpustack.steps.gpu import plugin_objects
from gpustack.steps.releases import RELEASES

Object = dict[str, Any]
# Settings under which everything is brought: each part of gpustack, at its defaults otherwise.
SETTINGS: Mapping[str, Any] = {"gpu": {"driver": {"mode": "host"}}, "autoscaling": {"enabled": True}}
HOST_STACK: Mapping[str, Any] = {"gpu": {"stack": "host", "dcgm": "standalone"}}
SERVE_SETTINGS: Mapping[str, Any] = {"serve": {"enabled": True, "image": "registry.example.org/gpustack:1"}}


@dataclass(frozen=True, eq=False)
class Chart:
    """Describe a release; `digest` is of the values that gpustack passes to the chart, 16 hex digits."""

    name: str
    version: str
    url: str
    sha256: str
    release: str
    namespace: str
    values: Mapping[str, Any]

    @property
    def digest(self) -> str:
        return digest(self.values)


@dataclass(frozen=True)
class Manifest:
    """Describe a manifest of an upstream project, over which a role of gpustack puts its settings."""

    name: str
    version: str
    url: str
    sha256: str

    @property
    def digest(self) -> str:
        """Digest the settings that the role puts over it."""
        role = "flannel" if self.name == "flannel" else "storage"
        return digest((locate_playbooks() / "roles" / role / "templates" / "kustomization.yaml.j2").read_text())


def build_view(settings: Mapping[str, Any]) -> View:
    """Build the view of a cluster of one host with these settings. Only its nodes were asked, and there is none."""
    host = Host("host1", "192.0.2.1", groups=frozenset({CONTROL_PLANE, NODE}))
    inventory = Inventory(None, (host,), Spec.model_validate(dict(settings)))
    answer = Answer(NODES.id, CLUSTER, 0, '{"items":[]}')
    return View(Snapshot(datetime(2026, 1, 1, tzinfo=UTC), inventory, {}, {(NODES.id, CLUSTER): answer}), CLUSTER)


def list_charts() -> tuple[Chart, ...]:
    """Compose every Helm release at the defaults of the spec."""
    cluster = build_view(SETTINGS)
    charts = []
    for bringing in RELEASES.values():
        release = bringing.builder(cluster)
        pinned_chart = cluster.versions.charts[release.chart]
        charts.append(
            Chart(
                release.chart,
                pinned_chart.version,
                pinned_chart.url,
                pinned_chart.sha256["all"],
                release.name,
                release.namespace,
                release.values,
            )
        )
    return tuple(charts)


def list_manifests() -> tuple[Manifest, ...]:
    """List the pinned manifests of upstream projects."""
    versions = build_view(SETTINGS).versions
    pinned_manifests = {"flannel": versions.flannel, "local-path-provisioner": versions.provisioner}
    return tuple(Manifest(name, file.version, file.url, file.sha256["all"]) for name, file in pinned_manifests.items())


def build_own_objects() -> Mapping[str, list[Object]]:
    """Build the objects that gpustack writes itself, by the part that brings them."""
    return {
        "host-stack": plugin_objects.build_objects(build_view(HOST_STACK)),
        "serve": serve.build_objects(build_view(SERVE_SETTINGS)),
        "care": [build_cron_job(build_view({}), "host1", 1)],
        "prove": [build_namespace(), build_proof_pod("proof", "host1", "run", 300)],
    }


def digest(content: Any) -> str:
    """Digest any JSON content: 16 hex digits."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]
