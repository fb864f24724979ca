"""apply.sh: what of a cluster it changes, and what of others it leaves byte for byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpustack.config.resources import locate_playbooks
from tests.worlds.programs.api_objects import APPLIED_ENTRY, OTHER_ENTRY, build_object, install, put, read_calls, run

SCRIPT = "set -eu\n" + "".join((locate_playbooks() / "files" / name).read_text() for name in ("limits.sh", "apply.sh"))
LABEL = {"app.kubernetes.io/managed-by": "gpustack"}
HELM = {"meta.helm.sh/release-name": "gpu-operator", "meta.helm.sh/release-namespace": "space"}
DESIRED_OBJECT = build_object("ConfigMap", "a", labels=LABEL, data={"a": "$HOME `id` {{ b }}"})
KINDS = ("ConfigMap", "Service", "DaemonSet", "ClusterRole", "Namespace", "PrometheusRule")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    install(tmp_path)
    return tmp_path


def stream(*objects: dict[str, Any]) -> str:
    return "\n---\n".join(json.dumps(item) for item in objects)


def test_a_missing_object_is_created_as_it_is_without_force(world: Path) -> None:
    process = run(world, f"{SCRIPT}\napply", stream(DESIRED_OBJECT))
    assert (process.returncode, process.stdout, process.stderr) == (0, "changed: configmap/a serverside-applied\n", "")
    written_object = json.loads((world / "objects" / "configmap.space.a.json").read_text())
    assert written_object["data"] == DESIRED_OBJECT["data"]
    assert [line for line in read_calls(world, "apply") if "--force-conflicts" in line] == []
    assert list((world / "tmp").iterdir()) == []


def test_one_call_is_enough_where_nothing_differs(world: Path) -> None:
    put(world, build_object("ConfigMap", "a", labels=LABEL, data=DESIRED_OBJECT["data"], managers=[APPLIED_ENTRY]))
    assert run(world, f"{SCRIPT}\napply", stream(DESIRED_OBJECT)).stdout == ""
    assert len(read_calls(world)) == 1


@pytest.mark.parametrize(
    "mark",
    [
        {"labels": LABEL, "managers": [OTHER_ENTRY]},
        {"managers": [APPLIED_ENTRY, OTHER_ENTRY]},
        {"annotations": HELM, "managers": [OTHER_ENTRY]},
    ],
    ids=["label", "fields of an earlier release", "Helm release of ours"],
)
def test_what_others_changed_in_an_object_of_ours_is_put_back(world: Path, mark: dict[str, Any]) -> None:
    path = put(world, build_object("ConfigMap", "a", data={"a": "edited", "theirs": "stays"}, **mark))
    process = run(world, f"{SCRIPT}\napply", stream(DESIRED_OBJECT), RELEASE="gpu-operator", NAMESPACE="space")
    assert (process.returncode, process.stdout) == (0, "changed: configmap/a serverside-applied\n")
    assert json.loads(path.read_text())["data"] == {**DESIRED_OBJECT["data"], "theirs": "stays"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "metadata",
    [
        {"managers": [OTHER_ENTRY]},
        {},
        {"labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": HELM, "managers": [OTHER_ENTRY]},
        {"managers": [{**APPLIED_ENTRY, "operation": "Update"}]},
        {"managers": [{**APPLIED_ENTRY, "manager": "gpustack-look"}]},
    ],
    ids=["others", "without managers", "a Helm release", "another operation", "another manager"],
)
def test_an_object_of_others_survives_and_is_named(world: Path, kind: str, metadata: dict[str, Any]) -> None:
    space = "" if kind in ("ClusterRole", "Namespace") else "space"
    path = put(world, build_object(kind, "a", space, data={"a": "theirs"}, **metadata))
    before = path.read_bytes()
    desired_object = build_object(kind, "a", space, labels=LABEL, data={"a": "ours"})
    process = run(world, f"{SCRIPT}\napply", stream(build_object("ConfigMap", "first", labels=LABEL), desired_object))
    name = f"{space}/a" if space else "a"
    refusal = f"{kind} {name} is not from gpustack, and is left as it is (gpustack explain foreign-object)\n"
    assert (process.returncode, process.stdout, process.stderr) == (1, "", refusal)
    assert path.read_bytes() == before
    assert read_calls(world, "apply") == []


def test_an_object_that_others_create_meanwhile_survives(world: Path) -> None:
    foreign_object = build_object("ConfigMap", "a", data={"a": "theirs"}, managers=[OTHER_ENTRY])
    (world / "arrives.json").write_text(json.dumps(foreign_object))
    process = run(world, f"{SCRIPT}\napply", stream(DESIRED_OBJECT))
    assert process.returncode == 1
    assert "ConfigMap space/a is not from gpustack" in process.stderr
    assert json.loads((world / "objects" / "configmap.space.a.json").read_text()) == foreign_object


def test_what_the_api_refuses_is_reported(world: Path) -> None:
    kubectl = (world / "kubectl").read_text()
    refusing = kubectl.replace(
        "run_kubectl(sys.argv[1:])", "'apply' in sys.argv and sys.exit('error: is being deleted')\n"
    )
    (world / "kubectl").write_text(f"{refusing}run_kubectl(sys.argv[1:])\n")
    process = run(world, f"{SCRIPT}\napply", stream(DESIRED_OBJECT))
    assert (process.returncode, process.stdout, process.stderr) == (1, "", "error: is being deleted\n")


def test_only_what_has_our_label_is_removed_by_its_name(world: Path) -> None:
    for name, labels in (("mine", LABEL), ("theirs", {}), ("other", LABEL)):
        put(world, build_object("ConfigMap", name, labels=labels))
    process = run(world, f"{SCRIPT}\nremove", "ConfigMap space mine\n\nConfigMap space theirs\nConfigMap space none\n")
    assert (process.returncode, process.stdout) == (0, "changed: removed space/configmap/mine\n")
    assert sorted(path.name for path in (world / "objects").iterdir()) == [
        "configmap.space.other.json",
        "configmap.space.theirs.json",
    ]


def test_nothing_to_remove_says_nothing(world: Path) -> None:
    process = run(world, f"{SCRIPT}\nremove", "ConfigMap space none\n")
    assert (process.returncode, process.stdout) == (0, "")
