"""Declarations of what a remedy may change on a host, and of what its roll-back cannot restore.

Copies are made of exactly this, and only this is ever restored or removed. The tasks of a playbook cannot declare it:
most are commands, which check mode skips.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gpustack.doctor.entry import DropIn, Remedy
from gpustack.files.json_text import dump_json

Kind = Literal["file", "pattern", "folder", "unit", "startup", "key"]
SYSCTL_FILE = "/etc/sysctl.d/zzz-gpustack.conf"
PRESENT = "present"
"""The word for all states but the absent one: the role edits a file, and never removes it."""
RUNNING = ("active", "failed")
"""The states in which a role leaves a unit that it starts: a unit that is inactive afterwards was stopped by others."""
PACKAGES = "packages"
PODS = "pods, which start anew"


@dataclass(frozen=True)
class HostResource:
    """Name a thing on a host that a remedy may change.

    A pattern names files by the shell's wildcards in a folder of gpustack; files that were there before count.
    `startup` tells whether a unit starts at boot. `possible_states` are the states in which the remedy can leave it,
    empty if unknown.
    """

    kind: Kind
    name: str
    possible_states: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """Name an object of the cluster. The namespace is empty for an object that is in none."""

    api: str
    kind: str
    namespace: str
    name: str

    @property
    def document(self) -> str:
        """Return the object's address as JSON."""
        metadata = {"name": self.name, **({"namespace": self.namespace} if self.namespace else {})}
        return dump_json({"apiVersion": self.api, "kind": self.kind, "metadata": metadata})


@dataclass(frozen=True)
class Scope:
    """Name everything that a remedy may change on one host.

    `targets` are objects of the cluster, `release` is the Helm release (namespace, name) whose objects it may change.
    `irreversible_changes` says in words what it changes and a roll-back does not restore.
    """

    resources: tuple[HostResource, ...] = ()
    targets: tuple[Target, ...] = ()
    release: tuple[str, str] | None = None
    irreversible_changes: tuple[str, ...] = ()

    def covers(self, kind: str, name: str) -> bool:
        """Tell whether a thing that a record names is declared. A pattern declares the files that it matches."""
        return any(
            (resource.kind == kind and resource.name == name)
            or (resource.kind == "pattern" and kind == "file" and matches_pattern(resource.name, name))
            for resource in self.resources
        )


def matches_pattern(pattern: str, path: str) -> bool:
    """Compare a path with `FOLDER/PREFIX*SUFFIX`, in which the wildcard stands for no slash and for no dots alone."""
    prefix, _, suffix = pattern.partition("*")
    middle = path[len(prefix) : len(path) - len(suffix)]
    long_enough = len(path) >= len(prefix) + len(suffix)
    return long_enough and path.startswith(prefix) and path.endswith(suffix) and "/" not in middle


def declare_playbook(remedy: Remedy, variables: Mapping[str, Any]) -> Scope:
    """Declare what a playbook of playbooks/remedy changes, with the variables that it is given on one host."""
    if remedy.sysctl:
        return declare_sysctl(remedy.sysctl)
    if remedy.drop_in:
        return declare_drop_in(variables)
    if unit := remedy.unit:
        startup = (HostResource("startup", unit.name, ("enabled",)),) if unit.enabled else ()
        return Scope((HostResource("unit", unit.name, RUNNING), *startup))
    if workload := remedy.rollout:
        kind = {"daemonset": "DaemonSet", "deployment": "Deployment", "statefulset": "StatefulSet"}[workload.kind]
        return Scope((), (Target("apps/v1", kind, workload.namespace, workload.name),), irreversible_changes=(PODS,))
    return Scope(irreversible_changes=(PACKAGES,))


def declare_sysctl(keys: Mapping[str, str]) -> Scope:
    lines = "".join(f"{key} = {value}\n" for key, value in sorted(keys.items()))
    head = "# Written by gpustack doctor: another file sets these keys otherwise, and this one is read after it.\n"
    resources = (HostResource("key", key, (value,)) for key, value in keys.items())
    return Scope((HostResource("file", SYSCTL_FILE, (format_file_state(head + lines),)), *resources))


def declare_drop_in(variables: Mapping[str, Any]) -> Scope:
    path, workload = str(variables["path"]), str(variables["restart"])
    content = "".join(f"{line}\n" for line in ("# Written by gpustack doctor.", *variables["lines"]))
    resources = (
        HostResource("folder", path.rpartition("/")[0]),
        HostResource("file", path, (format_file_state(content),)),
    )
    return Scope(resources, irreversible_changes=(f"pods of {workload}, which start anew",) if workload else ())


def format_file_state(content: str) -> str:
    """Name the state of a file of root with that content, as states.sh prints it."""
    return f"file 644 0 0 {hashlib.sha256(content.encode()).hexdigest()}"


def list_variants(file: DropIn) -> list[DropIn]:
    """List the variants of a file, of which each host gets one."""
    return [file, *(list_variants(file.otherwise) if file.otherwise else [])]
