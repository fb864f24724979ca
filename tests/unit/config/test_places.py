"""A mistake in an inventory is reported with the file and the line that an operator has to change."""

from pathlib import Path

import pytest

from gpustack.config import inventory
from gpustack.config.ansible.origins import Origins, compose_document, find_line, read_origins
from gpustack.config.inventory import load_inventory
from gpustack.errors import ConfigError

HOSTS = """\
all:
  vars:
    ansible_user: ops
kube_control_plane:
  hosts:
    a: {ansible_host: 192.0.2.1}
kube_node:
  hosts:
    a:
    b[1:2]:
      gpustack_gpus: many
  vars:
    gpustack_mig: ALL
"""
GROUPS = {"all": ("a", "b1", "b2"), "kube_control_plane": ("a",), "kube_node": ("a", "b1", "b2")}


def write_site(folder: Path, hosts: str = HOSTS, **files: str) -> Path:
    for name, text in {"hosts.yml": hosts, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def read_refusal(site: Path | None, folder: Path) -> list[str]:
    """Return the lines of the error, without the folder."""
    with pytest.raises(ConfigError) as excinfo:
        load_inventory(site)
    return excinfo.value.reason.replace(f"{folder}/", "").splitlines()


SPEC = """\
# The spec.
gpustack:
  kubernetes:
    pod_cidr: 10.244.0.0/33
    "cert_sans": [ok.example.com,
      "no good"]
  flannel: {port: x}
  monitoring: &shared
    retention: 10 days
  serve:
    enabled: true
  cost:
    prices:
      - per_gpu_hour: 1
        currency: EUR
      - per_gpu_hour: cheap
        currency: EUR
"""


@pytest.mark.long
def test_mistakes_of_the_spec_and_of_hosts_have_their_lines(tmp_path: Path) -> None:
    files = {"group_vars/all/gpustack.yml": SPEC, "host_vars/a.yml": "x: 1\ngpustack_node_ip: here\n"}
    lines = read_refusal(write_site(tmp_path, **files), tmp_path)
    spec = "group_vars/all/gpustack.yml"
    assert [": ".join(line.split(": ")[:2]) for line in lines] == [
        "host_vars/a.yml:2, host a: gpustack_node_ip",
        "hosts.yml:11, hosts b1, b2: gpustack_gpus",
        "hosts.yml:13, hosts a, b1, b2: gpustack_mig",
        f"{spec}:4: gpustack.kubernetes.pod_cidr",
        f"{spec}:6: gpustack.kubernetes.cert_sans.1",
        f"{spec}:7: gpustack.flannel.port",
        f"{spec}:9: gpustack.monitoring.retention",
        f"{spec}:10: gpustack.serve.image",
        f"{spec}:16: gpustack.cost.prices.1.per_gpu_hour",
    ]


@pytest.mark.long
def test_a_spec_in_the_inventory_file_is_named_with_its_line(tmp_path: Path) -> None:
    hosts = HOSTS.replace("ansible_user: ops", "gpustack: {swp: off}").partition("    b[1")[0]
    (line,) = read_refusal(write_site(tmp_path, hosts), tmp_path)
    assert line.startswith("hosts.yml:3: gpustack.swp: a key that does not exist")


@pytest.mark.long
@pytest.mark.parametrize("owner", ["all", "kube_node"])
def test_a_spec_in_the_inventory_file_and_in_group_vars_is_split(tmp_path: Path, owner: str) -> None:
    hosts = f"{HOSTS.partition('    b[1')[0]}"
    hosts = (
        hosts.replace("ansible_user: ops", "gpustack: {cluster_name: x}")
        if owner == "all"
        else (f"{hosts}  vars:\n    gpustack: {{cluster_name: x}}\n")
    )
    site = write_site(tmp_path, hosts, **{"group_vars/all/gpustack.yml": "gpustack: {cluster_name: y}\n"})
    with pytest.raises(ConfigError) as excinfo:
        load_inventory(site)
    assert excinfo.value.reference == "config-spec-split"
    assert f"hosts.yml:{3 if owner == 'all' else 11}" in excinfo.value.reason


@pytest.mark.long
def test_the_spec_of_the_local_host_has_lines_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANSIBLE_CONFIG", "ANSIBLE_INVENTORY", "GPUSTACK_INVENTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inventory, "LOCAL_SPEC", tmp_path / "gpustack.yml")
    (tmp_path / "gpustack.yml").write_text("gpustack:\n  swap: perhaps\ngpustack_gpus: -1\n")
    lines = read_refusal(None, tmp_path)
    assert [line.partition(":")[2].partition(":")[0] for line in lines] == [
        "2",
        "3, host " + lines[1].split("host ")[1].split(":")[0],
    ]


def build_origins(folder: Path, **files: str) -> Origins:
    write_site(folder, **files)
    texts = {folder / name: text for name, text in {"hosts.yml": HOSTS, **files}.items()}
    return Origins(folder / "hosts.yml", GROUPS, texts)


