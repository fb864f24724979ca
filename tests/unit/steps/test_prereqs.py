import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.script import format_command
from gpustack.config.host import Host
from gpustack.probes.host.system import OS
from gpustack.steps.prereqs.step import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.hosts import H1, H2, judge
from tests.worlds.snapshots.judge import list_failures

PROXY = "/etc/gpustack-cluster/proxy.env"


def test_a_fresh_host_is_for_install() -> None:
    assert list_failures(judge(STEP, state="fresh")) == {
        "packages": ("missing: conntrack, ethtool, ipset, socat", "install"),
        "modules-at-boot": ("nothing", "install"),
        "sysctls-at-boot": ("nothing", "install"),
    }


@pytest.mark.parametrize(
    ("case", "actual"), [("rocky-9", "rocky 9.6"), ("debian-sid", "debian "), ("ubuntu-24.04-arm64", None)]
)
def test_unsupported_systems_are_refused(case: str, actual: str | None) -> None:
    expected = {"system": (actual, "operator")} if actual else {}
    assert list_failures(judge(STEP, place_answers("h1", read_case("system.os", case)))) == expected


def test_another_architecture_is_refused() -> None:
    answer = read_case("system.os", "fresh-debian-12", ("x86_64", "riscv64"))
    assert list_failures(judge(STEP, {("system.os", "h1"): answer})) == {"architecture": ("riscv64", "operator")}


@pytest.mark.parametrize("case", ["debian-12-armhf", "debian-13-riscv64"])
def test_an_architecture_without_packages_is_refused(case: str) -> None:
    judgements = judge(STEP, place_answers("h1", read_case("system.os", case)))
    wrong = judgements["architecture"].result
    assert wrong
    assert (wrong.actual, wrong.cure) == (case.rpartition("-")[2], "operator")
    assert judgements["system"].result is None


