"""The declaration of what each step may touch on a host: playbooks/files/owned.json, by step and kind.

Kinds: `file` (whole files of gpustack), `lines` (lines in a file of others), `marked` (files that others write as well,
and gpustack's say whose they are), `folder` (made where it is missing, removed when it is empty: files of others may be
in it), `data` (written by programs of a cluster), `store` (kept by containerd), `link` (a network link), `private` (a
folder in which gpustack alone keeps things).
"""

import fnmatch
import re
from collections.abc import Mapping
from functools import cache

from gpustack.config.resources import locate_playbooks
from gpustack.files.json_text import load_json

PLAIN = re.compile(r"(?:/[\w.@-]+)+", re.ASCII)
Declaration = Mapping[str, Mapping[str, tuple[str, ...]]]


@cache
def read_declaration() -> Declaration:
    """Read the declared paths by step and kind."""
    text = (locate_playbooks() / "files" / "owned.json").read_text("utf-8")
    return {step: {kind: tuple(paths) for kind, paths in kinds.items()} for step, kinds in load_json(text).items()}


@cache
def list_declared(kind: str) -> tuple[str, ...]:
    """List the paths of one kind, of all steps."""
    return tuple(dict.fromkeys(path for kinds in read_declaration().values() for path in kinds.get(kind, ())))


@cache
def find_kinds(path: str) -> frozenset[str]:
    """Find the kinds that a path is declared with, by name or by pattern; none where it is not declared.

    A pattern stands for one name in its folder: a host that lies about its record gets no other path through it.
    """
    if path not in list_all() and (not PLAIN.fullmatch(path) or ".." in path):
        return frozenset()
    return frozenset(
        kind
        for kinds in read_declaration().values()
        for kind, paths in kinds.items()
        if any(
            path == pattern or (path.count("/") == pattern.count("/") and fnmatch.fnmatchcase(path, pattern))
            for pattern in paths
        )
    )


@cache
def list_all() -> frozenset[str]:
    """List every declared path and pattern."""
    return frozenset(path for kinds in read_declaration().values() for paths in kinds.values() for path in paths)
