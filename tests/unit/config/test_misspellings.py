"""Names that look like gpustack's own and that nothing reads are refused, with file, line and the nearest name."""

from pathlib import Path

import pytest

from gpustack.config.inventory import load_inventory
from gpustack.config.misspellings import count_edits, find_own_group, find_own_key
from gpustack.errors import ConfigError

HOSTS = """\
# kube_nodes: a comment
kube_control_plane:
  hosts:
    a: {ansible_host: 192.0.2.1}
kube_node:
  hosts:
    a:
    b: {ansible_host: 192.0.2.2}
"""


def write_site(folder: Path, hosts: str = HOSTS, **files: str) -> Path:
    (folder / "hosts.yml").write_text(hosts)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def read_refusal(site: Path) -> tuple[str, list[str]]:
    """Return the reference of the error and its lines, without the folder."""
    with pytest.raises(ConfigError) as excinfo:
        load_inventory(site)
    return excinfo.value.reference, excinfo.value.reason.replace(f"{site}/", "").splitlines()


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        (
            "group_vars/all/gpustack.yml",
            "# the spec\ngpustak: {kubernetes: {version: 1.2}}\n",
            "group_vars/all/gpustack.yml:2: gpustak: a variable that nothing reads",
        ),
        ("group_vars/all.yml", "gpu_stack: {}\n", "group_vars/all.yml:1: gpu_stack: a variable"),
        ("host_vars/a.yml", "gpustak_gpus: 2\n", "host_vars/a.yml:1: gpustak_gpus: a variable"),
        ("host_vars/a.yml", "gpustack-node-ip: 192.0.2.1\n", "host_vars/a.yml:1: gpustack-node-ip: a variable"),
        (
            "group_vars/all/gpustack.yml",
            "kubernetes: {version: '1.36'}\n",
            "group_vars/all/gpustack.yml:1: kubernetes: no key of gpustack",
        ),
        (
            "group_vars/kube_nodes/gpus.yml",
            "gpustack_gpus: 0\n",
            "group_vars/kube_nodes/gpus.yml: kube_nodes: variables of no group",
        ),
        ("host_vars/c.yml", "gpustack_gpus: 0\n", "host_vars/c.yml: c: variables of no host"),
        ("host_vars/a.yml", "ansible_hots: 192.0.2.1\n", "host_vars/a.yml:1: ansible_hots: a variable"),
        ("group_vars/all.yml", "ansible_prt: 2222\n", "group_vars/all.yml:1: ansible_prt: a variable"),
    ],
)
def test_a_misspelt_key_or_file_is_refused(tmp_path: Path, path: str, text: str, line: str) -> None:
    reference, lines = read_refusal(write_site(tmp_path, **{path: text}))
    assert reference == "config-misspelt"
    assert [printed_line for printed_line in lines if printed_line.startswith(line)] == lines


@pytest.mark.long
def test_a_misspelt_group_is_refused_with_its_line(tmp_path: Path) -> None:
    reference, lines = read_refusal(write_site(tmp_path, HOSTS + "kube-nodes:\n  hosts:\n    c:\n"))
    assert reference == "config-misspelt"
    assert [line.partition(": a ")[0] for line in lines] == ["hosts.yml:9: kube-nodes"]
    assert lines[0].endswith("did you mean kube_node?")


@pytest.mark.long
def test_a_host_in_other_groups_only_is_refused(tmp_path: Path) -> None:
    reference, lines = read_refusal(write_site(tmp_path, HOSTS + "gpu_workers:\n  hosts:\n    d:\n"))
    assert reference == "inventory-host-unused"
    assert [line.partition("; allowed")[0] for line in lines] == ["hosts.yml:11: d: a host in gpu_workers only"]


