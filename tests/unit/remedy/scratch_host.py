"""A host below a folder: the real scripts of the copies run there, with stand-ins for systemctl, sysctl and kubectl."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from gpustack.ask.snapshot import Reach
from gpustack.ask.transport.refusal import HostRefused
from gpustack.config.host import Host
from gpustack.remedy.copies import Copies
from tests.unit.remedy import scratch_kubectl

HOSTS = (Host("h1", "10.0.0.1"), Host("h2", "10.0.0.2"))
# Units and kernel parameters are files of the host; each call is noted.
TOOLS = {
    "systemctl": """#!/bin/sh
echo "systemctl $*" >>$ROOT/../calls
for word; do :; done
case "$*" in
  *ActiveState*) cat "$ROOT/../units/$word" 2>/dev/null || echo inactive ;;
  *UnitFileState*) cat "$ROOT/../startups/$word" 2>/dev/null || : ;;
  start*) echo active >"$ROOT/../units/$word" ;;
  stop*) echo inactive >"$ROOT/../units/$word" ;;
  *disable*) echo disabled >"$ROOT/../startups/$word" ;;
  *enable*) echo enabled >"$ROOT/../startups/$word" ;;
esac
""",
    "sysctl": """#!/bin/sh
case "$1" in
  -n) cat "$ROOT/../keys/$2" ;;
  -qw) echo "${2#*=}" >"$ROOT/../keys/${2%%=*}" ;;
esac
""",
    "kubectl": f"""#!/bin/sh
echo "kubectl $*" >>$ROOT/../calls
PYTHONPATH={Path(yaml.__file__).parents[1]} exec {sys.executable} -S {scratch_kubectl.__file__} "$ROOT/../cluster" "$@"
""",
}
# Where the tests do not run as root, their user stands for root: roles write files of root.
OWNER = """#!/bin/sh
/usr/bin/stat "$@" | sed "s/\\b$(id -u) $(id -g)\\$/0 0/"
"""
if os.geteuid() != 0:
    TOOLS["stat"] = OWNER
State = tuple[int, int, int, bytes]


class ScratchHost:
    """Imitate one host below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder.resolve(), folder.resolve() / "root"
        for name in ("root/etc/containerd/conf.d", "root/etc/sysctl.d", "tools", "units", "startups", "keys"):
            (self.folder / name).mkdir(parents=True)
        for name, text in TOOLS.items():
            self.give_tool(name, text)
        self.write("etc/machine-id", "0123456789abcdef0123456789abcdef\n")
        (self.folder / "units" / "containerd").write_text("active\n")
        (self.folder / "keys" / "net.ipv4.ip_forward").write_text("0\n")
        (self.folder / "cluster").write_text("{}")
        self.script = ""

    def give_tool(self, name: str, text: str) -> None:
        path = self.folder / "tools" / name
        path.write_text(text)
        path.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "ROOT": str(self.root),
            "TOOLS": str(self.folder / "tools"),
            "FIXES": str(self.folder / "fixes"),
            "HELM": str(self.folder / "tools" / "helm"),
            "PATH": os.environ["PATH"],
        }

    def run(self, script: str) -> list[str]:
        self.script = script
        process = subprocess.run(
            ["sh", "-s"], input=script, capture_output=True, text=True, env=self.environment, check=False
        )
        return [*process.stdout.splitlines(), *process.stderr.splitlines()]

    def write(self, path: str, text: str, mode: int = 0o644) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def list_files(self) -> dict[str, State]:
        """List mode, owner, group and content of everything, by path."""
        files = {}
        for path in sorted(self.root.rglob("*")):
            status = path.lstat()
            content = (
                str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            )
            files[f"/{path.relative_to(self.root)}"] = (status.st_mode, status.st_uid, status.st_gid, content)
        return files

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return [line for line in path.read_text().splitlines() if " show " not in line] if path.exists() else []

    @property
    def cluster(self) -> dict[str, Any]:
        loads: dict[str, Any] = json.loads((self.folder / "cluster").read_text())
        return loads

    def apply(
        self, name: str, data: Mapping[str, str], manager: str, time: str, labels: Mapping[str, str] | None = None
    ) -> None:
        """Write a ConfigMap `NAMESPACE/NAME` as the API does for a client of that name."""
        store, key = self.cluster, f"ConfigMap {name}"
        earlier = store.get(key, {"metadata": {"resourceVersion": "0", "managedFields": []}})
        fields: dict[str, Any] = {"f:data": {".": {}, **{f"f:{field}": {} for field in data}}}
        entries = [entry for entry in earlier["metadata"]["managedFields"] if entry["manager"] != manager]
        entries.append({"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields})
        namespace, _, short = name.partition("/")
        metadata = {
            "name": short, "namespace": namespace, "uid": earlier["metadata"].get("uid", f"uid-{time}"),
            "resourceVersion": str(int(earlier["metadata"]["resourceVersion"]) + 1), "managedFields": entries,
            "labels": dict(labels or earlier["metadata"].get("labels", {})),
        }  # fmt: skip
        store[key] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}
        (self.folder / "cluster").write_text(json.dumps(store))

    def delete(self, name: str) -> None:
        store = self.cluster
        store.pop(f"ConfigMap {name}", None)
        (self.folder / "cluster").write_text(json.dumps(store))

    def read_objects(self) -> dict[str, Any]:
        """Read the data of each object of the cluster."""
        return {name: document["data"] for name, document in self.cluster.items()}


def connect_copies(machines: Mapping[str, ScratchHost], hosts: Sequence[Host] = HOSTS) -> Copies:
    """Copies that talk to these hosts, and to no others."""

    def run(host: Host, script: str, **_: object) -> Iterator[str]:
        if host.name not in machines:
            raise HostRefused(Reach(host.name, "host-ssh-unreachable", "timeout"))
        yield from machines[host.name].run(script)

    return Copies(hosts, run)
