"""Objects of the cluster: what a fix wrote goes back; what other teams deploy, edit and delete meanwhile stays."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack.command import Command
from gpustack.errors import RolloutError
from gpustack.remedy.copies import Copies
from gpustack.remedy.objects import build_api_path, compare_objects
from gpustack.remedy.scope import Scope, Target
from gpustack.remedy.undo import Rollback, find_last_fix, roll_back
from tests.unit.remedy.scratch_host import ScratchHost

FAULT = "mon-grafana-dashboard-not-loaded"
OWN_LABELS = {"app.kubernetes.io/managed-by": "gpustack"}
BEFORE, PLAY, LATER = "2026-11-28T05:00:00Z", "2026-11-28T05:10:00Z", "2026-11-28T05:10:05Z"
NAMES = ("monitoring/changed", "monitoring/created", "monitoring/same")
SCOPE = Scope((), tuple(Target("v1", "ConfigMap", *name.split("/")) for name in NAMES))


def play(host: ScratchHost) -> None:
    """Write two of the objects as a step does."""
    host.apply("monitoring/changed", {"a": "2"}, "gpustack", PLAY)
    host.apply("monitoring/created", {"a": "2"}, "gpustack", PLAY, OWN_LABELS)


@pytest.fixture
def cluster(host: ScratchHost) -> ScratchHost:
    """Return a cluster with an object that somebody patched, which is the fault, a right one, and those of a team."""
    host.apply("monitoring/changed", {"a": "1"}, "gpustack", BEFORE, OWN_LABELS)
    host.apply("monitoring/changed", {"a": "patched"}, "kubectl-patch", BEFORE)
    host.apply("monitoring/same", {"a": "1"}, "gpustack", BEFORE, OWN_LABELS)
    host.apply("team-a/web", {"image": "web:1"}, "kubectl", BEFORE)
    host.apply("team-a/old", {"image": "old:1"}, "kubectl", BEFORE)
    return host


def make_fix(copies: Copies, host: ScratchHost, *changes: Callable[[], object]) -> None:
    copies.begin("1", FAULT, {"h1": SCOPE})
    play(host)
    for act in changes:
        act()
    copies.finish("1", ["h1"])


def take_back(copies: Copies) -> Rollback:
    return roll_back(copies, find_last_fix(copies, ["h1"]), lambda _: None)


def test_objects_are_put_back_and_what_was_made_goes(cluster: ScratchHost, copies: Copies) -> None:
    before = cluster.read_objects()
    make_fix(copies, cluster)
    rollback = take_back(copies)
    assert cluster.read_objects() == before
    assert rollback.actions == (
        "h1: restored ConfigMap monitoring/changed", "h1: removed ConfigMap monitoring/created",
    )  # fmt: skip


def test_objects_are_read_by_name_only(cluster: ScratchHost, copies: Copies) -> None:
    make_fix(copies, cluster)
    take_back(copies)
    reads = [call for call in cluster.calls if call.startswith("kubectl get")]
    assert len(reads) == 3
    assert all("--all-namespaces" not in call and " -f " in call for call in reads)
    assert "team-a" not in cluster.script


def test_a_team_that_deploys_edits_and_deletes_during_the_fix(cluster: ScratchHost, copies: Copies) -> None:
    def change_objects() -> None:
        cluster.apply("team-a/web", {"image": "web:2"}, "kubectl", LATER)
        cluster.apply("team-b/training", {"image": "training:1"}, "argocd", LATER)
        cluster.delete("team-a/old")

    make_fix(copies, cluster, change_objects)
    cluster.apply("team-a/web", {"image": "web:3"}, "kubectl", LATER)
    foreign_objects = {name: text for name, text in cluster.read_objects().items() if "team-" in name}
    take_back(copies)
    assert {name: text for name, text in cluster.read_objects().items() if "team-" in name} == foreign_objects
    assert foreign_objects["ConfigMap team-a/web"] == {"image": "web:3"}


@pytest.mark.parametrize("moment", ["during", "after"])
@pytest.mark.parametrize("name", NAMES)
def test_a_person_s_edit_of_an_object_of_the_fix_stays(
    cluster: ScratchHost, copies: Copies, name: str, moment: str
) -> None:
    def edit() -> None:
        cluster.apply(name, {"a": "2", "mine": "yes"}, "kubectl-edit", LATER)

    make_fix(copies, cluster, *([edit] if moment == "during" else []))
    if moment == "after":
        edit()
    rollback = take_back(copies)
    assert cluster.read_objects()[f"ConfigMap {name}"] == {"a": "2", "mine": "yes"}
    if (name, moment) != ("monitoring/same", "after"):
        (remainder,) = rollback.remainders
        assert remainder.comparison == Command(
            "kubectl", "-n", "monitoring", "get", "ConfigMap", name.partition("/")[2], "-o", "yaml",
            "--show-managed-fields",
        )  # fmt: skip


MANIFEST = """---
# Source: chart/templates/config.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: changed
data: {a: "1"}
---
# Source: chart/templates/secret.yaml
apiVersion: v1
kind: Secret
metadata:
  name: password
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: others.example.org
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: elsewhere
  namespace: kube-system
