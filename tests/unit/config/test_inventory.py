"""Inventories as Ansible reads them from disk, and what is reported of those that it cannot read."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack.config import inventory
from gpustack.config.ansible import inventory_listing as listing
from gpustack.config.ansible.inventory_listing import select_inventory
from gpustack.config.inventory import load_inventory, read_inventory
from gpustack.errors import ConfigError
from tests.unit.config.foreign_files import give_away

HOSTS = """\
kube_control_plane: {hosts: {h1: {ansible_host: 192.0.2.1}}}
kube_node: {hosts: {h2: {ansible_host: 192.0.2.2}}}
"""
Site = Callable[..., Path]
pytestmark = pytest.mark.long


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Makes an inventory folder of texts by path; nothing of the machine's own Ansible counts."""
    for name in ("ANSIBLE_CONFIG", "ANSIBLE_INVENTORY", "GPUSTACK_INVENTORY", "ANSIBLE_VAULT_PASSWORD_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def make(hosts: str = HOSTS, **files: str) -> Path:
        folder = tmp_path / "site"
        for path, text in {"hosts.yml": hosts, **files}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return Path("site")

    return make


def expect_refusal(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as excinfo:
        load_inventory(path)
    return excinfo.value


def test_a_folder_with_a_spec_is_loaded(site: Site) -> None:
    inventory = load_inventory(
        site(**{"group_vars/all/gpustack.yml": "gpustack:\n  swap: off\n  cluster_name: here\n"})
    )
    assert [host.name for host in inventory.hosts] == ["h1", "h2"]
    assert (inventory.spec.cluster_name, inventory.spec.swap) == ("here", "off")
    assert inventory.summary == "2 hosts of inventory site"


def test_every_file_that_is_not_yaml_is_named_with_its_line(site: Site) -> None:
    error = expect_refusal(
        site(
            **{
                "group_vars/all/gpustack.yml": "gpustack:\n\tswap: off\n",
                "host_vars/h1.yml": "a: 1\nb: [1\n",
                "host_vars/h2.yml": "a: 1\na: 2\n",
                "group_vars/kube_node.yml": "x: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  00\n",
            }
        )
    )
    assert error.reference == "config-not-yaml"
    assert [line.partition(": ")[0] for line in error.reason.splitlines()] == [
        "site/group_vars/all/gpustack.yml:2:1",
        "site/host_vars/h1.yml:3:1",
        "site/host_vars/h2.yml:2:1",
    ]
    assert "given twice" in error.reason


def test_what_is_yaml_and_no_inventory_is_reported_in_ansibles_words(site: Site) -> None:
    error = expect_refusal(site("kube_node:\n  hosts: 3\n"))
    assert error.reference == "inventory-unreadable"
    assert "requires a dictionary" in error.reason
    assert "ini" not in error.reason
    assert error.hint.endswith("-i site --list")


@pytest.mark.parametrize("path", ["host_vars/h1.yml", "host_vars/h1/x.yml", "group_vars/kube_node.yml"])
def test_a_spec_anywhere_else_is_refused_even_of_one_host(site: Site, path: str) -> None:
    error = expect_refusal(site(**{path: "gpustack:\n  swap: keep\n"}))
    assert error.reference == "config-spec-split"
    assert f"site/{path}" in error.reason


def test_a_spec_in_the_inventory_file_of_one_host_is_refused(site: Site) -> None:
    error = expect_refusal(site(HOSTS.replace("192.0.2.2", "192.0.2.2, gpustack: {swap: keep}")))
    assert error.reference == "config-spec-split"
    assert "for h2" in error.reason


@pytest.mark.parametrize("path", ["group_vars/all.yml", "group_vars/all/all.yml", "group_vars/all"])
def test_a_spec_in_any_file_for_all_hosts_is_taken_and_named(site: Site, path: str) -> None:
    error = expect_refusal(site(**{path: "gpustack:\n  swp: keep\n"}))
    assert f"site/{path}:2: gpustack.swp" in error.reason


@pytest.mark.parametrize("path", ["group_vars/all/z.yml", "group_vars/all.yml", "group_vars/all/more/z"])
def test_a_second_spec_for_all_hosts_is_refused_with_both_files(site: Site, path: str) -> None:
    """Ansible replaces the mapping of one file by that of another, or does not read all.yml beside the folder."""
    bogus = "gpustack: {kubernetes: {pod_cidr: bogus}}\n"
    error = expect_refusal(site(**{"group_vars/all/gpustack.yml": bogus, path: "gpustack: {cluster_name: y}\n"}))
    assert error.reference == "config-spec-split"
    assert "site/group_vars/all/gpustack.yml" in error.reason
    assert f"site/{path}" in error.reason


@pytest.mark.parametrize("path", ["group_vars/all.yml", "group_vars/all/z.yml", "group_vars/all/z.json"])
def test_a_spec_in_braces_is_found_in_its_file(site: Site, path: str) -> None:
    error = expect_refusal(site(**{path: '{"gpustack": {"swp": "keep"}}\n'}))
    assert f"site/{path}:1: gpustack.swp" in error.reason


@pytest.mark.parametrize("path", ["group_vars/all/a.bak", "group_vars/all/.a.yml", "group_vars/all/a.yml~"])
def test_a_file_that_ansible_does_not_read_is_not_blamed(site: Site, path: str) -> None:
    files = {path: "gpustack: {swap: keep}\n", "group_vars/all/z.yml": "gpustack: {swp: keep}\n"}
    error = expect_refusal(site(**files))
    assert error.reference == "config-unknown-key"
    assert "site/group_vars/all/z.yml:1: gpustack.swp" in error.reason


def test_what_the_files_of_the_spec_hold_is_known_and_never_shown(site: Site, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("fig-leaf-77\n")
    (tmp_path / "password").chmod(0o600)
    proxy = "gpustack:\n  proxy: {http: 'http://proxy:3128', user: kube, password_file: ~/password}\n"
    inventory = load_inventory(site(**{"group_vars/all/gpustack.yml": proxy}))
    assert inventory.secrets == ("fig-leaf-77",)
    assert "fig-leaf-77" not in repr(inventory)


def test_vaulted_files_are_read(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = site(**{"group_vars/all/secret.yml": "ansible_become_password: hunter2\n"})
    (tmp_path / "password").write_text("open")
    vault = str(Path(sys.executable).with_name("ansible-vault"))
    command = [vault, "encrypt", "--vault-password-file", "password", "site/group_vars/all/secret.yml"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert expect_refusal(folder).reference == "inventory-unreadable"
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    assert load_inventory(folder).hosts[0].become_password == "hunter2"


def test_unsafe_texts_are_plain_texts(site: Site) -> None:
    inventory = load_inventory(site(HOSTS.replace("192.0.2.2", "!unsafe 192.0.2.2")))
    assert inventory.hosts[1].address == "192.0.2.2"


def test_an_ini_inventory_is_loaded(site: Site, tmp_path: Path) -> None:
    (tmp_path / "hosts.ini").write_text("[kube_control_plane]\nh1 ansible_host=192.0.2.1\n[kube_node]\nh1\n")
    assert len(load_inventory(Path("hosts.ini")).hosts) == 1
    (tmp_path / "hosts.ini").write_text("[kube_control_plane\nh1\n")
    assert "'yaml'" not in expect_refusal(Path("hosts.ini")).reason


def test_children_of_groups_count(site: Site) -> None:
    children = "{fast: {hosts: {h3: {}}}, slow: {hosts: {h2: {}}}}"
    hosts = f"kube_control_plane: {{hosts: {{h1: {{}}}}}}\nkube_node: {{children: {children}}}\n"
    assert [host.name for host in load_inventory(site(hosts)).hosts] == ["h1", "h3", "h2"]


def test_a_slow_inventory_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "READ_LIMIT", 0.01)
    assert expect_refusal(site()).reference == "inventory-slow"


def test_missing_ansible_is_reported(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = site()
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert expect_refusal(folder).reference == "ansible-missing"


def test_the_option_counts_before_the_environment_and_ansible_cfg(site: Site, tmp_path: Path) -> None:
    folder = site()
    home = {"HOME": str(tmp_path)}
    assert select_inventory(None, home) is None
    assert select_inventory(None, home | {"GPUSTACK_INVENTORY": "site"}) == folder
    assert select_inventory(Path("site/hosts.yml"), home | {"GPUSTACK_INVENTORY": "other"}) == folder / "hosts.yml"
    (tmp_path / "ansible.cfg").write_text("[defaults]\ninventory = site/hosts.yml\n")
    assert select_inventory(None, home) == tmp_path / "site" / "hosts.yml"
    with pytest.raises(ConfigError, match="does not exist") as excinfo:
        select_inventory(Path("none"), home)
    assert excinfo.value.reference == "inventory-missing"


def test_an_ansible_cfg_of_somebody_else_is_not_read_by_ansible_either(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This one lets no YAML be read; another would name plugins of its own, and run them."""
    folder, cfg = site(), tmp_path / "ansible.cfg"
    cfg.write_text("[inventory]\nenable_plugins = ini\n")
    assert expect_refusal(folder).reference == "inventory-unreadable"
    give_away(cfg, monkeypatch)
    assert len(load_inventory(folder).hosts) == 2


def test_without_an_inventory_the_local_host_is_used(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "LOCAL_SPEC", tmp_path / "gpustack.yml")
    local_inventory = load_inventory(None)
    assert [(host.connection, host.control_plane) for host in local_inventory.hosts] == [("local", True)]
    assert "one-node cluster" in local_inventory.summary
    (tmp_path / "gpustack.yml").write_text("gpustack: {cluster_name: mine}\ngpustack_node_ip: 192.0.2.1\n")
    local_inventory = load_inventory(None)
    assert (local_inventory.spec.cluster_name, str(local_inventory.hosts[0].spec.gpustack_node_ip)) == (
        "mine",
        "192.0.2.1",
    )
    assert str(tmp_path / "gpustack.yml") in local_inventory.summary


@pytest.mark.parametrize(
    "text", ["gpustack: [", "- a\n- b\n", "gpustack: {}\ngpustack: {}\n", "[]", '""', "false", "0"]
)
def test_a_local_spec_that_is_no_mapping_is_refused(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(inventory, "LOCAL_SPEC", tmp_path / "gpustack.yml")
    (tmp_path / "gpustack.yml").write_text(text)
    with pytest.raises(ConfigError) as excinfo:
        read_inventory(None)
    assert excinfo.value.reference == "config-not-yaml"


# To the chart a map of rules, to Ansible a group with a host and its variable.
INTRUDER = "additionalPrometheusRulesMap: {hosts: {h1: {gpustack_node_ip: 192.0.2.99}}}\n"


def test_values_beside_hosts_in_a_folder_are_no_inventory(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    """Ansible reads every file of such a folder: without our word, each map of the values would be a group."""
    inventory = load_inventory(site(**{"values/monitoring.yaml": INTRUDER}))
    assert [host.name for host in inventory.hosts] == ["h1", "h2"]
    assert inventory.hosts[0].spec.gpustack_node_ip is None


def test_what_the_operator_ignores_stays_ignored(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_INVENTORY_IGNORE_REGEX", "^notes")
    inventory = load_inventory(
        site(**{"values/monitoring.yaml": INTRUDER, "notes.yml": "kube_node: {hosts: {h4: {}}}\n"})
    )
    assert [host.name for host in inventory.hosts] == ["h1", "h2"]
    assert inventory.hosts[0].spec.gpustack_node_ip is None


def test_a_spec_in_the_folder_of_earlier_releases_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defaults would be installed instead."""
    earlier = tmp_path / "gpustack.yml"
    earlier.write_text("gpustack: {}\n")
    monkeypatch.setattr(inventory, "LOCAL_SPEC", tmp_path / "new" / "gpustack.yml")
    monkeypatch.setattr(inventory, "EARLIER_SPEC", earlier)
    with pytest.raises(ConfigError) as excinfo:
        inventory.read_local()
    assert excinfo.value.reference == "config-earlier-directory"
