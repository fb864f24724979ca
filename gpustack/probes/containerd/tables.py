"""Tables of containerd's files, and with them the settings that a daemon ignores. Source: containerd
docs/cri/config.md.

Version 1 of the file knows `plugins.cri`, version 2 `plugins."io.containerd.grpc.v1.cri"`, version 3
`plugins."io.containerd.cri.v1.runtime"` and `…images`. A key in a table of another version is ignored without a
message.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Probe
from gpustack.probes.containerd.daemon import CONFIGURATION
from gpustack.probes.parsing import parse_integer
from gpustack.probes.sections import index_sections, split_sections

TABLES = {"cri": 1, "io.containerd.grpc.v1.cri": 2, "io.containerd.cri.v1.runtime": 3, "io.containerd.cri.v1.images": 3}


@dataclass(frozen=True)
class Tables:
    """Hold the tables of one file.

    `version` is the one that it declares, 1 where it declares none. The others are the versions whose tables have it:
    `cri` anything at all, `systemd` runc with systemd cgroups (`misspelt`: by another spelling), `nvidia` a runtime of
    that name. `paths` and `mirrors`: a config_path, the older table of mirrors. `runtimes` says of each runtime whether
    the file gives its type.
    """

    version: int
    cri: frozenset[int]
    systemd: frozenset[int]
    misspelt: bool
    nvidia: frozenset[int]
    paths: bool
    mirrors: bool
    runtimes: Mapping[str, bool]


def parse_tables(answer: Answer) -> Mapping[str, Tables]:
    """Parse the tables by file; a file that is not TOML is left out. Raise ValueError where the answer has another
    shape."""
    tables = {}
    for title, lines in index_sections(split_sections(answer.stdout)).items():
        name, time = title.rsplit(" ", 1)
        parse_integer(time)
        try:
            tables[name] = parse_file_tables(tomllib.loads("\n".join(lines)))
        except tomllib.TOMLDecodeError:
            continue
    return tables


def parse_file_tables(document: Mapping[str, Any]) -> Tables:
    plugins = {TABLES[name]: table for name, table in document.get("plugins", {}).items() if name in TABLES}
    parts = [(TABLES[name], table) for name, table in document.get("plugins", {}).items() if name in TABLES and table]
    runtimes = [(version, name, body) for version, table in parts for name, body in list_runtimes(table)]
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
        {name: bool(body.get("runtime_type")) for _, name, body in runtimes},
    )


def list_runtimes(table: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from table.get("containerd", {}).get("runtimes", {}).items()


CONFIG_TABLES = Probe(
    "containerd.tables",
    CONFIGURATION.question,
    parse_tables,
    manual_command="cat /etc/containerd/config.toml /etc/containerd/conf.d/*.toml",
)
