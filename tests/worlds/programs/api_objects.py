"""A kubectl in front of objects in a folder, for scripts that bring objects into a cluster and take them away.

An object is a file with its JSON document. Of server-side apply it keeps what scripts rely on: a field of another
manager with another value is a conflict unless it is forced, and who applied is noted in managedFields
(https://kubernetes.io/docs/reference/using-api/server-side-apply). `arrives.json` appears in the cluster at the first
`apply`: what others create while a script runs. What the templates print is said in Python here; with the real kubectl
tests/contract/test_apply_paths.py renders them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

Object = dict[str, Any]
# kubectl 1.36.4 against a kube-apiserver 1.36.4.
CONFLICTS = (
    'error: Apply failed with 1 conflict: conflict with "{}": .data.a',
    'error: Apply failed with 2 conflicts: conflicts with "{}":\n- .metadata.annotations.a\n- .spec.versions',
)
APPLIED_ENTRY = {"manager": "gpustack", "operation": "Apply", "fieldsV1": {"f:spec": {"f:versions": {}}}}
OTHER_ENTRY = {"manager": "other", "operation": "Update", "fieldsV1": {"f:spec": {"f:versions": {}}}}
KUBECTL = f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from tests.worlds.programs.api_objects import run_kubectl
run_kubectl(sys.argv[1:])
"""


def install(world: Path) -> None:
    """Put the kubectl into the folder WORLD, with no object yet."""
    for name in ("objects", "tmp"):
        (world / name).mkdir(exist_ok=True)
    (world / "kubectl").write_text(KUBECTL)
    (world / "kubectl").chmod(0o755)


def run(world: Path, script: str, text: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
    env = {"WORLD": str(world), "TMPDIR": str(world / "tmp"), "PATH": f"{world}:{os.environ['PATH']}"} | variables
    return subprocess.run(
        ["sh", "-c", script], input=text, capture_output=True, text=True, env=env, check=False, timeout=60
    )


def build_object(kind: str, name: str, space: str = "space", **details: Any) -> Object:
    """Build an object; `labels`, `annotations` and `managers` (entries of managedFields) go to its metadata."""
    metadata: Object = {"name": name} | ({"namespace": space} if space else {})
    metadata |= {key: details.pop(key) for key in ("labels", "annotations") if key in details}
    if "managers" in details:
        metadata["managedFields"] = details.pop("managers")
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **details}


def put(world: Path, item: Object) -> Path:
    path = world / "objects" / name_file(item)
    path.write_text(json.dumps(item))
    return path


def read_calls(world: Path, *words: str) -> list[str]:
    """Read the calls of kubectl with all of these words."""
    path = world / "asked"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if all(word in line.split() for word in words)]


def name_file(item: Object) -> str:
    metadata = item["metadata"]
    return f"{item['kind'].lower()}.{metadata.get('namespace', '-')}.{metadata['name']}.json"


def run_kubectl(words: list[str]) -> None:
    world = Path(os.environ["WORLD"])
    with (world / "asked").open("a") as log:
        log.write(" ".join(words).replace("\n", " ") + "\n")
    if "delete" in words:
        delete(world, words)
    objects = parse_objects(words[words.index("-f") + 1]) if "-f" in words else []
    verb = next(word for word in words if word in ("get", "create", "diff", "apply", "wait", "delete"))
    if verb == "diff":
        sys.exit(any(has_changed(world, item) for item in objects))
    elif verb in ("get", "create"):
        template = words[words.index("-o") + 1]
        results = [read(world, item) for item in objects] if verb == "get" else objects
        print("\n".join(format_line(item, template) for item in results if item))
    elif verb == "apply":
        apply(world, objects, forced="--force-conflicts" in words)


def parse_objects(source: str) -> list[Object]:
    import yaml

    paths = sorted(Path(source).iterdir()) if source != "-" else []
    texts = [path.read_text() for path in paths] if paths else [sys.stdin.read() if source == "-" else ""]
    return [item for text in texts for item in yaml.safe_load_all(text) if item]


def read(world: Path, item: Object) -> Object | None:
    path = world / "objects" / name_file(item)
    return json.loads(path.read_text()) if path.exists() else None


def select_content(item: Object) -> Object:
    """Everything but who wrote it."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    return {**item, "metadata": metadata}


def has_changed(world: Path, item: Object) -> bool:
    actual = read(world, item)
    return actual is None or merge(select_content(actual), item) != select_content(actual)


def merge(lower: Any, upper: Any) -> Any:
    if not (isinstance(lower, dict) and isinstance(upper, dict)):
        return upper
    return {**lower, **{key: merge(lower.get(key), value) for key, value in upper.items()}}


def apply(world: Path, objects: list[Object], *, forced: bool) -> None:
    arrives, has_failed = world / "arrives.json", False
    if arrives.exists():
        put(world, json.loads(arrives.read_text()))
        arrives.unlink()
    for item in objects:
        actual = read(world, item)
        managers = actual["metadata"].get("managedFields", []) if actual else []
        other_entries = [entry for entry in managers if entry["manager"] != "gpustack"]
        if actual and other_entries and not forced and has_changed(world, item):
            print(CONFLICTS[len(managers) % 2].format(other_entries[0]["manager"]), file=sys.stderr)
            has_failed = True
            continue
        merged_object = merge(select_content(actual), item) if actual else item
        put(world, merge(merged_object, {"metadata": {"managedFields": [APPLIED_ENTRY, *other_entries]}}))
        print(f"{item['kind'].lower()}/{item['metadata']['name']} serverside-applied")
    sys.exit(has_failed)


def delete(world: Path, words: list[str]) -> None:
    """Delete what label and name select; a kind is written as in the script."""
    kind, space = words[words.index("delete") + 1], words[words.index("-n") + 1]
    name = words[words.index("--field-selector") + 1].removeprefix("metadata.name=")
    path = world / "objects" / f"{kind.lower()}.{space}.{name}.json"
    key, _, value = words[words.index("-l") + 1].partition("=")
    if path.exists() and json.loads(path.read_text())["metadata"].get("labels", {}).get(key) == value:
        path.unlink()
        print(f"{kind.lower()}/{name}")
    else:
        print("No resources found")
    sys.exit(0)


def format_line(item: Object, template: str) -> str:
    metadata = item["metadata"]
    labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
    is_marked = labels.get("app.kubernetes.io/managed-by") == "gpustack"
    entries = [(entry["manager"], entry["operation"]) for entry in metadata.get("managedFields", ())]
    if 'define "definition"' in template:
        mine = bool(entries) and set(entries) == {("gpustack", "Apply")}
        version = annotations.get("operator.prometheus.io/version") or labels.get("app.kubernetes.io/version") or "-"
        return f"{metadata['name']} {'gpustack' if is_marked or mine else 'others'} {version}"
    release = [annotations.get(f"meta.helm.sh/release-{part}") for part in ("namespace", "name")]
    is_own_release = release == [os.environ.get("NAMESPACE"), os.environ.get("RELEASE")] and None not in release
    marks = " label" * is_marked + " fields" * (("gpustack", "Apply") in entries) + " release" * is_own_release
    return f"{item['kind']} {metadata.get('namespace', '-')} {metadata['name']}{marks}"
