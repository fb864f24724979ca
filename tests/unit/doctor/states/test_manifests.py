"""Copies of manifests beside them: the kubelet reads each file of its folder."""

import subprocess
from pathlib import Path

from gpustack.ask.script_file import read_script
from gpustack.doctor.states.manifests import OBSERVERS
from gpustack.doctor.states.state import AbnormalState, observe_all
from gpustack.probes.control_plane import manifest_files
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.hosts import build_snapshot

# The beginning of a manifest of kubeadm.
MANIFEST = """apiVersion: v1
kind: Pod
metadata:
  labels:
    component: etcd
  name: etcd
  namespace: kube-system
spec:
  containers:
  - command:
    - etcd
    name: not-the-pod
"""


def list_states(case: str) -> tuple[AbnormalState, ...]:
    answers = place_answers("h1", read_case("kubeadm.manifest-files", case))
    states, unknown_judgements = observe_all(OBSERVERS, build_snapshot(answers))
    assert unknown_judgements == ()
    return states


def test_a_copy_of_a_manifest_is_a_risk() -> None:
    (state,) = list_states("copy")
    assert (state.severity, state.subjects) == ("risk", ("static pod etcd",))
    assert state.message.startswith("etcd.yaml, etcd.yaml.backup all define it")


def test_one_file_for_each_pod_is_no_state() -> None:
    assert list_states("control-plane") == ()


def test_the_name_of_the_pod_is_read_of_each_file(tmp_path: Path) -> None:
    for name in ("etcd.yaml", "etcd.yaml.bak", ".hidden.yaml"):
        (tmp_path / name).write_text(MANIFEST)
    (tmp_path / "my notes").write_text("text\n")
    script = read_script(manifest_files.__file__, "manifest_files.sh").replace(
        "/etc/kubernetes/manifests", str(tmp_path)
    )
    process = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, check=True)
    assert process.stdout == "etcd etcd.yaml\netcd etcd.yaml.bak\n- my notes\n"
