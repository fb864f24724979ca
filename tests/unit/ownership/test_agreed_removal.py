"""A reset from the record to the removal: read by the question, judged, agreed on, and compared again on the host."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpustack.ask.probe import Answer
from gpustack.config.resources import locate_playbooks
from gpustack.probes.host.ownership import parse_ownership
from gpustack.rollout.host_ownership import HostOwnership, judge_things
from tests.unit.ownership.owned_root import PROGRAM, OwnedRoot

SCRIPT = (locate_playbooks() / "files" / "remove-agreed.sh").read_text()
# As the script's own, below the root of the test.
REMOVE = 'remove() { for one; do rm -rf "$OWNERSHIP_ROOT$one"; echo "changed: removed $one"; done; }\n'
RMDIR = 'remove_empty() { rmdir "$OWNERSHIP_ROOT$1"; echo "changed: removed $1"; }\n'
OWN_FILE, FSTAB = "/etc/modules-load.d/gpustack.conf", "/etc/fstab"
DECLARED_PATHS = {"file": [OWN_FILE], "lines": [FSTAB]}
SWAP = "/swapfile none swap sw 0 0\n"
# openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj /CN=kubernetes (3.x)
CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBgTCCASegAwIBAgIUeJjSE+P8dgmyqe8BTJXPWXGbKhUwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKa3ViZXJuZXRlczAgFw0yNjExMjgwNjI2NDhaGA8yMTI2MTEw
NDA2MjY0OFowFTETMBEGA1UEAwwKa3ViZXJuZXRlczBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABAsW5Yxz1xvemNn8xIJAUCW14BocD2FIj9hGoD+w8aGooND/UZ2A
IfogY86FMDmy3eJ1cLHIVcAYLXIHjPzzrimjUzBRMB0GA1UdDgQWBBSJY2YhBp11
+ir4SBjDQdvz0DnVZTAfBgNVHSMEGDAWgBSJY2YhBp11+ir4SBjDQdvz0DnVZTAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIBCbwLnwN9KDKjpEmcoN
3PmDPniJn/TkRZySNZ7qpzIZAiEA8TE0Q4YGQj6P/uI7LXSkz4cWqsLq06MjENHk
U5ELcR4=
-----END CERTIFICATE-----
"""
EDITS = [{"paths": [FSTAB], "edits": [{"regexp": r"^([^#\s]\S*\s+\S+\s+swap\s.*)$", "replace": r"# \1"}]}]


@pytest.fixture
def root(tmp_path: Path) -> OwnedRoot:
    return OwnedRoot(tmp_path)


def judge(root: OwnedRoot, *data: str, foreign: bool = False) -> HostOwnership:
    process = root.run("read", *data)
    ownership = parse_ownership(Answer("owned.records", "h1", process.returncode, process.stdout, process.stderr))
    assert ownership.error == ""
    return judge_things(ownership, foreign=foreign, storage=True)