@pytest.mark.parametrize(("says", "arch"), [("echo armhf", "armhf"), ("exit 127", "riscv64")])
def test_what_dpkg_installs_for_counts_and_not_the_kernel(tmp_path: Path, says: str, arch: str) -> None:
    """Raspberry Pi OS has a 32-bit system on a 64-bit kernel."""
    for name, text in {"dpkg": says, "uname": "echo riscv64"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    process = subprocess.run(
        ["sh", "-c", format_command(OS)], capture_output=True, text=True, env=env, check=True, timeout=60
    )
    assert OS.extract_fact(Answer(OS.id, "h1", 0, process.stdout)).arch == arch


def test_capacity_names_all_that_is_short() -> None:
    answers = place_answers("h1", read_case("system.capacity", "small"))
    assert list_failures(judge(STEP, answers)) == {"capacity": ("1 CPUs, 990 MiB of memory", "operator")}
    assert list_failures(judge(STEP, answers, {"minimum": {"cpus": 1, "memory_mib": 900, "disk_gib": 50}})) == {}


def test_free_disk_is_judged_before_the_first_installation() -> None:
    """Afterwards images fill it, and the kubelet sees to that."""
    answers = place_answers("h1", read_case("system.capacity", "small"))
    spec = {"minimum": {"cpus": 1, "memory_mib": 900, "disk_gib": 50}}
    assert list_failures(judge(STEP, answers, spec, state="fresh"))["capacity"] == ("5 GiB free below /var", "operator")


def test_cgroup_v1_needs_the_operators_word() -> None:
    result = judge(STEP, spec={"kubelet": {}})["cgroup-version"].result
    assert result
    assert (result.actual, result.cure) == ("1", "operator")
    assert "kubelet.failCgroupV1" in result.hint
    assert list_failures(judge(STEP, place_answers("h1", read_case("system.cgroup", "v2")), {"kubelet": {}})) == {}


@pytest.mark.parametrize(
    ("line", "pythons", "hint"),
    [
        ("2.19.14", "3.7", "apt-get install python3"),
        ("2.19.14", "3.8", ""),
        ("2.19.14", "3.13", ""),
        ("2.19.14", "3.14\n3.14", "on a newer Python"),
        ("2.19.14", "3.9\n3.14\n3.14", ""),
        ("2.21.5", "3.8\n3.8", "apt-get install python3"),
        ("2.21.5", "3.14\n3.14", ""),
        ("2.21.5", "-", "apt-get install python3"),
    ],
)
def test_a_python_that_ansible_lacks_is_refused(
    line: str, pythons: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ansible takes the newest one that it knows by name, else the one called python3."""
    monkeypatch.setattr("importlib.metadata.version", lambda name: {"ansible-core": line}[name])
    mismatch = judge(STEP, place_answers("h1", make_answer("system.python", f"{pythons}\n")))["python"].result
    assert (hint in mismatch.hint and mismatch.cure == "operator") if mismatch else not hint


@pytest.mark.parametrize(
    ("host", "case", "hint"),
    [
        (replace(H1, become_password="x"), "sudo-rs-password", "ansible_become_exe: sudo.ws"),
        (replace(H1, become_password="x", become_exe="/usr/bin/sudo"), "sudo-rs-password", "ansible_become_exe"),
        (replace(H1, become_password="x"), "sudo-rs-alone", "install sudo beside"),
        (replace(H1, become_password="x", become_exe="sudo.ws"), "sudo-rs-password", ""),
        (replace(H1, become_password="x", become_exe="/usr/bin/sudo.ws"), "sudo-rs-password", ""),
        (replace(H1, become_password="x"), "sudo-rs-free", ""),
        (replace(H1, become_password="x"), "sudo", ""),
        (replace(H1, become_password="x"), "root-login", ""),
        (H1, "sudo-rs-password", ""),
    ],
)
def test_a_sudo_that_takes_no_password_from_ansible_is_refused(host: Host, case: str, hint: str) -> None:
    answers = place_answers("h1", read_case("system.sudo", case))
    mismatch = judge(STEP, answers, hosts=(host, H2))["sudo"].result
    assert (hint in mismatch.hint and mismatch.cure == "operator") if mismatch else not hint
    assert mismatch is None or hint


def test_a_sudo_without_an_answer_is_unknown() -> None:
    answers = place_answers("h1", make_answer("system.sudo", "doas 6.3\n"))
    assert judge(STEP, answers, hosts=(replace(H1, become_password="x"), H2))["sudo"].outcome == "unknown"


def test_the_operator_may_name_the_python() -> None:
    answers = place_answers("h1", read_case("system.python", "none"))
    assert list_failures(judge(STEP, answers)) == {"python": ("none", "operator")}
    assert list_failures(judge(STEP, answers, hosts=(replace(H1, python="/opt/python/bin/python3"), H2))) == {}
    assert list_failures(judge(STEP, answers, hosts=(replace(H1, connection="local"), H2))) == {}


@pytest.mark.parametrize("name", ["gpu_1", "-gpu", "gpu-", "a..b", "localhost", "n" * 64, "localhost.localdomain"])
def test_names_that_no_node_can_have_are_refused(name: str) -> None:
    assert list_failures(judge(STEP, place_answers("h1", make_answer("system.hostname", f"{name}\n")))) == {
        "node-name": (name, "operator")
    }


@pytest.mark.parametrize("name", ["gpu1", "GPU-Node1.Example.com", "1", "n" * 63])
def test_names_that_a_node_can_have_are_accepted(name: str) -> None:
    assert list_failures(judge(STEP, place_answers("h1", make_answer("system.hostname", f"{name}\n")))) == {}


def test_two_hosts_of_one_name_are_refused() -> None:
    answers = {
        ("system.hostname", host): make_answer("system.hostname", name)
        for host, name in (("h1", "gpu\n"), ("h2", "GPU\n"))
    }
    assert list_failures(judge(STEP, answers)) == {"node-name": ("gpu, as on h2", "operator")}
    assert list_failures(judge(STEP, answers, on="h2")) == {"node-name": ("gpu, as on h1", "operator")}


def test_copies_of_one_disk_are_refused() -> None:
    machine, uuid = "ab" * 16, "DEF01234-0000-0000-0000-0123456789AB"
    answers = {
        ("system.identity", host): make_answer("system.identity", f"{machine}\n{uuid}\n") for host in ("h1", "h2")
    }
    assert list_failures(judge(STEP, answers)) == {
        "machine-id": (f"{machine}, as on h2", "operator"),
        "product-uuid": (f"{uuid.lower()}, as on h2", "operator"),
    }


@pytest.mark.parametrize(
    "uuid",
    [
        "03000200-0400-0500-0006-000700080009",
        "00020003-0004-0005-0006-000700080009",
        "12345678-1234-5678-90ab-cddeefaabbcc",
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
    ],
)
def test_what_a_vendor_wrote_into_every_board_is_no_identity(uuid: str) -> None:
    ids = {"h1": "ab" * 16, "h2": "cd" * 16}
    answers = {("system.identity", host): make_answer("system.identity", f"{id}\n{uuid}\n") for host, id in ids.items()}
    assert list_failures(judge(STEP, answers)) == {}


def test_an_unreached_host_is_compared_when_it_joins() -> None:
    answers = {("system.identity", host): make_answer("system.identity", f"{'ab' * 16}\n\n") for host in ("h1", "h2")}
    assert judge(STEP, answers, unreached_hosts=("h2",))["machine-id"].outcome == "ok"


def test_a_host_without_a_machine_id_is_refused() -> None:
    answers = {("system.identity", host): read_case("system.identity", "no-machine-id") for host in ("h1", "h2")}
    assert list_failures(judge(STEP, answers)) == {"machine-id": ("none", "operator")}


def test_the_nodes_address_is_on_the_host() -> None:
    """h1 has gpustack_node_ip, h2 has none: its default route tells."""
    other_answer = make_answer(
        "network.addresses", "1: lo    inet 127.0.0.1/8 scope host lo\n2: eno1    inet 10.9.0.4/16 scope global eno1\n"
    )
    answers = {("network.addresses", host): other_answer for host in ("h1", "h2")}
    assert list_failures(judge(STEP, answers))["node-address"] == ("10.9.0.4, 127.0.0.1", "operator")
    assert list_failures(judge(STEP, answers, on="h2"))["node-address"] == ("10.9.0.4, 127.0.0.1", "operator")
    no_route = place_answers("h2", read_case("network.address", "no-default-route"))
    assert "Network is unreachable" in judge(STEP, no_route, on="h2")["node-address"].reason


def test_taken_ports_are_for_the_operator() -> None:
    answers = {
        ("network.listeners", host): read_case("network.listeners", "drifted-debian-12") for host in ("h1", "h2")
    }
    assert list_failures(judge(STEP, answers)) == {
        "ports": ("taken: 10250/tcp by python3, 6443/tcp by python3", "operator")
    }
    assert list_failures(judge(STEP, answers, on="h2")) == {"ports": ("taken: 10250/tcp by python3", "operator")}


def test_ports_of_kubernetes_itself_are_its_own() -> None:
    assert list_failures(judge(STEP, place_answers("h1", read_case("network.listeners", "control-plane")))) == {}


def test_a_taken_vxlan_port_is_for_the_operator() -> None:
    line = 'udp UNCONN 0 0 0.0.0.0:8472 0.0.0.0:* users:(("openvpn",pid=7,fd=3))\n'
    answers = place_answers("h1", make_answer("network.listeners", line))
    assert list_failures(judge(STEP, answers)) == {"ports": ("taken: 8472/udp by openvpn", "operator")}
    assert list_failures(judge(STEP, answers, {"flannel": {"port": 4789}})) == {}


def test_another_kubernetes_is_for_the_operator() -> None:
    answers = {
        ("leftovers.kubernetes", host): read_case("leftovers.kubernetes", "drifted-debian-12") for host in ("h1", "h2")
    }
    result = judge(STEP, answers)["other-clusters"].result
    assert result
    assert result.actual == "a node of the cluster at 192.168.7.20:6443, k3s"
    assert result.hint.startswith("k3s-uninstall.sh")


@pytest.mark.parametrize("server", ["10.77.1.11:6443", "127.0.0.1:6443"])
def test_our_own_cluster_is_no_other(server: str) -> None:
    answers = place_answers("h1", make_answer("leftovers.kubernetes", f"https://{server}\n"))
    assert list_failures(judge(STEP, answers)) == {}


def test_a_worker_of_another_cluster_needs_a_foreign_reset() -> None:
    answers = place_answers("h2", make_answer("leftovers.kubernetes", "https://127.0.0.1:6443\n"))
    result = judge(STEP, answers, on="h2")["other-clusters"].result
    assert result
    assert result.hint.startswith("gpustack reset -i hosts.yml --limit h2 --foreign")


def test_a_missing_time_service_is_for_install() -> None:
    """The lab's hosts have none: with `managed` that differs, and the clock says so too."""
    failures = list_failures(judge(STEP, spec={"time_sync": "managed"}))
    assert {check: cure for check, (_, cure) in failures.items()} == {
        "time-service": "install",
        "clock-synchronised": "install",
    }


def test_chrony_is_a_time_service() -> None:
    answers = place_answers(
        "h1", read_case("units.services", "ubuntu-chrony"), read_case("units.clock", "synchronised")
    )
    assert list_failures(judge(STEP, answers, {"time_sync": "managed"})) == {}


def test_changed_files_of_the_proxy_are_for_install() -> None:
    proxy = {"http": "http://p:3128", "user": "me", "password_file": "/p"}
    answers = place_answers("h1", read_case("egress.files", "proxied"))
    assert "egress" not in list_failures(judge(STEP, answers, {"proxy": proxy}))
    drifted_files = place_answers("h1", read_case("egress.files", "drifted"))
    assert list_failures(judge(STEP, drifted_files, {"proxy": proxy}))["egress"] == (
        f"/etc/apt/auth.conf.d/gpustack-proxy.conf with mode 0644 instead of 0600; {PROXY} with different content",
        "install",
    )


def test_a_host_that_cannot_tell_its_name_takes_no_other_with_it() -> None:
    garbage = {(probe, "h2"): make_answer(probe, "\x1b[2J\n") for probe in ("system.hostname", "system.identity")}
    assert list_failures(judge(STEP, garbage)) == {}
    unknown_checks = [
        check for check, judgement in judge(STEP, garbage, on="h2").items() if judgement.outcome == "unknown"
    ]
    assert unknown_checks == ["node-name", "machine-id", "product-uuid"]
