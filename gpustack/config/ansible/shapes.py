"""Judge the shape of inventories in YAML, of which Ansible's own words name neither a line nor the right form."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpustack.config.ansible.origins import compose_document, list_pairs
from gpustack.config.complaint import Complaint
from gpustack.config.host import GROUPS
from gpustack.config.yaml_files import ENDINGS, read_yaml_text

PARTS = {"hosts": "a mapping of hosts, each with a colon behind its name, such as `gpu1:`",
         "children": "a mapping of groups, each with a colon behind its name, such as `kube_node:`",
         "vars": "a mapping of variables, such as `ansible_user: ops`"}  # fmt: skip


def find_misshapen_groups(source: Path) -> list[Complaint]:
    """Return a complaint for each part of a group that Ansible does not take, and for each word in a group of gpustack
    that it skips with a warning."""
    paths = sorted(source.iterdir()) if source.is_dir() else [source]
    documents = ((path, compose_document(read_yaml_text(path)[0])) for path in paths if path.suffix in ENDINGS)
    return [complaint for path, document in documents for complaint in judge_groups(path, document)]


def judge_groups(path: Path, groups: Any) -> Iterator[Complaint]:
    for group, _, body in list_pairs(groups):
        for part, line, inner in list_pairs(body):
            place, key = f"{path}:{line}", f"{group}.{part}"
            if part in PARTS and inner.id == "sequence":
                yield Complaint(place, key, "a list", PARTS[part])
            elif part == "children":
                yield from judge_groups(path, inner)
            elif part not in PARTS and group in (*GROUPS, "all"):
                rule = f"{', '.join(PARTS)}; a host stands below `hosts:`, a variable below `vars:`"
                yield Complaint(place, key, "a word that Ansible skips", rule)
