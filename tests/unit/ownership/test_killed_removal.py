"""A reset that was killed while it removed the data of a cluster, and what others do with the host since."""

import json
from pathlib import Path

import pytest

from tests.unit.ownership.owned_root import OwnedRoot
from tests.unit.ownership.test_agreed_removal import CERTIFICATE, drop, judge

ETCD, CA, MANIFEST = "/var/lib/etcd/member", "/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/manifests/etcd.yaml"
DATA = {"data": [ETCD, CA, MANIFEST]}


@pytest.fixture
def root(tmp_path: Path) -> OwnedRoot:
    """A host with a cluster of ours, whose reset was killed when everything was marked and the CA is gone."""
    root = OwnedRoot(tmp_path)
    root.record("begin", DATA)
    for path, text in {f"{ETCD}/snap/db": "ours", CA: CERTIFICATE, MANIFEST: "ours"}.items():
        root.write(path, text)
    root.record("finish", DATA)
    ownership = judge(root, *DATA["data"])
    assert {agreement.path for agreement in ownership.agreements} == {*DATA["data"]}
    assert drop(root, ownership).returncode == 0, "nothing is removed yet, but all of it is marked"
    (root.path / CA[1:]).unlink()
    return root


def replace_etcd(root: OwnedRoot) -> None:
    """Remove the rest by hand and put another etcd there, without a CA of Kubernetes."""
    (root.path / ETCD[1:]).rename(root.path / "var/lib/etcd/old")
    (root.path / MANIFEST[1:]).unlink()
    root.write(f"{ETCD}/snap/db", "of Patroni")


def test_the_rest_of_our_data_goes(root: OwnedRoot) -> None:
    ownership = judge(root, *DATA["data"])
    assert {agreement.path for agreement in ownership.agreements} == {ETCD, MANIFEST}
    drop(root, ownership, ETCD, MANIFEST)
    assert root.read(f"{ETCD}/snap/db") is None


def test_data_that_others_put_there_since_is_foreign(root: OwnedRoot) -> None:
    replace_etcd(root)
    ownership = judge(root, *DATA["data"])
    assert (ownership.agreements, ownership.foreign_data) == ((), (ETCD,))


def test_a_later_installation_forgets_that_data_was_being_removed(root: OwnedRoot) -> None:
    (root.path / ETCD[1:]).rename(root.path / "var/lib/etcd/old")
    (root.path / MANIFEST[1:]).unlink()
    root.record("begin", DATA)
    assert not [record for record in root.read_records().values() if "removing" in record], json.dumps(
        root.read_records()
    )
