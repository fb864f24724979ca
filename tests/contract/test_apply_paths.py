"""Everything that reaches a cluster goes through one function, which leaves what others own."""

import json
import re
import shutil
import subprocess
from typing import Any

import pytest

from gpustack.config.resources import locate_playbooks
from tests.worlds.programs.api_objects import APPLIED_ENTRY, OTHER_ENTRY, build_object

ROOT = locate_playbooks()
FILES = sorted(path for path in ROOT.rglob("*") if path.suffix in (".sh", ".yml", ".yaml", ".j2"))
STATUS = {"manager": "kube-apiserver", "operation": "Update", "fieldsV1": {"f:status": {}}}
RELEASE = {f"meta.helm.sh/release-{key}": key for key in ("name", "namespace")}
SHARED_FILES = {"files/apply.sh", "files/definitions.sh"}
WRITES = re.compile(r"\bkube(?:ctl)?\b[^|;&\n]*?\s(apply|replace|patch|edit)\s")
DELETES = re.compile(r"\bkube(?:ctl)?\b[^|;&\n]*?\sdelete\s+(\S+)")
# Not objects that gpustack brings: a pod is made anew by its owner, a node is its host's (docs/reset.md), a Secret is
# one revision of a release with our label on it.
DELETED_KINDS = {"pods", "node", "secret"}


def list_lines() -> list[tuple[str, str]]:
    lines = []
    for path in FILES:
        text = path.read_text().replace("\\\n", " ")
        code = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
        lines += [(str(path.relative_to(ROOT)), line) for line in code]
    return lines


def test_objects_are_written_by_the_shared_functions_only() -> None:
    assert [(file, line) for file, line in list_lines() if WRITES.search(line) and file not in SHARED_FILES] == []


def test_force_is_used_where_ownership_was_looked_at() -> None:
    """Comparing with --force-conflicts changes nothing; Helm refuses objects that are not of its release."""
    forced_lines = [(file, line) for file, line in list_lines() if "--force-conflicts" in line]
    other_files = [file for file, line in forced_lines if file not in SHARED_FILES and "diff" not in line]
    assert other_files == ["files/helm-release.sh"]
    assert not any("--take-ownership" in line for _, line in list_lines())


def test_objects_are_deleted_by_label_and_name() -> None:
    kinds = {
        match[1].strip('"')
        for file, line in list_lines()
        if file not in SHARED_FILES
        for match in DELETES.finditer(line)
    }
    assert kinds <= DELETED_KINDS


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (build_object("ConfigMap", "a"), "ConfigMap space a"),
        (build_object("ConfigMap", "a", managers=[OTHER_ENTRY]), "ConfigMap space a"),
        (build_object("ConfigMap", "a", managers=[OTHER_ENTRY, APPLIED_ENTRY]), "ConfigMap space a fields"),
        (build_object("ConfigMap", "a", managers=[{**APPLIED_ENTRY, "operation": "Update"}]), "ConfigMap space a"),
        (
            build_object("Namespace", "a", "", labels={"app.kubernetes.io/managed-by": "gpustack"}),
            "Namespace - a label",
        ),
        (build_object("Namespace", "a", "", labels={"app.kubernetes.io/managed-by": "Helm"}), "Namespace - a"),
        (
            build_object(
                "ConfigMap", "a", annotations={f"meta.helm.sh/release-{key}": key for key in ("name", "namespace")}
            ),
            "ConfigMap space a release",
        ),
    ],
)
def test_kubectl_tells_owners_apart(item: dict[str, Any], expected: str) -> None:
    variables = "RELEASE=name NAMESPACE=namespace"
    assert render_template(f"{variables}; . {ROOT}/files/apply.sh; owner_template", item) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"annotations": {"operator.prometheus.io/version": "0.99.0"}, "managers": [OTHER_ENTRY]}, "others 0.99.0"),
        ({"labels": {"app.kubernetes.io/version": "2.20.2"}, "managers": [APPLIED_ENTRY]}, "gpustack 2.20.2"),
        ({"managers": [APPLIED_ENTRY, OTHER_ENTRY]}, "others -"),
        ({"managers": [{**APPLIED_ENTRY, "operation": "Update"}]}, "others -"),
        ({"managers": [APPLIED_ENTRY, STATUS]}, "gpustack -"),
        ({"labels": {"app.kubernetes.io/managed-by": "gpustack"}, "managers": [OTHER_ENTRY]}, "gpustack -"),
        ({}, "others -"),
    ],
)  # fmt: skip
def test_kubectl_reads_versions_and_owners_of_definitions(fields: dict[str, Any], expected: str) -> None:
    item = build_object("CustomResourceDefinition", "a.example", "", **fields)
    item["apiVersion"] = "apiextensions.k8s.io/v1"
    assert render_template(f". {ROOT}/files/definitions.sh; definition_template", item) == f"a.example {expected}"


def render_template(script: str, item: dict[str, Any]) -> str:
    """Render the template with the real kubectl, which asks no server for it."""
    kubectl = shutil.which("kubectl")
    if not kubectl:
        pytest.skip("no kubectl on PATH")
    template = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    words = [kubectl, "annotate", "--local", "-f", "-", "x=y", "-o", f"go-template={template}"]
    process = subprocess.run(words, input=json.dumps(item), capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout.strip()
