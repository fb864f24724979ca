"""go.mod of the Kubernetes programs for any version.

Kubernetes' own go.mod replaces each of its staging modules by a local path, and replacements do not reach who requires
it: ours must replace every one by its published version, v0.36.4 for v1.36.4. The committed go.mod is the result for
the version set; another version is derived here, and the Go checksum database vouches for what is new.
"""

import json
import re
from pathlib import Path

from gpustack.bundle.programs import run
from gpustack.errors import BundleError

MODULE = "k8s.io/kubernetes"


def pinned(source: Path) -> str:
    """The version that SOURCE/go.mod requires, like `1.36.4`."""
    for line in (source / "go.mod").read_text().splitlines():
        words = line.split()
        if words[:1] == ["require"]:
            words = words[1:]
        if len(words) >= 2 and words[0] == MODULE:
            return words[1].removeprefix("v")
    raise ValueError(f"{source}/go.mod does not require {MODULE}")


def pin(source: Path, version: str, env: dict[str, str]) -> None:
    """Rewrites go.mod and go.sum in the directory SOURCE for another version; leaves them if they are for this one.

    Raises BundleError if the version does not exist or the checksum database does not vouch for it.
    """
    if pinned(source) == version:
        return
    try:
        there = json.loads(run(["go", "mod", "download", "-json", f"{MODULE}@v{version}"], env=env, limit=600))
    except BundleError as error:
        why = re.search(r'"Error": "(.*)"', error.why)
        message = f"Kubernetes {version} cannot be had as a verified module"
        raise BundleError("bundle-version-unknown", message, why[1] if why else error.why) from error
    (source / "go.mod").write_text(derived(_read(source / "go.mod", env), _read(Path(there["GoMod"]), env), version))
    run(["go", "mod", "tidy"], cwd=source, env={**env, "GOFLAGS": "-mod=mod"}, limit=900)


def derived(ours: dict[str, object], theirs: dict[str, object], version: str) -> str:
    """Text of our go.mod for a version, from both as `go mod edit -json` shows them."""
    staging_version = "v0." + version.removeprefix("1.")
    lines = [f"module {_at(ours, 'Module', 'Path')}", f"go {theirs['Go']}"]
    lines += [f"godebug {_at(setting, 'Key')}={_at(setting, 'Value')}" for setting in _list(theirs, "Godebug")]
    lines.append(f"require {MODULE} v{version}")
    lines += [f"tool {_at(tool, 'Path')}" for tool in _list(ours, "Tool")]
    for replace in _list(theirs, "Replace"):
        if str(_at(replace, "New", "Path")).startswith("./staging/"):
            path = _at(replace, "Old", "Path")
            lines.append(f"replace {path} => {path} {staging_version}")
    return "\n".join(lines) + "\n"


def _read(go_mod: Path, env: dict[str, str]) -> dict[str, object]:
    document: dict[str, object] = json.loads(run(["go", "mod", "edit", "-json", go_mod], env=env, limit=20))
    return document


def _list(value: dict[str, object], key: str) -> list[object]:
    found = value.get(key) or []
    if not isinstance(found, list):
        raise ValueError(f"{key} is not a list")
    return found


def _at(value: object, *keys: str) -> object:
    for key in keys:
        if not isinstance(value, dict):
            raise ValueError(f"no {key} in {value!r}")
        value = value[key]
    return value