def drop(root: OwnedRoot, ownership: HostOwnership, *paths: str) -> subprocess.CompletedProcess[str]:
    """Run the functions that resets use, with what was agreed on."""
    agreed_changes = {
        agreement.path: {"action": agreement.action, "kind": agreement.kind, "state": agreement.state}
        for agreement in ownership.agreements
    }
    words = {"AGREED": json.dumps(agreed_changes), "OWNERSHIP": PROGRAM, "OWNERSHIP_ROOT": str(root.path)}
    return subprocess.run(
        ["sh", "-c", f"set -eu\n{SCRIPT}\n{REMOVE}{RMDIR}drop {' '.join(paths)}\n"],
        env=words | {"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def install(root: OwnedRoot) -> None:
    root.record("begin", DECLARED_PATHS, edits=EDITS)
    root.write(OWN_FILE, "overlay\n")
    if text := root.read(FSTAB):
        root.write(FSTAB, text.replace(SWAP, f"# {SWAP}"))
    root.record("finish", DECLARED_PATHS, edits=EDITS)


def test_what_gpustack_wrote_goes_and_what_it_changed_is_restored(root: OwnedRoot) -> None:
    root.write(FSTAB, SWAP)
    install(root)
    process = drop(root, judge(root), OWN_FILE, FSTAB)
    assert process.stdout == f"changed: removed {OWN_FILE}\nchanged: restored {FSTAB}\n", process.stderr
    assert (root.read(OWN_FILE), root.read(FSTAB)) == (None, SWAP)
    assert root.run("clear").returncode == 0
    assert not (root.path / "var/lib/gpustack-cluster").exists(), "nothing is left of the record"


def test_the_site_s_own_backups_and_choices_stay(root: OwnedRoot) -> None:
    """A swap line that the operator commented out long ago, and a copy of the site's own playbook."""
    root.write(FSTAB, f"# {SWAP}")
    root.write(f"{FSTAB}.1234.2024-03-01@10:00:00~", SWAP)
    install(root)
    before = {name: value for name, value in root.read_tree().items() if "modules-load" not in name}
    drop(root, judge(root), OWN_FILE, FSTAB)
    assert root.read_tree() == before


@pytest.mark.parametrize("path", [OWN_FILE, FSTAB])
def test_without_a_record_nothing_goes(root: OwnedRoot, path: str) -> None:
    root.write(path, SWAP)
    ownership = judge(root)
    assert ownership.agreements == ()
    assert drop(root, ownership, path).stdout == ""
    assert root.read(path) == SWAP


def test_what_changes_after_it_was_shown_stays(root: OwnedRoot) -> None:
    install(root)
    ownership = judge(root)
    root.write(OWN_FILE, "overlay\n# mine\n")
    process = drop(root, ownership, OWN_FILE)
    assert process.stdout == ""
    assert "was changed since it was shown" in process.stderr
    assert root.read(OWN_FILE) == "overlay\n# mine\n"


def test_what_changed_is_explained_with_both_digests_and_a_command(root: OwnedRoot) -> None:
    root.write(FSTAB, SWAP)
    install(root)
    root.write(FSTAB, f"# {SWAP}server:/data /data nfs defaults 0 0\n")
    ((path, reason),) = judge(root).kept_resources
    assert path == FSTAB
    assert "left as" in reason
    assert "diff /var/lib/gpustack-cluster/before/" in reason


def test_no_digest_of_a_secret_file_leaves_the_host(root: OwnedRoot) -> None:
    declared_paths = {"file": ["/etc/gpustack-cluster/proxy.env"]}
    root.record("begin", declared_paths)
    root.write("/etc/gpustack-cluster/proxy.env", "HTTP_PROXY=http://user:pw@proxy\n", 0o600)
    root.record("finish", declared_paths)
    process = root.run("read")
    (digest,) = {word for record in root.read_records().values() for word in record["after"].split() if len(word) == 64}
    assert digest not in process.stdout
    assert drop(root, judge(root), "/etc/gpustack-cluster/proxy.env").stdout.startswith("changed: removed")


DATA = (
    "/var/lib/etcd/member", "/var/lib/kubelet", "/etc/kubernetes/manifests/etcd.yaml", "/etc/kubernetes/pki/ca.key",
    "/etc/kubernetes/kubelet.conf", "/etc/cni/net.d/10-flannel.conflist", "/var/log/pods",
)  # fmt: skip


@pytest.mark.parametrize("path", DATA)
def test_data_of_a_cluster_without_a_record_is_foreign(root: OwnedRoot, path: str) -> None:
    root.write(f"{path}/x" if "." not in path.rpartition("/")[2] else path, "of somebody else")
    ownership = judge(root, *DATA)
    assert (ownership.agreements, ownership.foreign_data, ownership.cluster) == ((), (path,), False)
    before = root.read_tree()
    drop(root, ownership, *DATA)
    assert root.read_tree() == before
    drop(root, judge(root, *DATA, foreign=True), *DATA)
    assert root.read_tree().keys() == {"etc/machine-id"}


FLANNEL = "/var/lib/cni/flannel"


@pytest.mark.parametrize("moment", ["before it is shown", "after it is shown"])
def test_a_folder_of_a_cluster_that_programs_emptied_goes(root: OwnedRoot, moment: str) -> None:
    """Flannel's plugin removes its files as pods end, and leaves the folder."""
    root.record("begin", {"data": [FLANNEL]})
    root.write("/etc/kubernetes/pki/ca.crt", CERTIFICATE)
    file = root.write(f"{FLANNEL}/5f0c", "{}")
    root.record("finish", {"data": [FLANNEL]})
    shown_judgement = judge(root) if moment == "after it is shown" else None
    file.unlink()
    assert drop(root, shown_judgement or judge(root), FLANNEL).stdout == f"changed: removed {FLANNEL}\n"
    assert root.run("clear").returncode == 0
    assert FLANNEL not in root.read_records()


@pytest.mark.parametrize("record", ["none", "it was there before"])
def test_an_empty_folder_of_others_stays(root: OwnedRoot, record: str) -> None:
    (root.path / FLANNEL[1:]).mkdir(parents=True)
    if record != "none":
        file = root.write(f"{FLANNEL}/of-others", "{}")
        root.record("begin", {"data": [FLANNEL]})
        file.unlink()
    assert judge(root, FLANNEL).agreements == ()
    assert drop(root, judge(root, FLANNEL), FLANNEL).stdout == ""
    assert (root.path / FLANNEL[1:]).is_dir()


class Neighbour:
    """Choose the events of one file: before the step, in the step, after it."""

    before = st.sampled_from([None, SWAP, "overlay\n", f"{SWAP}x\n"])
    kill_moment = st.sampled_from(["no", "begun", "written"])
    later = st.sampled_from(["nothing", "edited", "gone", "replaced"])
    has_second_run = st.booleans()


@pytest.mark.long
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    Neighbour.before,
    Neighbour.kill_moment,
    Neighbour.later,
    Neighbour.has_second_run,
    st.sampled_from([OWN_FILE, FSTAB]),
)
def test_bytes_of_others_survive_whatever_happens(
    tmp_path_factory: pytest.TempPathFactory, before: str | None, kill_moment: str, later: str, twice: bool, path: str
) -> None:
    root = OwnedRoot(tmp_path_factory.mktemp("root"))
    if before is not None:
        root.write(path, before)
    if kill_moment == "no":
        install(root)
    else:
        root.record("begin", DECLARED_PATHS, edits=EDITS)
        if kill_moment == "written":
            root.write(OWN_FILE, "overlay\n")
    written_content = root.read(path)
    if later == "edited" and written_content is not None:
        root.write(path, f"{written_content}# somebody's\n")
    elif later == "gone":
        (root.path / path[1:]).unlink(missing_ok=True)
    elif later == "replaced":
        root.write(path, "somebody's\n")
    if twice:
        root.record("begin", DECLARED_PATHS, edits=EDITS)
        root.record("finish", DECLARED_PATHS, edits=EDITS)
    present = root.read(path)
    drop(root, judge(root), OWN_FILE, FSTAB)
    result = root.read(path)
    if present is not None and "somebody's" in present:
        assert result == present, "what somebody wrote since is never touched"
    elif later == "nothing" and kill_moment == "no":
        assert result == before, "what nobody touched is as it was before the step"
    else:
        assert result in {present, before}


def test_results_of_the_network_plugins_go_by_their_pattern(root: OwnedRoot) -> None:
    declared_paths = {"data": ["/var/lib/cni/results/cbr0-*", "/var/lib/kubelet"]}
    root.record("begin", declared_paths)
    root.write("/etc/kubernetes/pki/ca.crt", CERTIFICATE)
    for name in ("cbr0-1", "cbr0-2", "person-1"):
        root.write(f"/var/lib/cni/results/{name}", "{}")
    root.record("finish", declared_paths)
    ownership = judge(root)
    assert ownership.cluster
    assert [agreement.path for agreement in ownership.agreements] == ["/var/lib/cni/results/cbr0-*"]


@pytest.mark.parametrize("place", ["a link to a larger disk", "a disk of its own"])
def test_the_kubelet_s_folder_is_empty_before_it_is_used(root: OwnedRoot, place: str) -> None:
    kubelet, declared_paths = "/var/lib/kubelet", {"data": ["/var/lib/kubelet"]}
    disk = root.path / ("srv/kubelet" if "link" in place else kubelet[1:])
    (disk / "lost+found").mkdir(parents=True)
    if "link" in place:
        (root.path / "var/lib").mkdir(parents=True)
        (root.path / kubelet[1:]).symlink_to(disk)
    root.record("begin", declared_paths)
    root.write("/etc/kubernetes/pki/ca.crt", CERTIFICATE)
    root.write(f"{kubelet}/config.yaml", "x")
    root.write(f"{kubelet}/..data", "x")
    root.record("finish", declared_paths)
    ownership = judge(root, kubelet)
    assert [agreement.path for agreement in ownership.agreements] == [kubelet]
    words = {"AGREED": "none", "PATH": os.environ["PATH"]}
    script = f"set -eu\n{SCRIPT}\nis_agreed() {{ :; }}\nrefuse_mounts() {{ :; }}\ndrop_inside {root.path}{kubelet}"
    subprocess.run(["sh", "-c", script], env=words, check=True, timeout=60)
    assert [path.name for path in disk.iterdir()] == ["lost+found"]
    assert judge(root, kubelet).agreements == ()


def test_a_folder_of_the_kubelet_that_others_have_used_is_theirs(root: OwnedRoot) -> None:
    root.write("/srv/kubelet/pods/x", "of others")
    (root.path / "var/lib").mkdir(parents=True)
    (root.path / "var/lib/kubelet").symlink_to(root.path / "srv/kubelet")
    root.record("begin", {"data": ["/var/lib/kubelet"]})
    assert root.read_records()["/var/lib/kubelet"]["before"] == "present"
