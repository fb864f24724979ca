"""The recovery action that nvidia-smi prints is the driver's word, as DCGM's field of it is."""

from dataclasses import replace

import pytest

from gpustack.health.host_answers import read_host_sources
from gpustack.health.host_sources import HostSources
from gpustack.probes.gpu.driver import GPU_SMI
from tests.unit.health.test_host_sources import build_gpus, build_snapshot, log
from tests.unit.health.test_verdicts import judge, list_verdicts, offer_gpus
from tests.worlds.snapshots.answers import read_case


@pytest.mark.parametrize(
    ("action", "dcgm_action", "verdict"),
    [
        ("None", 0, "watch"),
        ("Reset", 0, "reset"),
        ("Reset", float("nan"), "reset"),
        ("Reboot", 0, "reboot"),
        ("Drain and Reset", 0, "reset"),
        ("Format", 0, "watch"),
        ("Reset", 2, "reboot"),
    ],
)
def test_the_recovery_action_of_nvidia_smi_is_the_word_of_the_driver(
    action: str, dcgm_action: float, verdict: str
) -> None:
    """The kernel log has an Xid of the GPU beside it, as of a GPU whose firmware failed."""
    hosts = replace(log(("0000:3b:00", 120, 60)), recovery_actions={"gpu1": {"0000:3b:00": action}})
    health = judge(*build_gpus(GET_GPU_RECOVERY_ACTION=dcgm_action), offers=offer_gpus(1), hosts=hosts)
    assert list_verdicts(health) == [verdict]


def test_nvidia_smi_and_dcgm_are_one_source_of_what_the_driver_asks() -> None:
    hosts = HostSources(recovery_actions={"gpu1": {"0000:3b:00": "Reset"}})
    health = judge(*build_gpus(GET_GPU_RECOVERY_ACTION=1), offers=offer_gpus(1), hosts=hosts)
    assert list_verdicts(health) == ["watch"]


def test_the_recovery_action_is_read_from_the_answers() -> None:
    reset, hanging = (read_case(GPU_SMI.id, name) for name in ("recovery-reset", "hangs"))
    sources = read_host_sources(build_snapshot({(GPU_SMI.id, "k1"): reset, (GPU_SMI.id, "k2"): hanging}))
    assert sources.recovery_actions == {"k1": {"0000:00:06": "None", "0000:00:07": "Reset"}}
    assert sources.doubts == ("nvidia-smi gave no answer on k2: it hangs, and cannot be killed.",)
