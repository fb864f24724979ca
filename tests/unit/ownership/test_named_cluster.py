"""Data is recorded as of a cluster before its first byte: what is there by then is of somebody else."""

from pathlib import Path

import pytest

from tests.unit.ownership.owned_root import OwnedRoot
from tests.unit.ownership.test_agreed_removal import CERTIFICATE, judge

ETCD, CA, KEY = "/var/lib/etcd/member", "/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/pki/ca.key"
DATA = {"data": [ETCD, CA, KEY]}


@pytest.fixture
def root(tmp_path: Path) -> OwnedRoot:
    """A host on which a step began, and was killed before it wrote anything."""
    root = OwnedRoot(tmp_path)
    root.record("begin", DATA)
    return root


def make_cluster(root: OwnedRoot) -> None:
    """Run the step of the control plane until kubeadm refuses."""
    root.record("begin", DATA)
    root.write(CA, CERTIFICATE)
    root.write(KEY, "key")
    assert root.run("cluster", "-", stdin_document={"declared": DATA}).returncode == 0


def test_data_that_others_put_there_between_two_attempts_is_theirs(root: OwnedRoot) -> None:
    root.write(f"{ETCD}/snap/db", "of Patroni")
    make_cluster(root)
    ownership = judge(root, *DATA["data"])
    assert {agreement.path for agreement in ownership.agreements} == {CA, KEY}
    assert ownership.foreign_data == (ETCD,)


def test_data_that_comes_after_the_cluster_has_its_name_is_ours(root: OwnedRoot) -> None:
    make_cluster(root)
    root.write(f"{ETCD}/snap/db", "ours")
    make_cluster(root)
    ownership = judge(root, *DATA["data"])
    assert {agreement.path for agreement in ownership.agreements} == {*DATA["data"]}


def test_an_attempt_that_was_killed_after_the_ca_goes_on(root: OwnedRoot) -> None:
    root.write(CA, CERTIFICATE)
    root.write(KEY, "key")
    make_cluster(root)
    root.write(f"{ETCD}/snap/db", "ours")
    assert {agreement.path for agreement in judge(root, *DATA["data"]).agreements} == {*DATA["data"]}
