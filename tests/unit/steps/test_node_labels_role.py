"""The role node_labels changes nodes through a kubectl that is put before the real one. What it refuses is what a
kube-apiserver 1.36.4 was seen to refuse."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpustack.config.resources import locate_playbooks

PROGRAM = (locate_playbooks() / "roles" / "node_labels" / "files" / "mark_nodes.py").read_text()
UID = "32b37000-6768-4e5a-aa51-49df1de8f48e"
TAINT = {"key": "example.com/team", "value": "research", "effect": "NoSchedule"}
FOREIGN_TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
TEXT = "example.com/team=research:NoSchedule"
KUBECTL = f"""#!{sys.executable} -I
import json, os, sys
from pathlib import Path
assert os.environ["KUBECONFIG"] == "/etc/kubernetes/admin.conf"
path = Path(__file__).with_name("node.json")
state, words = json.loads(path.read_text()), sys.argv[2:]
node, metadata = state["node"], state["node"]["metadata"]
state["calls"].append(words)
refusal = ""
if words[0] == "apply":
    assert "--server-side" in words and "--force-conflicts" not in words
    wanted = json.load(sys.stdin)["metadata"]
    assert wanted["uid"] == metadata["uid"]
    theirs = state["others"]
    if any(theirs.get(key, value) != value for key, value in wanted["labels"].items()):
        refusal = 'error: Apply failed with 1 conflict: conflict with "kubectl-label" using v1: .metadata.labels.a'
    elif metadata["labels"] != {{**theirs, **wanted["labels"]}}:
        metadata["labels"] = {{**theirs, **wanted["labels"]}}
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)
elif words[0] == "patch":
    patch = json.loads(words[words.index("-p") + 1])
    if state["late_taints"]:
        node["spec"].setdefault("taints", []).append(state["late_taints"].pop())
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)
    if patch["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
        refusal = "Error from server (Conflict): Operation cannot be fulfilled on nodes"
    else:
        metadata["annotations"].update(patch["metadata"]["annotations"])
        node["spec"] = {{"taints": patch["spec"]["taints"]}} if patch["spec"]["taints"] else {{}}
        metadata["annotations"] = {{k: v for k, v in metadata["annotations"].items() if v is not None}}
path.write_text(json.dumps(state))
if refusal:
    sys.exit(refusal)
print(json.dumps(node))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kubectl").write_text(KUBECTL)
    (tmp_path / "kubectl").chmod(0o755)
    return tmp_path


def write_node(folder: Path, taints: list[Any], *, late_taints: tuple[Any, ...] = (), record: str = "") -> None:
    annotations = {"gpustack.io/taints": record} if record else {}
    metadata = {"uid": UID, "resourceVersion": "7", "labels": {"tier": "gold"}, "annotations": annotations}
    node = {"metadata": metadata, "spec": {"taints": taints} if taints else {}}
    state = {"node": node, "calls": [], "others": {"tier": "gold"}, "late_taints": list(late_taints)}
    (folder / "node.json").write_text(json.dumps(state))


def read_state(folder: Path) -> Any:
    return json.loads((folder / "node.json").read_text())


def run_program(folder: Path, uid: str = UID, **parts: Any) -> "subprocess.CompletedProcess[str]":
    empty: dict[str, Any] = {"object": {}, "added_taints": [], "removed_taints": [], "recorded_taints": []}
    text = json.dumps([{"name": "k2", "uid": uid, **empty, **parts}])
    return subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM],
        input=text, capture_output=True, text=True, env={"PATH": str(folder)}, check=False, timeout=60,
    )  # fmt: skip


def build_manifest(**labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "k2", "uid": UID, "labels": labels}}


def test_a_taint_is_added_beside_those_of_others_with_its_record(folder: Path) -> None:
    write_node(folder, [FOREIGN_TAINT])
    process = run_program(folder, added_taints=[TAINT], recorded_taints=[TAINT])
    assert (process.returncode, process.stdout) == (0, "changed: taints of k2\n")
    node = read_state(folder)["node"]
    assert node["spec"]["taints"] == [FOREIGN_TAINT, TAINT]
    assert json.loads(node["metadata"]["annotations"]["gpustack.io/taints"]) == [TEXT]


