"""The device plugin hands out GPUs and nothing else."""

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.steps.gpu.plugin_objects import PLUGIN, build_objects
from tests.worlds.snapshots.host_stack import build_snapshot


def test_no_pod_gets_the_adapters_of_the_host_for_rdma() -> None:
    """The device plugin 0.19.0 hands them out by default (NVIDIA/k8s-device-plugin issue 1692)."""
    objects = build_objects(View(build_snapshot({}), CLUSTER))
    (plugin,) = [item for item in objects if item["metadata"]["name"] == PLUGIN and item["kind"] == "DaemonSet"]
    variables = plugin["spec"]["template"]["spec"]["containers"][0]["env"]
    for name in ("GDRCOPY_ENABLED", "GDS_ENABLED", "MOFED_ENABLED"):
        assert {"name": name, "value": "false"} in variables
