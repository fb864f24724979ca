"""Probes keep of texts and objects of others what they read: a secret beside it never becomes an answer."""

import json
from typing import Any

import pytest

from gpustack.ask.answers import parse_answers
from gpustack.ask.probe import Answer, Probe
from gpustack.probes.containerd import daemon as containerd
from gpustack.probes.control_plane import kubeadm
from gpustack.probes.gpu import cluster as gpu_cluster
from gpustack.probes.gpu import settings as gpu_settings
from gpustack.probes.kubernetes import applied_objects
from gpustack.probes.monitoring import alerting, grafana
from gpustack.probes.network import flannel, resolver

MARK = "@@m"
CONTAINERD = {"cni": {"binDir": "/opt/cni/bin"}, "containerd": {"runtimes": {"runc": {"options": {}}}}}
LOGINS = {"registry": {"configs": {"nvcr.io": {"auth": {"password": "figleaf"}}}}}
SOURCES = """
datasources:
  - {name: A, uid: a, url: http://a/, isDefault: true, basicAuthPassword: figleaf, secureJsonData: {password: figleaf}}
"""
PANELS = json.dumps({"a": "figleaf", "b": "DCGM_FI_DEV_GPU_TEMP{Hostname=~'x'}"})
ORIGINAL = "global: {smtp_auth_password: figleaf, smtp_from: figleaf}\nreceivers: [{name: ops, x: figleaf}]"
ENV = [{"name": "DCGM_EXPORTER_KUBERNETES", "value": "true"}, {"name": "X", "value": "figleaf"}]
EXPORTER = {"template": {"spec": {"containers": [{"name": "dcgm", "env": ENV}], "volumes": []}}}
NOTED_ANNOTATIONS = {"kubectl.kubernetes.io/last-applied-configuration": "figleaf", "gpustack/digest": "d"}


def build_object(name: str, data: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "n"}, "data": data, **fields}


def render_list(*items: dict[str, Any]) -> str:
    return json.dumps({"items": items})


MAPS = render_list(
    build_object("kubeadm-config", {"ClusterConfiguration": "a: 1", "x": "figleaf"}),
    build_object("y", {"kubelet": "figleaf"}),
)
GIVEN_TEXTS: tuple[tuple[Probe[Any], str], ...] = (
    (containerd.RUNTIME, json.dumps({"config": CONTAINERD | LOGINS, "status": "figleaf"}, indent=2)),
    (kubeadm.SETTINGS, MAPS),
    (grafana.DATA_SOURCES, render_list(build_object("d", {"d.yaml": SOURCES}))),
    (grafana.DASHBOARDS, render_list(build_object("d", {"d.json": PANELS, "e.json": "figleaf"}))),
    (gpu_settings.GPU_CONFIG_MAPS, render_list(build_object("c", {"key": "figleaf"}))),
    (gpu_settings.EXPORTERS, render_list(build_object("e", {}, spec=EXPORTER))),
    (alerting.RECEIVERS, json.dumps({"config": {"original": ORIGINAL}})),
    (flannel.NET_CONF, render_list(build_object("z", {"token": "figleaf"}))),
    (resolver.FORWARDS, render_list(build_object("coredns", {"Corefile": "x", "y": "figleaf"}))),
    (applied_objects.build_probe("a.b", "/x"), render_list(
        {"metadata": {"name": "p", "namespace": "n", "annotations": NOTED_ANNOTATIONS}})),
    (gpu_cluster.CLUSTER_POLICIES, render_list(
        {"metadata": {"name": "p", "annotations": NOTED_ANNOTATIONS}, "status": {}})),
)  # fmt: skip


def build_answer(probe: Probe[Any], text: str) -> Answer:
    api = [f"{MARK} @api 1.00 {probe.id}", *text.splitlines(), "", f"{MARK} = 0 200 0.004 ", f"{MARK} . 0 1.30"]
    host = [f"{MARK} {probe.id} 1.00", *text.splitlines(), f"{MARK} . 0 1.30"]
    (answer,) = parse_answers(api if probe.scope == "cluster" else host, MARK, "h1", {probe.id: probe})
    return answer


@pytest.mark.parametrize(("probe", "text"), GIVEN_TEXTS, ids=lambda value: getattr(value, "id", ""))
def test_what_is_not_read_is_not_kept(probe: Probe[Any], text: str) -> None:
    assert "figleaf" in text
    answer = build_answer(probe, text)
    assert "figleaf" not in answer.stdout
    assert probe.extract_fact(answer) == probe.extract_fact(Answer(probe.id, answer.location, 0, text))


def test_of_what_cannot_be_shortened_nothing_is_kept() -> None:
    assert build_answer(containerd.RUNTIME, '{"password": "figleaf"').stdout == ""
