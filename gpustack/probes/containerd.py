"""containerd: as the running daemon answers, and what its files would make of it after a restart."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Probe, Shell
from gpustack.probes.sections import sections

SOCKET = "unix:///run/containerd/containerd.sock"
OURS = "# Written by gpustack; a change here is undone by the next install."
REGISTRIES = ("docker.io", "ghcr.io", "nvcr.io", "quay.io", "registry.k8s.io")


@dataclass(frozen=True)
class Runtime:
    """What CRI v1 tells of the running daemon."""

    systemd_cgroup: bool
    bin_dirs: tuple[str, ...]
    restrict_oom_score_adj: bool


@dataclass(frozen=True)
class Mirror:
    """A hosts.toml: whether it is ours, the server that is asked last, the hosts that are asked before it."""

    ours: bool
    server: str
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class Configuration:
    """The files: `drop_in` is ours, parsed, None when it is not there. `newest` is when the last of them was written,
    in seconds of the epoch."""

    imports: tuple[str, ...]
    disabled: tuple[str, ...]
    drop_in: Mapping[str, Any] | None
    newest: int


def runtime(answer: Answer) -> Runtime | None:
    """None when no daemon answers CRI v1, or crictl is not there. Raises KeyError on any other shape of `info`."""
    if answer.rc != 0:
        return None
    config = json.loads(answer.out)["config"]
    cni, runc = config["cni"], config["containerd"]["runtimes"]["runc"]
    # containerd 2.1 names a list beside the older single directory.
    dirs = cni.get("binDirs") or [cni["binDir"]]
    return Runtime(
        runc["options"].get("SystemdCgroup", False) is True,
        tuple(dirs),
        config.get("restrictOOMScoreAdj", False) is True,
    )


RUNTIME = Probe("containerd.runtime", Shell(f"crictl --runtime-endpoint {SOCKET} info"), runtime)


def configuration(answer: Answer) -> Configuration:
    """Raises ValueError when a file is no TOML: then containerd would not start with it either."""
    said = dict(sections(answer.out))
    main = tomllib.loads("\n".join(said["main"]))
    times = [int(line) for line in said["times"]]
    drop_in = tomllib.loads("\n".join(said["drop-in"])) if said["drop-in"] else None
    return Configuration(
        tuple(main.get("imports", ())), tuple(main.get("disabled_plugins", ())), drop_in, max(times, default=0)
    )


def mirrors(answer: Answer) -> Mapping[str, Mirror]:
    """By registry. Raises ValueError when a file is no TOML."""
    return {name: mirror(lines) for name, lines in sections(answer.out)}


def mirror(lines: list[str]) -> Mirror:
    said = tomllib.loads("\n".join(lines))
    return Mirror(lines[:1] == [OURS], str(said.get("server", "")), tuple(said.get("host", {})))


CONFIGURATION = Probe(
    "containerd.configuration",
    Shell(r"""cd /etc/containerd 2>/dev/null || :
echo '== main'
[ ! -e config.toml ] || cat config.toml
echo '== drop-in'
[ ! -e conf.d/gpustack.toml ] || cat conf.d/gpustack.toml
echo '== times'
for file in config.toml conf.d/*.toml; do [ ! -e "$file" ] || stat -c %Y "$file"; done"""),
    configuration,
)
MIRRORS = Probe(
    "containerd.mirrors",
    Shell(r"""cd /etc/containerd/certs.d 2>/dev/null || exit 0
for file in */hosts.toml; do
  [ ! -e "$file" ] || { echo "== ${file%/hosts.toml}"; cat "$file"; }
done"""),
    mirrors,
)


def crictl(answer: Answer) -> Mapping[str, str]:
    """/etc/crictl.yaml, empty when there is none. Raises ValueError when it is no mapping."""
    import yaml

    try:
        said = yaml.safe_load(answer.out) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if not isinstance(said, dict):
        raise ValueError("not a mapping")
    return {str(key): str(value) for key, value in said.items()}


CRICTL = Probe("containerd.crictl", Shell("[ ! -e /etc/crictl.yaml ] || cat /etc/crictl.yaml"), crictl)
