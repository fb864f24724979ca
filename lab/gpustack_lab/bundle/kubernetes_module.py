"""The file go.mod of the Kubernetes programs, for any version.

Kubernetes' own go.mod replaces each of its staging modules by a local path, and Go ignores the replacements of a
required module: this go.mod must replace each of them by its published version, v0.36.4 for v1.36.4. The committed
go.mod is the result for the version set; that of another version is derived, and the Go checksum database vouches for
what is new.
"""

import json
import re
from pathlib import Path

from gpustack.bundle.programs import run
from gpustack.errors import BundleError

MODULE = "k8s.io/kubernetes"


def read_pinned_version(source: Path) -> str:
    """Read the version that go.mod in `source` requires, like `1.36.4`."""
    for line in (source / "go.mod").read_text().splitlines():
        words = line.split()
        if words[:1] == ["require"]:
            words = words[1:]
        if len(words) >= 2 and words[0] == MODULE:
            return words[1].removeprefix("v")
    raise ValueError(f"{source}/go.mod does not require {MODULE}")


def pin(source: Path, version: str, env: dict[str, str]) -> None:
    """Rewrite go.mod and go.sum in the directory `source` for another version; leave them if they are for this one.

    Raise BundleError if the version does not exist or the checksum database does not vouch for it.
    """
    if read_pinned_version(source) == version:
        return
    try:
        download = json.loads(run(["go", "mod", "download", "-json", f"{MODULE}@v{version}"], env=env, limit=600))
    except BundleError as error:
        reason = re.search(r'"Error": "(.*)"', error.reason)
        message = f"Kubernetes {version} cannot be had as a verified module"
        raise BundleError("bundle-version-unknown", message, reason[1] if reason else error.reason) from error
    (source / "go.mod").write_text(
        render_go_mod(_read(source / "go.mod", env), _read(Path(download["GoMod"]), env), version)
    )
    run(["go", "mod", "tidy"], cwd=source, env={**env, "GOFLAGS": "-mod=mod"}, limit=900)


def render_go_mod(own_module: dict[str, object], upstream_module: dict[str, object], version: str) -> str:
    """Render the go.mod of the bundle for a version. Both modules are as `go mod edit -json` prints them."""
    staging_version = "v0." + version.removeprefix("1.")
    lines = [f"module {_look_up(own_module, 'Module', 'Path')}", f"go {upstream_module['Go']}"]
    lines += [
        f"godebug {_look_up(setting, 'Key')}={_look_up(setting, 'Value')}"
        for setting in _list_entries(upstream_module, "Godebug")
    ]
    lines.append(f"require {MODULE} v{version}")
    lines += [f"tool {_look_up(tool, 'Path')}" for tool in _list_entries(own_module, "Tool")]
    for replace in _list_entries(upstream_module, "Replace"):
        if str(_look_up(replace, "New", "Path")).startswith("./staging/"):
            path = _look_up(replace, "Old", "Path")
            lines.append(f"replace {path} => {path} {staging_version}")
    return "\n".join(lines) + "\n"


def _read(go_mod: Path, env: dict[str, str]) -> dict[str, object]:
    document: dict[str, object] = json.loads(run(["go", "mod", "edit", "-json", go_mod], env=env, limit=20))
    return document


def _list_entries(value: dict[str, object], key: str) -> list[object]:
    entries = value.get(key) or []
    if not isinstance(entries, list):
        raise ValueError(f"{key} is not a list")
    return entries


def _look_up(value: object, *keys: str) -> object:
    for key in keys:
        if not isinstance(value, dict):
            raise ValueError(f"no {key} in {value!r}")
        value = value[key]
    return value
