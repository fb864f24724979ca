"""docs/rights.md is of this release, and nobody gets rights that nobody looked at."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rights.md").read_text()
# Who may read what Secrets hold, or everything. A further one is a decision: see the sentences on the page.
READ_SECRETS = {"monitoring/monitoring-operator", "gpu-operator/gpu-operator", "keda/keda-operator"}
ANY_SECRETS = re.compile(r"(^|[ /])(secrets|\\\*)(,|$)")
ACCOUNT = {"kind": "ServiceAccount", "name": "s", "namespace": "team"}
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "get"]}


def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "scripts.rights", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def test_the_page_is_of_this_release() -> None:
    """Another version, digest or object of ours: `make rights` writes a new page, whose differences are looked at."""
    process = run("--check")
    assert (process.returncode, process.stdout) == (0, ""), process.stderr


def test_secrets_are_read_by_those_who_need_them() -> None:
    subject, rules = "", set()
    for line in PAGE.partition("## Permissions")[2].splitlines():
        subject = line.split()[1] if line.startswith("### ") else subject
        cells = [cell.strip() for cell in line.split(" | ")]
        if len(cells) == 3 and ANY_SECRETS.search(cells[1]):
            rules.add(subject)
    assert rules == READ_SECRETS


def describe_rights(tmp_path: Path, *objects: dict[str, Any]) -> dict[str, Any]:
    path = tmp_path / "objects.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    process = run("--objects", path)
    assert process.returncode == 0, process.stderr
    loads: dict[str, Any] = json.loads(process.stdout)
    return loads


def build_pod(name: str, container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "a", **(container or {})}]
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def test_every_access_to_a_host_is_found(tmp_path: Path) -> None:
    volumes = [{"name": "v", "hostPath": {"path": "/"}}]
    mount = {"name": "v", "mountPath": "/x"}
    pods = {
        "privileged": build_pod("privileged", {"securityContext": {"privileged": True}}),
        "hostNetwork": build_pod("hostNetwork", hostNetwork=True),
        "hostPID, hostIPC": build_pod("pid", hostPID=True, hostIPC=True),
        "capability SYS_PTRACE": build_pod(
            "capability", {"securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}}}
        ),
        "hostPath /": build_pod("path", {"volumeMounts": [mount]}, volumes=volumes),
        "hostPath / (read only)": build_pod("read", {"volumeMounts": [{**mount, "readOnly": True}]}, volumes=volumes),
        "": build_pod("nothing", {"securityContext": None, "volumeMounts": None}, volumes=None, initContainers=None),
    }
    workloads = {entry["host"]: entry["workload"] for entry in describe_rights(tmp_path, *pods.values())["access"]}
    assert workloads == {host: f"Pod default/{item['metadata']['name']}" for host, item in pods.items()}


def test_users_and_tokens_are_found_in_workloads_and_init_containers(tmp_path: Path) -> None:
    init = [{"name": "i", "securityContext": {"runAsUser": 0}}]
    spec = build_pod("w", initContainers=init, securityContext={"runAsUser": 1000}, serviceAccountName="s")["spec"]
    objects = [
        {"kind": kind, "metadata": {"name": "w", "namespace": "team"}, "spec": {"template": {"spec": spec}}}
        for kind in ("DaemonSet", "Deployment", "StatefulSet", "Job")
    ]
    account = {"kind": "ServiceAccount", "metadata": {"name": "quiet"}, "automountServiceAccountToken": False}
    silent = build_pod("silent", serviceAccountName="quiet")
    louder = build_pod("louder", serviceAccountName="quiet", automountServiceAccountToken=True)
    access = describe_rights(tmp_path, *objects, account, silent, louder)["access"]
    templated_entries = [entry for entry in access if entry["workload"].endswith("team/w")]
    users = {
        (entry["workload"].split()[0], entry["container"]): (entry["user"], entry["token"])
        for entry in templated_entries
    }
    assert users == {
        (kind, name): (user, "team/s")
        for kind in ("DaemonSet", "Deployment", "StatefulSet", "Job")
        for name, user in (("a", "1000"), ("i", "0"))
    }
    tokens = {entry["workload"]: entry["token"] for entry in access if entry not in templated_entries}
    assert tokens == {"Pod default/louder": "default/quiet", "Pod default/silent": "none"}


@pytest.mark.parametrize(
    ("binding", "role", "scope"),
    [
        ("ClusterRoleBinding", "ClusterRole", "cluster"),
        ("RoleBinding", "ClusterRole", "team"),
        ("RoleBinding", "Role", "team"),
    ],
)
def test_bindings_give_rules_of_every_kind_to_subjects(tmp_path: Path, binding: str, role: str, scope: str) -> None:
    rules = [
        SECRETS,
        {**SECRETS, "resourceNames": ["one"], "verbs": ["get"]},
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]
    subjects = [ACCOUNT, {"kind": "Group", "name": "system:authenticated"}]
    reference = {"kind": role, "name": "r"}
    metadata = {"name": "r", "namespace": "team"}
    access = describe_rights(
        tmp_path,
        {"kind": role, "metadata": metadata, "rules": rules},
        {"kind": binding, "metadata": metadata, "roleRef": reference, "subjects": subjects},
        {"kind": binding, "metadata": {**metadata, "name": "b"}, "roleRef": {**reference, "name": "other"},
         "subjects": [ACCOUNT]},
    )["permissions"]  # fmt: skip
    assert {entry["scope"] for entry in access} == {scope}
    resources = {"secrets", "secrets named one", "*/*", "/metrics"}
    assert {entry["resources"] for entry in access if entry["subject"] == "team/s"} == resources | {f"{role} other"}
    assert {entry["resources"] for entry in access if entry["subject"].startswith("Group ")} == resources
