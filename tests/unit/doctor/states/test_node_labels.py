"""Labels of nodes by which NVIDIA's components exclude, pause and report."""

import pytest

from tests.unit.doctor.states.objects import diagnose_items, find_item, list_states, read_items, render

MIG_STATE = "nvidia.com/mig.config.state"


@pytest.mark.parametrize(
    ("label", "value", "gpus", "severity"),
    [
        # constructed from NVIDIA/gpu-operator#2833 and NVIDIA/mig-parted#485
        ("nvidia.com/gpu.deploy.device-plugin", "paused-for-mig-change", "0", "broken"),
        (MIG_STATE, "pending", "0", "broken"),
        (MIG_STATE, "pending", "2", "risk"),
        # constructed from NVIDIA/gpu-operator#603
        (MIG_STATE, "failed", "2", "broken"),
        # constructed from NVIDIA/gpu-operator#1310
        ("nvidia.com/gpu.deploy.operands", "false", "0", "note"),
        ("nvidia.com/gpu-driver-upgrade-state", "upgrade-failed", "2", "broken"),
        ("nvidia.com/gpu-driver-upgrade-state", "upgrade-done", "2", ""),
    ],
)
def test_a_label_that_keeps_gpus_away_is_reported(label: str, value: str, gpus: str, severity: str) -> None:
    nodes = read_items("gpu.nodes")
    node = find_item(nodes, "k2")
    node["metadata"]["labels"][label] = value
    node["status"]["allocatable"]["nvidia.com/gpu"] = gpus
    diagnosis = diagnose_items(gpu__nodes=nodes)
    assert [state.severity for state in list_states(diagnosis, "node-label")] == [severity] * bool(severity)
    assert (f"{label}={value}" in render(diagnosis)) is bool(severity)
    assert all(state.locations == ("k2",) for state in list_states(diagnosis, "node-label"))