@pytest.mark.parametrize(
    ("files", "places"),
    [
        ({}, ["hosts.yml:11"]),
        ({"group_vars/all/x.yml": "gpustack_gpus: many\n"}, ["hosts.yml:11"]),
        ({"host_vars/b1.yml": "\ngpustack_gpus: many\n"}, ["host_vars/b1.yml:2"]),
        ({"host_vars/b1/x": "gpustack_gpus: many\n"}, ["host_vars/b1/x:1"]),
        ({"host_vars/b1/x.yml": "a: 1\n", "host_vars/b1.yml": "gpustack_gpus: many\n"}, ["hosts.yml:11"]),
        ({"host_vars/b1/x.yml": "gpustack_gpus: 1\n", "host_vars/b1/y.yml": "gpustack_gpus: many\n"},
         ["host_vars/b1/y.yml:1"]),
        ({"host_vars/b1/x.yml": "gpustack_gpus: many\n", "host_vars/b1/y.yml": "gpustack_gpus: many\n"},
         ["host_vars/b1/x.yml:1", "host_vars/b1/y.yml:1"]),
        ({"host_vars/b1.yml": "a: &a {gpustack_gpus: many}\n<<: *a\n"}, ["host_vars/b1.yml:1"]),
        ({"host_vars/b1.yml": '{"gpustack_gpus": "many"}\n'}, ["host_vars/b1.yml:1"]),
    ],
)  # fmt: skip
def test_the_file_that_wins_for_ansible_is_named(tmp_path: Path, files: dict[str, str], places: list[str]) -> None:
    origins = build_origins(tmp_path, **files)
    assert origins.find_places("b1", "gpustack_gpus", "many") == tuple(f"{tmp_path}/{place}" for place in places)


def test_groups_that_may_both_win_are_both_named(tmp_path: Path) -> None:
    text = "gpustack_mig: ALL\n"
    files = {"group_vars/kube_node.yml": text, "group_vars/kube_control_plane.yml": text}
    origins = build_origins(tmp_path, **files)
    assert origins.find_places("a", "gpustack_mig", "ALL") == tuple(
        f"{tmp_path}/{name}:1" for name in ("group_vars/kube_node.yml", "group_vars/kube_control_plane.yml")
    )
    assert origins.find_places("a", "gpustack_node_ip", "x") == ()


def test_an_encrypted_file_or_a_program_that_may_win_is_named(tmp_path: Path) -> None:
    write_site(tmp_path, **{"group_vars/kube_node/vault.yml": "$ANSIBLE_VAULT;1.1;AES256\n3934\n"})
    origins = read_origins(tmp_path, GROUPS, tmp_path)
    vault = f"{tmp_path}/group_vars/kube_node/vault.yml"
    assert origins.find_places("b1", "gpustack_gpus", "many") == (f"{tmp_path}/hosts.yml:11",)
    assert origins.find_places("b1", "gpustack_gpus", 99) == (f"{tmp_path}/hosts.yml:11", vault)
    assert origins.find_places("b1", "gpustack_node_ip", "x") == (vault,)


@pytest.mark.long
def test_a_spec_of_a_program_is_not_looked_for_in_a_file_that_does_not_exist(tmp_path: Path) -> None:
    variables = '{"gpustack": {"swp": 1}}'
    hosts = f'{{"kube_control_plane": ["a"], "kube_node": ["a"], "_meta": {{"hostvars": {{"a": {variables}}}}}}}'
    (tmp_path / "hosts").write_text(f"#!/bin/sh\necho '{hosts}'\n")
    (tmp_path / "hosts").chmod(0o755)
    (line,) = read_refusal(tmp_path / "hosts", tmp_path)
    assert line.startswith("hosts: gpustack.swp: a key that does not exist")


def test_variables_of_an_ini_file_have_lines(tmp_path: Path) -> None:
    text = (
        "# x\n[kube_node]\nb[1:2] gpustack_gpus=many # all\n\n[kube_node:vars]\ngpustack_mig = ALL\n[all:vars]\ny=1\n"
    )
    origins = Origins(tmp_path / "hosts.ini", GROUPS, {tmp_path / "hosts.ini": text})
    assert origins.find_places("b2", "gpustack_gpus", "many") == (f"{tmp_path}/hosts.ini:3",)
    assert origins.find_places("b2", "gpustack_mig", "ALL") == (f"{tmp_path}/hosts.ini:6",)
    assert origins.find_places("a", "y", 1) == (f"{tmp_path}/hosts.ini:8",)


def test_a_missing_key_has_the_line_of_what_is_above() -> None:
    document = compose_document("a:\n  b.c:\n    - d: 1\n    - e: 2\n")
    assert [find_line(document, key.split("."), 0) for key in ("a.b.c", "a.b.c.1.e", "a.b.c.1.f", "a.x", "y")] == [
        2,
        4,
        4,
        1,
        0,
    ]