def test_a_second_run_changes_nothing(folder: Path) -> None:
    write_node(folder, [FOREIGN_TAINT, TAINT], record=json.dumps([TEXT]))
    process = run_program(folder, added_taints=[TAINT], recorded_taints=[TAINT])
    assert (process.returncode, process.stdout) == (0, "")
    assert [call[0] for call in read_state(folder)["calls"]] == ["get"]


def test_a_taint_that_comes_meanwhile_is_not_lost(folder: Path) -> None:
    write_node(folder, [], late_taints=(FOREIGN_TAINT,))
    assert run_program(folder, added_taints=[TAINT], recorded_taints=[TAINT]).returncode == 0
    state = read_state(folder)
    assert state["node"]["spec"]["taints"] == [FOREIGN_TAINT, TAINT]
    assert [call[0] for call in state["calls"]] == ["get", "patch", "get", "patch"]


def test_a_node_that_never_stands_still_is_left(folder: Path) -> None:
    many = tuple({**FOREIGN_TAINT, "key": f"team{number}"} for number in range(9))
    write_node(folder, [], late_taints=many)
    process = run_program(folder, added_taints=[TAINT], recorded_taints=[TAINT])
    assert process.returncode == 1
    assert "(Conflict)" in process.stderr
    assert TAINT not in read_state(folder)["node"]["spec"]["taints"]


def test_ours_goes_and_that_of_others_stays(folder: Path) -> None:
    late = {**TAINT, "timeAdded": "2026-11-30T00:00:00Z"}
    write_node(folder, [late, FOREIGN_TAINT], record=json.dumps([TEXT]))
    assert run_program(folder, removed_taints=[TAINT]).stdout == "changed: taints of k2\n"
    node = read_state(folder)["node"]
    assert node["spec"]["taints"] == [FOREIGN_TAINT]
    assert node["metadata"]["annotations"] == {}


def test_a_value_that_somebody_else_set_meanwhile_stays_and_is_named(folder: Path) -> None:
    write_node(folder, [{**TAINT, "value": "hand"}])
    process = run_program(folder, added_taints=[TAINT], recorded_taints=[TAINT], removed_taints=[])
    assert process.returncode == 1
    assert "another taint example.com/team:NoSchedule meanwhile" in process.stderr
    assert "patch" not in {call[0] for call in read_state(folder)["calls"]}


def test_the_same_taint_of_somebody_else_is_not_recorded_as_ours(folder: Path) -> None:
    write_node(folder, [TAINT])
    assert run_program(folder, added_taints=[TAINT], recorded_taints=[TAINT]).stdout == ""
    assert read_state(folder)["node"]["metadata"]["annotations"] == {}


def test_labels_are_applied_without_force(folder: Path) -> None:
    write_node(folder, [])
    assert run_program(folder, object=build_manifest(a="1")).stdout == "changed: labels of k2\n"
    assert read_state(folder)["node"]["metadata"]["labels"] == {"tier": "gold", "a": "1"}
    assert run_program(folder, object=build_manifest(a="1")).stdout == ""


def test_a_label_that_somebody_else_set_meanwhile_stays(folder: Path) -> None:
    write_node(folder, [])
    process = run_program(folder, object=build_manifest(tier="silver"))
    assert process.returncode == 1
    assert "Apply failed with 1 conflict" in process.stderr
    assert read_state(folder)["node"]["metadata"]["labels"] == {"tier": "gold"}


def test_a_node_that_was_made_anew_is_left(folder: Path) -> None:
    write_node(folder, [])
    process = run_program(folder, uid="another", object=build_manifest(a="1"), added_taints=[TAINT])
    assert process.returncode == 1
    assert "made anew" in process.stderr
    assert {call[0] for call in read_state(folder)["calls"]} == {"get"}
