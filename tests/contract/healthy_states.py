"""Healthy states by board and platform. A page is recorded (tests/recorded/exporter-pages) or constructed from one
by the changes that stand in the table; what fires all the same has its reason there."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.steps.gpu.metrics_objects import MONITOR_NAME, build_variables
from tests.contract.page_changes import (
    add_fields,
    add_node_label,
    limit_link,
    limit_power,
    remove_lines,
    rename_model,
    repeat_board,
    scale_capacity,
    share_gpu,
)
from tests.contract.promql import ROOT
from tests.contract.scraped_pages import Page
from tests.contract.test_rendered_charts import render_simulated
from tests.unit.gpus.exporter_faults import Change, D, P, read_page, replace, set_value
from tests.worlds.snapshots.gpus import build_snapshot

KUBERNETES = ROOT / "tests" / "recorded" / "kubernetes"
OWN_MONITOR = {"gpu": {"metrics": {"service_monitor": "ours"}}}
DRIVER = replace('DCGM_FI_DRIVER_VERSION="[^"]*"', 'DCGM_FI_DRIVER_VERSION="580.105.08"')


@dataclass(frozen=True)
class State:
    """A node and its GPUs. `expected` alerts are above info and have their reason. `kubernetes` changes what
    kube-state-metrics says of the node; without `answers` no exporter runs there."""

    node: str
    source: str
    changes: tuple[Change, ...] = ()
    kubernetes: tuple[Change, ...] = ()
    expected: Mapping[str, str] = field(default_factory=dict)
    answers: bool = True

    def render_exporter_page(self) -> str:
        page = read_page(self.source).replace("node1", self.node)
        page = re.sub(r'UUID="GPU-\w{8}', f'UUID="GPU-{crc32(self.node.encode()):08x}', page)
        for change in self.changes:
            page = change(page)
        return page

    def render_kubernetes_page(self) -> str:
        page = read_kubernetes_page("kube-state-metrics").replace("node1", self.node)
        page = page.replace('uid="', f'uid="{crc32(self.node.encode()):08x}')
        gpus = len(set(re.findall(r'UUID="([^"]+)"', self.render_exporter_page())))
        page = replace(r'^(kube_node_status_\w+\{.*resource="nvidia_com_gpu".*\}) .*$', rf"\1 {gpus}")(page)
        for change in self.kubernetes:
            page = change(page)
        return page


BUSY = set_value((f"{D}GPU_UTIL", "97"), (f"{P}GR_ENGINE_ACTIVE", "0.95"))
LINKS_DOWN = 'DCGM_EXP_GPU_HEALTH_STATUS{health_watch="NVLINK",health_error_code="DCGM_FR_NVLINK_DOWN"}'
WITHOUT_HOST = replace(',Hostname="[^"]*"', "")
OTHER_HOST_LABEL = replace('Hostname="', 'node_name="')
WITHOUT_UUID = replace('UUID="[^"]*",', "")
WITHOUT_MODEL = replace('modelName="[^"]*",', "")
A100_PCIE = replace("Hostname", 'modelName="NVIDIA A100 80GB PCIe",Hostname')
MIG_PLUGIN = scale_capacity("nvidia_com_mig_2g_20gb", 3)
TIME_SLICING = replace('strategy="none"', 'strategy="time-slicing"')
CORDON = replace(r"^(kube_node_spec_unschedulable\{.*\}) 0", r"\1 1")
OPT_OUT = (
    remove_lines('nvidia_com_gpu",'),
    remove_lines("kube_pod_"),
    add_node_label("nvidia_com_gpu_deploy_operands", "false"),
)
STATES = (
    State("t4-idle", "t4-idle", (DRIVER,)),
    State("t4-loaded", "t4-full-load", (DRIVER,)),
    State("t4-rated", "t4-full-load", (DRIVER, limit_power(70, 660, 1590))),
    State("l4", "l4"),
    State("l4-rated", "l4", (limit_power(72, 885, 2040),)),
    State("a10-rated", "l4", (rename_model("NVIDIA A10"), limit_power(150, 1080, 1695))),
    State("a10g-virtual-machine", "l4", (rename_model("NVIDIA A10G"), BUSY, limit_link(8, 16, 3, 4))),
    State("l40s", "l40s", (DRIVER,)),
    State("a100", "a100-exporter-2"),
    State("a100-without-bridge", "a100-exporter-2", (A100_PCIE, add_fields({LINKS_DOWN: 20}))),
    State("without-host", "l4", (WITHOUT_HOST,)),
    State("other-host-label", "l4", (OTHER_HOST_LABEL,)),
    State("without-uuid", "l4", (repeat_board(4), WITHOUT_UUID), (scale_capacity("nvidia_com_gpu", 4),)),
    State("without-model", "l4", (WITHOUT_MODEL, add_fields({f"{P}SM_ACTIVE": 0.5}))),
    State("without-model-and-profiling", "t4-full-load", (WITHOUT_MODEL, remove_lines(P))),
    State("vgpu-guest", "vgpu-guest-a100-10c", (DRIVER,)),
    State("a800-mig", "a800-mig", (DRIVER,), (MIG_PLUGIN,)),
    State("cordoned", "l40s", (DRIVER,), (CORDON,)),
    State("without-profiling", "t4-full-load", (DRIVER, remove_lines(P))),
    State("opted-out", "l4", (), OPT_OUT, answers=False),
    State("a30-pod-as-host", "a30-mig-beside-rtx2000-pod-as-host"),
    State("t4-pod-as-host", "t4-pod-as-host", (DRIVER,)),
    State(
        "vgpu-licensed",
        "vgpu-guest-a100-10c",
        (DRIVER, set_value((f"{D}VGPU_LICENSE_STATUS", "1")), add_fields({f"{D}VIRTUAL_MODE": 2})),
    ),
    State(
        "rtx4090-x8",
        "l4",
        (
            rename_model("NVIDIA GeForce RTX 4090"),
            remove_lines(P),
            remove_lines("REMAP"),
            set_value((f"{D}GPU_UTIL", "97")),
            limit_link(8, 16, 4, 4),
            add_fields({f"{D}ECC_CURRENT": 0}),
        ),
    ),
    State("shared", "l4", (share_gpu(2),), (scale_capacity("nvidia_com_gpu", 4), TIME_SLICING)),
    State(
        "a800-unconvertible",
        "a800-mig-unconvertible-row",
        (DRIVER,),
        (MIG_PLUGIN,),
        {"GpuMetricsAbsent": "a row without a number: Prometheus stores no line of the page"},
    ),
)


def build_exporter_monitor() -> dict[str, Any]:
    """Build the ServiceMonitor of gpustack."""
    objects = build_variables(View(build_snapshot(spec=OWN_MONITOR), CLUSTER))["objects"]
    (monitor,) = [item for item in objects if item["metadata"]["name"] == MONITOR_NAME]
    return dict(monitor)


def build_pages(states: Sequence[State], folder: Path) -> list[Page]:
    """Build the pages of a cluster with these nodes: an exporter and a kubelet on each, kube-state-metrics and
    kube-apiserver."""
    monitor = build_exporter_monitor()
    stack = render_simulated("kube-prometheus-stack", folder)
    exporters = [
        Page(
            f"10.244.{number}.7:9400",
            state.render_exporter_page(),
            monitor,
            "gpu-operator",
            "nvidia-dcgm-exporter",
            f"nvidia-dcgm-exporter-{state.node}",
            labels={"app": "nvidia-dcgm-exporter"},
        )
        for number, state in enumerate(states)
        if state.answers
    ]
    kubelets = [
        Page(
            f"10.0.{number}.1:10250",
            read_kubernetes_page("kubelet"),
            stack["ServiceMonitor", "monitoring-kubelet"],
            "kube-system",
            "monitoring-kubelet",
            node=state.node,
            labels={"k8s-app": "kubelet"},
        )
        for number, state in enumerate(states)
    ]
    lines = (line for state in states for line in state.render_kubernetes_page().splitlines() if line[0] != "#")
    state_page, api_page = "\n".join([*dict.fromkeys(lines), ""]), read_kubernetes_page("kube-apiserver")
    return [
        *exporters,
        *kubelets,
        *(
            Page(
                f"{name}:8080", text, stack["ServiceMonitor", f"monitoring-{name}"], "monitoring", name, name,
                labels=labels,
            )
            for name, labels, text in (
                ("kube-state-metrics", {"app.kubernetes.io/name": "kube-state-metrics"}, state_page),
                ("apiserver", {"component": "apiserver"}, api_page),
            )
        ),
    ]  # fmt: skip


def read_kubernetes_page(name: str) -> str:
    return (KUBERNETES / f"{name}.prom").read_text()
