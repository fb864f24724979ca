"""Mistakes of a tired operator in inventories are refused with line and right form, where Ansible takes them in silence
or has words of its own."""

from pathlib import Path

import pytest

from gpustack.config.ansible.shapes import find_misshapen_groups
from gpustack.config.misspellings import find_unread_files
from gpustack.config.yaml_files import judge_yaml_file
from tests.unit.config.specs import list_complaints

GROUPS = {"all": ("a",), "kube_node": ("a",)}


def write_file(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "place", "actual"),
    [
        ("a:\n\tb: 1\n", ":2:1", "not valid YAML (a tab, or another character that needs quotes)"),
        ("a: {{ b }}\n", ":1:5", "not valid YAML (a mapping in place of a text; one that begins with {{ needs quotes)"),
        ("---\na: 1\n---\nb: 2\n", ":3:1", "not valid YAML (a second document after ---)"),
        ("a: 1\nb: 2 # f\xfcr\n".encode("latin-1"), ":2", "not valid YAML (byte 0xFC, which is not UTF-8)"),
        ("gpustack\n", ":1", "no mapping"),
    ],
)
def test_a_file_that_is_no_yaml_is_described(tmp_path: Path, content: str | bytes, place: str, actual: str) -> None:
    path = write_file(tmp_path / "group_vars" / "all.yml", content)
    complaint = judge_yaml_file(path)
    assert complaint is not None
    assert (complaint.file, complaint.actual) == (f"{path}{place}", actual)


@pytest.mark.parametrize(
    ("text", "has_spec", "lines"),
    [
        ("gpustack:\ncluster_name: x\nsite: 1\n", False, [":2: cluster_name"]),
        ("gpustack:\n  swap: off\nflannel: {port: 1}\n", True, [":3: flannel"]),
        ("[]\n", False, [":1: no mapping"]),
        ("false\n", False, [":1: no mapping"]),
        ("# nothing yet\n", False, []),
        ("gpustack:\n  swap: off\n", True, []),
    ],
)
def test_keys_beside_the_spec_and_a_file_without_it_are_refused(
    tmp_path: Path,
    text: str,
    has_spec: bool,
    lines: list[str],
) -> None:
    path = write_file(tmp_path / "group_vars" / "all" / "gpustack.yml", text)
    complaints = find_unread_files(tmp_path, GROUPS, {path: text}, has_spec=has_spec)
    assert [
        str(complaint).removeprefix(str(path)).startswith(line)
        for complaint, line in zip(complaints, lines, strict=True)
    ] == [True] * len(lines)


@pytest.mark.parametrize("path", ["group_vars/all.yml", "host_vars/a.yml", "host_vars/a.json"])
def test_a_setting_beside_the_directory_that_ansible_reads_is_refused(tmp_path: Path, path: str) -> None:
    text = '{"gpustack_gpus": 2}\n'
    file = write_file(tmp_path / path, text)
    file.with_suffix("").mkdir()
    (complaint,) = find_unread_files(tmp_path, GROUPS, {file: text}, has_spec=True)
    assert (complaint.file, complaint.key, complaint.reference) == (f"{file}:1", "gpustack_gpus", "config-misspelt")


def test_lists_of_hosts_and_words_beside_them_are_located(tmp_path: Path) -> None:
    text = "all: {vars: [x]}\nkube_node:\n  hosts:\n    - a\n  b: {ansible_host: 192.0.2.1}\nother: {c: 1}\n"
    path = write_file(tmp_path / "hosts.yml", text)
    complaints = find_misshapen_groups(path)
    assert [(complaint.file, complaint.key) for complaint in complaints] == [
        (f"{path}:1", "all.vars"),
        (f"{path}:3", "kube_node.hosts"),
        (f"{path}:5", "kube_node.b"),
    ]


def test_templates_and_vaulted_values_of_the_spec_are_reported_once() -> None:
    secret = {"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\n3934\n"}
    spec = {
        "kubernetes": {"pod_cidr": "{{ pods }}"},
        "proxy": {"http": "http://p:1", "user": "x", "password_file": secret},
    }
    complaints = [complaint for complaint in list_complaints(spec) if complaint.key != "gpustack.proxy"]
    assert [(complaint.key, complaint.reference) for complaint in complaints] == [
        ("gpustack.kubernetes.pod_cidr", "config-jinja"),
        ("gpustack.proxy.password_file", "become-vaulted-value"),
    ]
