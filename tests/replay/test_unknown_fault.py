"""The doctor leaves the symptoms of a fault that it does not know unexplained, whatever harmless fact is true beside
it. A recording of a fault is judged by a catalogue without that fault, its guard and its edges; and host2 has what the
doctor calls a fault and what harms nothing there. A refuted fault passes no blame on."""

from collections.abc import Collection
from pathlib import Path

import pytest

from gpustack.ask.recording import read_recording
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose
from tests.snapshots.fixture import restore_recording
from tests.snapshots.unknown_faults import HARMLESS_FACTS, add_harmless_fact, forget_fault

FOLDER = Path(__file__).parents[1] / "snapshots"
UNKNOWN = (
    "containerd-not-running", "host-port-in-use", "kubelet-client-cert-expired--fixed", "kubelet-unknown-flag",
    "cni-plugin-binaries-missing", "containerd-cni-status-stale", "control-plane-settings-refused--flag",
    "etcd-nospace", "flannel-cidr-mismatch--another", "flannel-wrong-interface", "forward-policy-drop",
    "gpu-driver-not-loaded", "gpu-fell-off-bus", "gpu-host-driver-conflict--helm",
)  # fmt: skip


def diagnose_snapshot(snapshot: Snapshot) -> tuple[set[tuple[str, str]], Collection[str]]:
    """Diagnose a snapshot, and return the unexplained states with their places, and the roots."""
    verdict = diagnose(snapshot).verdict
    places = {judgement.place for symptom in verdict.unexplained_symptoms for judgement in symptom.judgements}
    return places, {root.id for root in verdict.roots}


@pytest.mark.parametrize("name", UNKNOWN)
def test_no_harmless_fact_hides_an_unknown_fault(name: str, tmp_path: Path) -> None:
    (tmp_path / "recording").write_text(restore_recording(FOLDER / f"{name}.jsonl"))
    recording = read_recording(tmp_path / "recording")
    with forget_fault(name.partition("--")[0]):
        states, roots = diagnose_snapshot(recording)
        assert states
        assert not set(HARMLESS_FACTS) & set(roots)
        for fault in HARMLESS_FACTS:
            recording = add_harmless_fact(recording, fault)
        states_beside, roots = diagnose_snapshot(recording)
    assert set(HARMLESS_FACTS) <= set(roots)
    assert states <= states_beside
