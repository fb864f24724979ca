import dataclasses
from pathlib import Path

import pytest
import yaml

from gpustack.config.spec import Spec
from gpustack.errors import LabError
from gpustack_lab.lab import locks, state
from gpustack_lab.lab.capabilities import Machine
from gpustack_lab.lab.inventory import build_cluster_spec, build_hosts_file, locate_inventory, write_inventories
from gpustack_lab.lab.state import Source
from tests.unit.lab.records import record

PLAIN = Machine(cgroup=2, oom_score=True, swap=False)
NESTED_MACHINE = Machine(cgroup=1, oom_score=False, swap=True)


def test_a_capable_machine_needs_almost_nothing(tmp_path: Path) -> None:
    assert build_cluster_spec(record(tmp_path), PLAIN) == {
        "kube_proxy": {"conntrack": {"max_per_core": 0, "min": 0}},
        "time_sync": "external",
    }


def test_a_nested_machine_relaxes_the_spec(tmp_path: Path) -> None:
    spec = Spec.model_validate(build_cluster_spec(record(tmp_path), NESTED_MACHINE))
    assert spec.kubernetes.ignore_preflight == ("SystemVerification",)
    assert spec.kubelet.fail_cgroup_v1 is False
    assert spec.containerd.restrict_oom_score_adj is True
    assert spec.swap == "keep"
    assert spec.source == "official"


def test_the_spec_of_a_mirror_is_one_that_the_product_accepts(tmp_path: Path) -> None:
    source = Source("http://10.77.3.1:8480", "0123456789ABCDEF0123456789ABCDEF01234567")
    spec = Spec.model_validate(build_cluster_spec(record(tmp_path, source=source), PLAIN))
    assert (spec.source.mirror, spec.source.fingerprint) == (source.url, source.fingerprint)  # type: ignore[union-attr]
    assert spec.source.simulated == "allowed"  # type: ignore[union-attr]


def test_an_internet_of_the_lab_has_images_that_no_version_set_pins(tmp_path: Path) -> None:
    source = Source("http://10.77.3.1:8480", "0123456789ABCDEF0123456789ABCDEF01234567")
    lab = dataclasses.replace(record(tmp_path, source=source), internet=True)
    for machine in (PLAIN, NESTED_MACHINE):
        containerd = Spec.model_validate(build_cluster_spec(lab, machine)).containerd
        assert (containerd.verify_images, containerd.restrict_oom_score_adj) == (False, not machine.oom_score)


def test_the_first_host_is_the_control_plane_and_all_are_nodes(tmp_path: Path) -> None:
    lab = record(tmp_path)
    children = build_hosts_file(lab, [(host.name, host.address) for host in lab.hosts])["all"]["children"]
    assert list(children["kube_control_plane"]["hosts"]) == ["host1"]
    assert children["kube_node"]["hosts"]["host2"] == {"ansible_host": "10.77.3.12"}


def test_hosts_use_sudo_and_the_lab_s_own_ssh_settings(tmp_path: Path) -> None:
    variables = build_hosts_file(record(tmp_path), [("host1", "10.77.3.11")])["all"]["vars"]
    assert variables["ansible_user"] == "ops"
    assert variables["ansible_become"] is True
    assert variables["ansible_ssh_common_args"] == f"-F {tmp_path / 'ssh_config'}"


def test_many_addresses_are_an_inventory_of_their_own(tmp_path: Path) -> None:
    write_inventories(record(tmp_path, addresses=30), PLAIN)
    few = yaml.safe_load((tmp_path / "inventory" / "hosts.yml").read_text())
    many = yaml.safe_load((tmp_path / "addresses" / "hosts.yml").read_text())
    assert len(few["all"]["children"]["kube_node"]["hosts"]) == 2
    assert list(many["all"]["children"]["kube_node"]["hosts"])[-1] == "n30"
    assert (tmp_path / "addresses" / "group_vars" / "all" / "gpustack.yml").exists()


def test_an_unknown_lab_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(locks, "MACHINE", tmp_path)
    with pytest.raises(LabError) as excinfo:
        locate_inventory("nobodys")
    assert excinfo.value.reference == "lab-not-up"
    assert excinfo.value.hint == "gpustack lab up --name nobodys"


def test_a_known_lab_has_its_inventories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(locks, "MACHINE", tmp_path)
    state.write(record(tmp_path / "state"))
    assert locate_inventory("two") == tmp_path / "state" / "inventory"
    assert locate_inventory("two", addresses=True) == tmp_path / "state" / "addresses"
