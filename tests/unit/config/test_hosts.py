"""Hosts: groups, addresses, settings, and how each is reached."""

from typing import Any

import pytest

from gpustack.config.ansible.cfg import AnsibleCfg
from gpustack.config.ansible.connection import parse_connection
from tests.unit.config.specs import GROUPS, judge_spec, list_complaint_ids, list_complaints


def test_hosts_keep_the_order_of_the_inventory_after_control_planes() -> None:
    hosts, _, wrong = judge_spec(groups={"kube_node": ("h2", "h1"), "kube_control_plane": ("h1",)})
    assert wrong == []
    assert [(host.name, host.address, host.control_plane) for host in hosts] == [
        ("h1", "192.0.2.1", True),
        ("h2", "192.0.2.2", False),
    ]


@pytest.mark.parametrize(
    ("groups", "key", "near"),
    [
        ({"kube_node": ("h1",)}, "kube_control_plane", ""),
        ({"kube_control_plane": ("h1",), "workers_kube_node": ("h1",)}, "kube_node", "workers_kube_node"),
        ({"kube_control_plane": ("h1",), "kube_node": ()}, "kube_node", ""),
    ],
)
def test_an_empty_group_is_reported(groups: Any, key: str, near: str) -> None:
    (complaint,) = list_complaints(groups=groups)
    assert (complaint.key, complaint.reference, complaint.nearest) == (key, "inventory-group-empty", near)


def test_an_empty_inventory_has_two_empty_groups() -> None:
    assert list_complaint_ids(groups={}) == [
        ("kube_control_plane", "inventory-group-empty"),
        ("kube_node", "inventory-group-empty"),
    ]


def test_several_control_planes_are_refused() -> None:
    assert list_complaint_ids(groups={**GROUPS, "kube_control_plane": ("h1", "h2")}) == [
        ("kube_control_plane", "control-plane-several")
    ]


@pytest.mark.parametrize(
    ("h2", "key"),
    [
        ({"ansible_host": "192.0.2.1"}, "ansible_host"),
        ({"ansible_host": "192.0.2.1", "ansible_port": 22}, "ansible_host"),
        ({"gpustack_node_ip": "10.9.0.1"}, "gpustack_node_ip"),
    ],
)
def test_an_address_given_twice_is_refused(h2: Any, key: str) -> None:
    (complaint,) = list_complaints(h1={"gpustack_node_ip": "10.9.0.1"}, h2=h2)
    assert (complaint.key, complaint.reference) == (key, "inventory-address-twice")
    assert complaint.actual.endswith("for h1 and h2")


def test_an_address_like_an_ssh_option_is_refused() -> None:
    (complaint,) = list_complaints(h1={"ansible_host": "-oProxyCommand=id"})
    assert (complaint.key, complaint.reference, complaint.rule) == (
        "ansible_host",
        "config-invalid",
        "a name or an address",
    )


def test_one_address_with_two_ports_is_two_hosts() -> None:
    assert list_complaints(h2={"ansible_host": "192.0.2.1", "ansible_port": 2222}) == []


def test_settings_of_a_host_are_read() -> None:
    assert str(judge_spec(h1={"gpustack_node_ip": "10.9.0.1"})[0][0].spec.gpustack_node_ip) == "10.9.0.1"
    (complaint,) = list_complaints(h1={"gpustack_node_ipp": "10.9.0.1"})
    assert (complaint.key, complaint.reference, complaint.nearest) == (
        "gpustack_node_ipp",
        "config-unknown-key",
        "gpustack_node_ip",
    )
    assert complaint.file == "nowhere/site/hosts.yml, host h1"
    (complaint,) = list_complaints(h1={"gpustack_node_ip": "10.9.0"})
    assert complaint.rule == "an IPv4 address such as 192.0.2.11"


def test_a_host_to_ignore_leaves_its_group() -> None:
    (complaint,) = list_complaints(h2={"gpustack_ignore": True})
    assert (complaint.key, complaint.actual) == ("gpustack_ignore", "true for a host in kube_node")
    assert "take the host out of kube_node" in complaint.rule
    assert complaint.nearest == ""
    assert list_complaints(h2={"gpustack_ignore": False}) == []


def test_the_same_mistake_of_many_hosts_is_reported_once() -> None:
    many = tuple(f"n{number}" for number in range(9))
    (complaint,) = list_complaints(
        groups={**GROUPS, "kube_node": many}, host_variables={"ansible_become_method": "doas"}
    )
    assert complaint.file == "nowhere/site/hosts.yml, hosts h1, n0, n1 and 7 more"


@pytest.mark.parametrize(
    "variables",
    [
        {"ansible_port": "{{ port }}"},
        {"ansible_user": "{% if a %}b{% endif %}"},
        {"gpustack_node_ip": "{{ ansible_host }}"},
    ],
)
def test_jinja_in_variables_of_ours_is_refused(variables: Any) -> None:
    (complaint,) = list_complaints(h1=variables)
    assert (complaint.key, complaint.reference) == (next(iter(variables)), "config-jinja")


