"""Root's kubeconfig is gpustack's where it equals the administrator's, and a person's otherwise."""

from pathlib import Path

import pytest

from tests.unit.ownership.owned_root import OwnedRoot

KUBECONFIG, ADMIN = "/root/.kube/config", "/etc/kubernetes/admin.conf"
CREDENTIALS = {"file": [KUBECONFIG]}


@pytest.fixture
def root(tmp_path: Path) -> OwnedRoot:
    return OwnedRoot(tmp_path)


def test_a_kubeconfig_that_somebody_gives_root_meanwhile_is_not_ours(root: OwnedRoot) -> None:
    root.write(ADMIN, "of the administrator\n")
    root.record("begin", CREDENTIALS)
    root.write(KUBECONFIG, "of another cluster\n")
    root.record("finish", CREDENTIALS)
    assert root.read_records() == {}


def test_a_kubeconfig_that_somebody_edits_meanwhile_is_theirs(root: OwnedRoot) -> None:
    root.write(ADMIN, "of the administrator\n")
    root.record("begin", CREDENTIALS)
    root.write(KUBECONFIG, "of the administrator\n")
    root.record("finish", CREDENTIALS)
    root.write(ADMIN, "of the administrator, renewed\n")
    root.record("begin", CREDENTIALS)
    root.record("finish", CREDENTIALS)
    assert root.read_records()[KUBECONFIG]["after"].startswith("file "), "nobody has touched it"
    root.record("begin", CREDENTIALS)
    root.write(KUBECONFIG, "of the administrator, with my context\n")
    root.record("finish", CREDENTIALS)
    assert root.read_records()[KUBECONFIG]["after"] == "edited"


@pytest.mark.parametrize(("text", "adopted"), [("of another cluster\n", False), ("of the administrator\n", True)])
def test_root_s_kubeconfig_is_adopted_only_where_it_is_the_administrator_s(
    root: OwnedRoot, text: str, adopted: bool
) -> None:
    root.write(ADMIN, "of the administrator\n")
    root.write(KUBECONFIG, text)
    root.record("begin", CREDENTIALS)
    root.record("finish", CREDENTIALS, adopt=[KUBECONFIG])
    assert (KUBECONFIG in root.read_records()) is adopted