@pytest.mark.long
def test_a_group_and_a_line_of_an_ini_file_are_located(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(
        "[kube_control_plane]\na ansible_host=192.0.2.1 gpustak_gpus=1\n[kube_node]\na\n[kube_nodes]\nb\n"
    )
    reference, lines = read_refusal(tmp_path)
    assert reference == "config-misspelt"
    assert [line.partition(": a ")[0] for line in lines] == ["hosts:2: gpustak_gpus", "hosts:5: kube_nodes"]


@pytest.mark.long
def test_hosts_of_other_things_can_be_ignored(tmp_path: Path) -> None:
    hosts = HOSTS + "web:\n  hosts:\n    w:\n  vars: {gpustack_ignore: true}\n"
    inventory = load_inventory(write_site(tmp_path, hosts, **{"group_vars/web/users.yml": "site_users: []\n"}))
    assert [host.name for host in inventory.hosts] == ["a", "b"]


@pytest.mark.long
def test_the_group_of_all_nodes_may_stand_above(tmp_path: Path) -> None:
    hosts = HOSTS + "k8s_cluster:\n  children:\n    kube_control_plane:\n    kube_node:\n"
    assert len(load_inventory(write_site(tmp_path, hosts)).hosts) == 2


SPEC_TEXT = "gpustack: {cluster_name: y}\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "line", "near"),
    [
        ("group_vars/all/gpustack.yam", "group_vars/all/gpustack.yam: gpustack: a spec in a file", "gpustack.yml"),
        ("group_vars/all/gpustack.yml.bak", "group_vars/all/gpustack.yml.bak: gpustack: a spec", "gpustack.yml"),
        ("group_vars/all/gpustack.yml~", "group_vars/all/gpustack.yml~: gpustack: a spec", "gpustack.yml"),
        ("group_vars/all.yam", "group_vars/all.yam: gpustack: a spec", "all.yml"),
        ("group_var/all/gpustack.yml", "group_var: a directory that nothing reads", "group_vars"),
        ("hosts_var/a.yml", "hosts_var: a directory that nothing reads", "host_vars"),
    ],
)
def test_a_misnamed_file_or_folder_is_refused(tmp_path: Path, path: str, line: str, near: str) -> None:
    site = write_site(tmp_path, **{path: SPEC_TEXT})
    reference, lines = read_refusal(site / "hosts.yml")
    assert reference == "config-misspelt"
    assert [complaint.replace(f"{site}/", "").startswith(line) for complaint in lines] == [True]
    assert lines[0].endswith(f"did you mean {near}?")


@pytest.mark.long
def test_a_copy_beside_the_spec_is_legal_and_a_misspelt_ending_is_not(tmp_path: Path) -> None:
    names = ("gpustack.yml", "gpustack.yml.bak", "gpustack.yml~", "gpustack.yml.orig", "gpustack.old")
    site = write_site(tmp_path, **{f"group_vars/all/{name}": SPEC_TEXT for name in names})
    assert load_inventory(site).spec.cluster_name == "y"
    (site / "group_vars" / "all" / "more.yam").write_text(SPEC_TEXT)
    assert read_refusal(site)[0] == "config-misspelt"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("gpustack", ""),
        ("gpustack_gpus", ""),
        ("gpustakc", "gpustack"),
        ("Gpustack", "gpustack"),
        ("gpustack_gpu", "gpustack_gpus"),
        ("gpustak_sharing", "gpustack_sharing"),
        ("gpu_settings", ""),
        ("ansible_host", ""),
    ],
)
def test_the_key_that_was_meant_is_found(name: str, near: str) -> None:
    assert find_own_key(name) == near


def test_words_of_other_inventories_are_no_misspelt_groups() -> None:
    group_names = ("all", "ungrouped", "k8s_cluster", "etcd", "calico_rr", "kube_vip", "gpu", "web", "control_plane")
    assert [name for name in group_names if find_own_group(name)] == []


@pytest.mark.parametrize(
    ("word", "second_word", "edits"), [("", "abc", 3), ("kitten", "sitting", 3), ("kube_node", "kube_nodes", 1)]
)
def test_edits_are_counted(word: str, second_word: str, edits: int) -> None:
    assert count_edits(word, second_word) == count_edits(second_word, word) == edits