def test_jinja_in_the_spec_is_reported_once_with_its_file() -> None:
    spec = {"kubernetes": {"endpoint": "{{ vip }}:6443", "cert_sans": ["a.b", "{{ name }}"]}}
    resolved_hosts = [
        (complaint.file, complaint.key) for complaint in list_complaints(spec) if complaint.reference == "config-jinja"
    ]
    file = "nowhere/site/group_vars/all/gpustack.yml"
    assert resolved_hosts == [(file, "gpustack.kubernetes.endpoint"), (file, "gpustack.kubernetes.cert_sans.1")]


def test_jinja_elsewhere_is_nobodys_business() -> None:
    assert list_complaints(host_variables={"my_variable": "{{ other }}", "ansible_winrm_path": "{{ x }}"}) == []


def test_vaulted_single_values_and_templates_of_passwords_are_refused_without_being_shown() -> None:
    for value, reference in (
        ({"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\n3934"}, "become-vaulted-value"),
        ("{{ 'hunter2' }}", "config-jinja"),
    ):
        (complaint,) = list_complaints(h1={"ansible_become_password": value})
        assert complaint.reference == reference
        assert "hunter2" not in str(complaint)
        assert "3934" not in str(complaint)


@pytest.mark.parametrize(
    ("variables", "key"),
    [
        ({"ansible_password": "hunter2"}, "ansible_password"),
        ({"ansible_ssh_pass": "hunter2"}, "ansible_ssh_pass"),
        ({"ansible_connection": "docker"}, "ansible_connection"),
        ({"ansible_connection": "paramiko_ssh"}, "ansible_connection"),
        ({"ansible_become_method": "su"}, "ansible_become_method"),
        ({"ansible_become_user": "admin"}, "ansible_become_user"),
        ({"ansible_become_flags": "-i"}, "ansible_become_flags"),
        ({"ansible_become_exe": "doas"}, "ansible_become_exe"),
        ({"ansible_become_exe": "/opt/bin/sudo"}, "ansible_become_exe"),
        ({"ansible_become_exe": "sudo.ws; id"}, "ansible_become_exe"),
        ({"ansible_sudo_exe": "/opt/bin/sudo"}, "ansible_become_exe"),
        ({"ansible_ssh_executable": "/opt/ssh"}, "ansible_ssh_executable"),
        ({"ansible_ssh_common_args": "-N host2"}, "ansible_ssh_common_args"),
    ],
)
def test_what_cannot_be_honoured_is_refused(variables: Any, key: str) -> None:
    (complaint,) = list_complaints(h1=variables)
    assert (complaint.key, complaint.reference) == (key, "connection-unsupported")
    assert "hunter2" not in str(complaint)


@pytest.mark.parametrize("port", ["ssh", 0, 65536, "-1", True])
def test_a_malformed_port_is_refused(port: Any) -> None:
    assert list_complaint_ids(h1={"ansible_port": port}) == [("ansible_port", "config-invalid")]


def test_broken_quotes_in_ssh_arguments_are_refused() -> None:
    assert list_complaint_ids(h1={"ansible_ssh_common_args": "-o 'x"}) == [
        ("ansible_ssh_common_args", "config-invalid")
    ]


def test_variables_of_ansible_are_honoured() -> None:
    given_variables = {
        "ansible_host": "192.0.2.9",
        "ansible_port": "2222",
        "ansible_user": "ops",
        "ansible_ssh_private_key_file": "~/.ssh/key",
        "ansible_ssh_common_args": "-J 'jump host' -o ControlMaster=no",
        "ansible_become_password": "s3cret",
        "ansible_python_interpreter": "/usr/bin/python3.12",
    }
    host = judge_spec(h1=given_variables)[0][0]
    assert (host.address, host.port, host.user, host.key_file) == ("192.0.2.9", 2222, "ops", "~/.ssh/key")
    assert host.ssh_args == ("-J", "jump host", "-o", "ControlMaster=no")
    assert (host.become_password, host.python) == ("s3cret", "/usr/bin/python3.12")
    assert "s3cret" not in repr(host)


@pytest.mark.parametrize("exe", ["sudo", "sudo.ws", "/usr/bin/sudo", "/usr/bin/sudo.ws"])
def test_the_sudo_that_is_named_is_taken(exe: str) -> None:
    assert judge_spec(h1={"ansible_become_exe": exe})[0][0].become_exe == exe
    assert judge_spec(h1={"ansible_become_exe": "sudo", "ansible_sudo_exe": exe})[0][0].become_exe == exe
    fields, wrong = parse_connection("h", {}, AnsibleCfg(None, "", "", "", "", become_exe=exe), None)
    assert (fields["become_exe"], wrong) == (exe, [])


