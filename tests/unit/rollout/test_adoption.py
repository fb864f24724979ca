"""Check that `install --adopt` offers to take over things that are there, are declared, and have no record."""

import subprocess
from pathlib import Path

import pytest

from gpustack.ask.probe import Answer, Lines
from gpustack.probes.host.unrecorded_paths import UNRECORDED_PATHS
from gpustack.rollout.adoption import build_adoption_variables, describe_adoptable, list_adoptable
from tests.unit.ownership.owned_root import RECORD, OwnedRoot
from tests.worlds.programs.own_root import make_machine
from tests.worlds.snapshots.reset_hosts import PLANE, WORKER, build_snapshot

OWN_FILE = "/etc/modules-load.d/gpustack.conf"
KUBELET, ETCD = "/etc/kubernetes/kubelet.conf", "/var/lib/etcd/member"
CONFIG = "/etc/kubernetes/gpustack-kubeadm.yaml"


def find_adoptable(name: str, world: dict[str, str], *paths: str) -> tuple[str, ...]:
    answers = {name: world | {"owned.unrecorded": "".join(f"{path}\n" for path in paths)}}
    return list_adoptable(build_snapshot(answers, more_probes=(UNRECORDED_PATHS,))).get(name, ())


def test_files_and_the_data_of_our_cluster_are_offered() -> None:
    assert find_adoptable("k2", WORKER, OWN_FILE, KUBELET) == (OWN_FILE, KUBELET)
    assert find_adoptable("k1", PLANE, CONFIG, KUBELET, ETCD) == (CONFIG, KUBELET, ETCD)


@pytest.mark.parametrize(
    ("name", "world", "paths", "expected"),
    [
        ("k2", WORKER | {"leftovers.kubernetes": "https://old:6443\n"}, (OWN_FILE, KUBELET), (OWN_FILE,)),
        ("k2", WORKER, (OWN_FILE, KUBELET, ETCD), (OWN_FILE, KUBELET)),
        ("k2", WORKER, (OWN_FILE, ETCD), (OWN_FILE,)),
        ("k1", PLANE, (OWN_FILE, KUBELET, ETCD), (OWN_FILE,)),
        ("k2", {}, (ETCD,), ()),
    ],
    ids=["another cluster", "an etcd beside a worker", "recorded before", "a plane of others", "an etcd alone"],
)
def test_data_of_others_is_not_offered(
    name: str, world: dict[str, str], paths: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert find_adoptable(name, world, *paths) == expected


def test_a_host_that_lies_names_no_other_path() -> None:
    assert find_adoptable("k2", WORKER, OWN_FILE, "/etc/shadow") == ()


def test_the_list_is_shown_and_given_to_the_plays() -> None:
    files_by_host = {"k1": (OWN_FILE,)}
    assert f"  k1\n    {OWN_FILE}\n" in describe_adoptable(files_by_host)
    assert build_adoption_variables(files_by_host) == {"k1": {"gpustack_adopt": [OWN_FILE]}}
    assert "nothing" in describe_adoptable({})


def test_the_question_lists_what_has_no_record(tmp_path: Path) -> None:
    root = OwnedRoot(tmp_path)
    for path in (OWN_FILE, "/etc/sysctl.d/90-gpustack.conf"):
        root.write(path, "x")
    root.write("/etc/containerd/certs.d/quay.io/hosts.toml", "# Written by gpustack; a change here is undone\n")
    root.write("/etc/containerd/certs.d/docker.io/hosts.toml", "of a person\n")
    root.record("begin", {"file": ["/etc/sysctl.d/90-gpustack.conf"]})
    assert isinstance(UNRECORDED_PATHS.question, Lines)
    script = UNRECORDED_PATHS.question.script.replace(f"/{RECORD}", f"{tmp_path}/{RECORD}")
    script = script.replace('[ ! -e "$1" ]', f'[ ! -e "{tmp_path}$1" ]').replace(
        'head -n 1 "$', f'head -n 1 "{tmp_path}$'
    )
    process = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert process.stdout.split() == [OWN_FILE, "/etc/containerd/certs.d/quay.io/hosts.toml"], process.stderr


def test_the_question_finds_files_by_pattern_and_is_not_misled_by_names_of_others(tmp_path: Path) -> None:
    machine = make_machine(tmp_path)
    charts = machine.root / "var/lib/gpustack-cluster/charts"
    charts.mkdir(parents=True)
    for name in ("keda-2.20.2.tgz", "keda-a b.tgz", "keda-a\nb.tgz", "keda-..tgz", "notes.txt"):
        (charts / name).touch()
    assert isinstance(UNRECORDED_PATHS.question, Lines)
    process = machine.run(UNRECORDED_PATHS.question.script)
    assert process.returncode == 0, process.stderr
    paths = UNRECORDED_PATHS.extract_fact(Answer(UNRECORDED_PATHS.id, "k1", 0, process.stdout))
    assert paths == ("/var/lib/gpustack-cluster/charts/keda-2.20.2.tgz",)
