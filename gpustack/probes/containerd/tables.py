"""Which tables containerd's files have, and so what a daemon reads past. Source: containerd docs/cri/config.md.

Version 1 of the file knows `plugins.cri`, version 2 `plugins."io.containerd.grpc.v1.cri"`, version 3
`plugins."io.containerd.cri.v1.runtime"` and `…images`. A key in another one's table is read past in silence.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Probe
from gpustack.probes.containerd.daemon import CONFIGURATION
from gpustack.probes.parsing import number
from gpustack.probes.sections import named, sections

TABLES = {
    "cri": 1,
    "io.containerd.grpc.v1.cri": 2,
    "io.containerd.cri.v1.runtime": 3,
    "io.containerd.cri.v1.images": 3,
}


@dataclass(frozen=True)
class Tables:
    """Of one file. `version` is what it says of itself, 1 where it says nothing. The others are the versions whose
    tables have it: `cri` anything at all, `systemd` runc with systemd cgroups (`misspelt`: by another spelling),
    `nvidia` a runtime of that name. `paths` and `mirrors`: a config_path, the older table of mirrors."""

    version: int
    cri: frozenset[int]
    systemd: frozenset[int]
    misspelt: bool
    nvidia: frozenset[int]
    paths: bool
    mirrors: bool


def tables(answer: Answer) -> Mapping[str, Tables]:
    """By file; one that is no TOML is not among them. Raises ValueError for an answer of another shape."""
    found = {}
    for title, lines in named(sections(answer.out)).items():
        name, time = title.rsplit(" ", 1)
        number(time)
        try:
            found[name] = of_file(tomllib.loads("\n".join(lines)))
        except tomllib.TOMLDecodeError:
            continue
    return found


def of_file(document: Mapping[str, Any]) -> Tables:
    plugins = {TABLES[name]: table for name, table in document.get("plugins", {}).items() if name in TABLES}
    parts = [(TABLES[name], table) for name, table in document.get("plugins", {}).items() if name in TABLES and table]
    runtimes = [(version, name, body) for version, table in parts for name, body in runtimes_of(table)]
    runc = [(version, body.get("options", {})) for version, name, body in runtimes if name == "runc"]
    options = [(version, key, value) for version, table in runc for key, value in table.items()]
    cgroups = [(version, key) for version, key, value in options if key.lower() == "systemdcgroup" and value is True]
    registries = [table.get("registry", {}) for _, table in parts]
    return Tables(
        int(document.get("version", 1)),
        frozenset(plugins),
        frozenset(version for version, key in cgroups if key == "SystemdCgroup"),
        any(key != "SystemdCgroup" for _, key in cgroups),
        frozenset(version for version, name, _ in runtimes if name == "nvidia"),
        any(registry.get("config_path") for registry in registries),
        any(registry.get("mirrors") or registry.get("configs") for registry in registries),
    )


def runtimes_of(table: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from table.get("containerd", {}).get("runtimes", {}).items()


CONFIGURED = Probe(
    "containerd.tables", CONFIGURATION.ask, tables, like="cat /etc/containerd/config.toml /etc/containerd/conf.d/*.toml"
)