def test_a_typed_password_is_for_hosts_whose_variables_hold_none() -> None:
    """Ansible does the same, so that a question offers a host no other password than a play does."""
    hosts, *_ = judge_spec(password="typed", h1={"ansible_become_pass": "own"}, h2={})
    assert [host.become_password for host in hosts] == ["own", "typed"]


def test_ansible_cfg_counts_behind_the_inventory() -> None:
    cfg = AnsibleCfg(None, "", "root", "/k", "-F /f", remote_port="2200", transport="ssh", become_method="sudo")
    fields, wrong = parse_connection("h", {"ansible_user": "ops"}, cfg, None)
    assert wrong == []
    assert (fields["user"], fields["port"], fields["key_file"], fields["ssh_args"]) == ("ops", 2200, "/k", ("-F", "/f"))
    _, wrong = parse_connection("h", {}, AnsibleCfg(None, "", "", "", "", become_method="doas", become_user="x"), None)
    assert [complaint.key for complaint in wrong] == ["ansible_become_method", "ansible_become_user"]


STANDALONE: Any = {"gpu_standalone": ("h1", "h2")}


def test_hosts_without_kubernetes_alone_are_an_inventory() -> None:
    assert list_complaint_ids(groups=STANDALONE) == []
    assert list_complaint_ids(groups={**STANDALONE, "kube_node": ()}) == []


def test_a_host_of_a_cluster_and_without_kubernetes_is_named_with_its_key() -> None:
    complaints = list_complaints(groups={**GROUPS, "gpu_standalone": ("h2",)})
    assert [(complaint.key, complaint.reference) for complaint in complaints] == [
        ("gpu_standalone.hosts.h2", "host-in-both")
    ]
    assert "kube_node" in complaints[0].actual


def test_a_group_of_the_cluster_that_lacks_its_other_half_is_named_beside_standalone_hosts_too() -> None:
    groups = {"kube_node": ("h1",), "gpu_standalone": ("h2",)}
    assert list_complaint_ids(groups=groups) == [("kube_control_plane", "inventory-group-empty")]


@pytest.mark.parametrize(
    "key", ["kubernetes.io/x", "node-role.kubernetes.io/gpu", "a.k8s.io/x", "nvidia.com/gpu.present", "gpustack.io/x"]
)
def test_a_label_in_a_protected_domain_is_refused_by_its_key(key: str) -> None:
    (complaint,) = list_complaints(h1={"gpustack_labels": {key: "a", "example.com/pool": "b"}})
    assert (complaint.key, complaint.actual) == (f"gpustack_labels.{key}", f"'{key}'")
    assert "a key outside kubernetes.io, k8s.io, nvidia.com, gpustack.io" in complaint.rule


@pytest.mark.parametrize(
    "labels", [{"-a": "x"}, {"a": "x y"}, {"a": 1}, {"a" * 64: "x"}, {"a": "x" * 64}, {"a/b/c": "x"}, {"E.com/a": "x"}]
)
def test_a_label_that_the_api_would_refuse_is_refused(labels: Any) -> None:
    assert len(list_complaints(h1={"gpustack_labels": labels})) == 1


@pytest.mark.parametrize("taint", ["a", "a:NoExecute", "a=b c:NoSchedule", "gpustack.io/unproven:NoSchedule"])
def test_a_taint_that_cannot_be_or_would_end_pods_is_refused(taint: str) -> None:
    (complaint,) = list_complaints(h1={"gpustack_taints": [taint]})
    assert (complaint.key, complaint.actual) == ("gpustack_taints.0", f"'{taint}'")


def test_two_taints_of_one_key_and_effect_are_refused() -> None:
    (complaint,) = list_complaints(h1={"gpustack_taints": ["a=b:NoSchedule", "a=c:NoSchedule"]})
    assert complaint.rule == "one taint for each key and effect, such as example.com/team=research:NoSchedule"
    assert list_complaints(h1={"gpustack_taints": ["a=b:NoSchedule", "a=c:PreferNoSchedule"]}) == []


def test_labels_and_taints_of_a_host_are_read() -> None:
    marks = {"gpustack_labels": {"example.com/a.b_c": "", "x": "1"}, "gpustack_taints": ["nvidia.com/gpu:NoSchedule"]}
    spec = judge_spec(h1=marks)[0][0].spec
    assert (spec.gpustack_labels, spec.gpustack_taints) == (marks["gpustack_labels"], ("nvidia.com/gpu:NoSchedule",))


def test_hosts_with_labels_are_equal_and_have_one_place_in_a_set() -> None:
    labels: Any = ({"a": "1", "b": "2"}, {"b": "2", "a": "1"}, {"a": "3", "b": "2"})
    hosts = [judge_spec(h1={"gpustack_labels": marks})[0][0] for marks in labels]
    assert (len({*hosts}), len({hosts[0], hosts[1]})) == (2, 1)
