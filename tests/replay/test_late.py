"""Faults of which somebody asks eight minutes later: the cluster has reacted, and one report still tells cause from
consequence."""

import pytest

from gpustack.ask.recording import read_recording
from gpustack.doctor.diagnose import diagnose
from tests.replay.test_accuracy import FOLDER
from tests.snapshots.fixture import restore_recording

# The failed unit has systemd's words, and the container those of its last run: neither is in the root cause.
BROKEN_STATES = {
    "kubelet-not-running--late": [],
    "containerd-not-running--late": ["unit-failed"],
    "control-plane-manifest-missing--late-api": [],
    "gpu-fell-off-bus--late": ["container-not-running"],
}


@pytest.mark.parametrize("name", BROKEN_STATES)
def test_what_follows_from_a_root_cause_is_not_reported_beside_it(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    recording = tmp_path_factory.mktemp("late") / "recording.jsonl"
    recording.write_text(restore_recording(FOLDER / f"{name}.jsonl"))
    diagnosis = diagnose(read_recording(recording))
    assert [root.certainty for root in diagnosis.verdict.roots] == ["certain"]
    assert [state.kind for state in diagnosis.broken_states] == BROKEN_STATES[name]