"""


def test_objects_of_a_release_are_those_that_its_manifest_names(cluster: ScratchHost, copies: Copies) -> None:
    """An object without a namespace is in that of the release. No Secret is ever copied."""
    cluster.give_tool("helm", f"#!/bin/sh\ncat <<'EOF'\n{MANIFEST}EOF\n")
    cluster.apply("kube-system/elsewhere", {"a": "1"}, "helm", BEFORE)
    copies.begin("1", FAULT, {"h1": Scope(release=("monitoring", "kps"))})
    play(cluster)
    cluster.apply("kube-system/elsewhere", {"a": "2"}, "helm", PLAY)
    copies.finish("1", ["h1"])
    names = (cluster.folder / "fixes/1/manifest").read_text()
    assert "password" not in names
    assert "others.example.org" not in names
    rollback = take_back(copies)
    assert cluster.read_objects()["ConfigMap monitoring/changed"] == {"a": "patched"}
    assert cluster.read_objects()["ConfigMap kube-system/elsewhere"] == {"a": "1"}
    assert "ConfigMap monitoring/created" in cluster.read_objects(), "the release did not have it before"
    assert len(rollback.actions) == 2


def test_a_release_that_is_not_there_has_no_objects(cluster: ScratchHost, copies: Copies) -> None:
    cluster.give_tool("helm", "#!/bin/sh\necho 'Error: release: not found' >&2\nexit 1\n")
    copies.begin("1", FAULT, {"h1": Scope(release=("monitoring", "kps"))})
    cluster.give_tool("helm", "#!/bin/sh\necho 'Error: no API' >&2\nexit 1\n")
    with pytest.raises(RolloutError, match="could not be used"):
        copies.begin("2", FAULT, {"h1": Scope(release=("monitoring", "kps"))})


def test_what_was_deleted_is_not_created_again(cluster: ScratchHost, copies: Copies) -> None:
    make_fix(copies, cluster, lambda: cluster.delete("monitoring/same"))
    cluster.delete("monitoring/created")
    rollback = take_back(copies)
    assert set(cluster.read_objects()) & {"ConfigMap monitoring/same", "ConfigMap monitoring/created"} == set()
    assert [line.text for line in rollback.remainders] == [
        "h1: ConfigMap monitoring/same stays: it was deleted meanwhile (the fix left absent; it is absent)"
    ]


def test_an_object_without_a_mark_is_never_removed(cluster: ScratchHost, copies: Copies) -> None:
    """The object has a name that the step declares; another client of the same manager made it."""
    copies.begin("1", FAULT, {"h1": SCOPE})
    cluster.apply("monitoring/created", {"a": "theirs"}, "helm", PLAY, {"app.kubernetes.io/managed-by": "Helm"})
    copies.finish("1", ["h1"])
    with pytest.raises(RolloutError) as excinfo:
        take_back(copies)
    assert excinfo.value.reference == "undo-changed-since"
    assert cluster.read_objects()["ConfigMap monitoring/created"] == {"a": "theirs"}


def test_a_killed_fix_leaves_the_objects_of_a_week(cluster: ScratchHost, copies: Copies) -> None:
    copies.begin("1", FAULT, {"h1": SCOPE})
    play(cluster)
    cluster.apply("team-b/training", {"image": "training:1"}, "argocd", LATER)
    cluster.apply("team-b/settings", {"a": "1"}, "kubectl", LATER)
    current_objects = cluster.read_objects()
    with pytest.raises(RolloutError) as excinfo:
        take_back(copies)
    assert "interrupted" in excinfo.value.reason
    assert cluster.read_objects() == current_objects


def test_a_write_between_the_question_and_the_restore_is_refused_by_the_api(
    cluster: ScratchHost, copies: Copies
) -> None:
    make_fix(copies, cluster)
    last_fix = find_last_fix(copies, ["h1"])
    for name in NAMES[:2]:
        cluster.apply(name, {"a": "mine"}, "kubectl", LATER)
    rollback = roll_back(copies, last_fix, lambda _: None)
    assert {cluster.read_objects()[f"ConfigMap {name}"]["a"] for name in NAMES[:2]} == {"mine"}
    assert rollback.actions == ()
    assert [str(remainder) for remainder in rollback.remainders] == [
        f"h1: ConfigMap {name} stays: it was changed at this moment" for name in NAMES[:2]
    ]


def test_a_status_is_no_change_and_an_owned_object_is_not_ours_to_restore(tmp_path: Path) -> None:
    metadata = {"name": "d", "namespace": "n", "resourceVersion": "1", "uid": "u"}
    before = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": 1}}
    after = {**before, "metadata": {**metadata, "resourceVersion": "2"}, "status": {"readyReplicas": 1}}
    owned_object = {**before, "metadata": {**metadata, "name": "o", "ownerReferences": [{"name": "x"}]}}
    texts = [
        json.dumps({"kind": "List", "items": items})
        for items in ([before], [after, owned_object], [after, owned_object])
    ]
    assert compare_objects("h1", texts, finished=True) == ()
    assert compare_objects("h1", ["", json.dumps(after), json.dumps(after)], finished=True) != ()


@pytest.mark.parametrize(
    ("api", "kind", "namespace", "path"),
    [
        ("v1", "ConfigMap", "n", "/api/v1/namespaces/n/configmaps/x"),
        ("nvidia.com/v1", "ClusterPolicy", "", "/apis/nvidia.com/v1/clusterpolicies/x"),
        ("monitoring.coreos.com/v1", "Prometheus", "m", "/apis/monitoring.coreos.com/v1/namespaces/m/prometheuses/x"),
        ("storage.k8s.io/v1", "StorageClass", "", "/apis/storage.k8s.io/v1/storageclasses/x"),
    ],
)
def test_an_object_is_found_in_the_api(api: str, kind: str, namespace: str, path: str) -> None:
    metadata = {"name": "x", **({"namespace": namespace} if namespace else {})}
    assert build_api_path({"apiVersion": api, "kind": kind, "metadata": metadata}) == path
