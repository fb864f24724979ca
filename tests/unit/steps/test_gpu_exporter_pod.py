"""The exporter's pod without an operator."""

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.steps.gpu.plugin_objects import EXPORTER, build_objects
from tests.worlds.snapshots.host_stack import build_snapshot


@pytest.mark.parametrize("shared", [True, False])
def test_an_exporter_that_tells_pods_apart_sees_the_processes_of_the_host(shared: bool) -> None:
    """The exporter sends 0 for each pod without hostPID (internal/pkg/transformation/pidmapper.go, 4.8.2)."""
    (exporter,) = [
        manifest
        for manifest in build_objects(View(build_snapshot({"metrics": {"shared_gpus": shared}}), CLUSTER))
        if manifest["metadata"]["name"] == EXPORTER
    ]
    pod = exporter["spec"]["template"]["spec"]
    variables = {variable["name"]: variable.get("value") for variable in pod["containers"][0]["env"]}
    assert (variables.get("KUBERNETES_VIRTUAL_GPUS") == "true", pod.get("hostPID", False)) == (shared, shared)
