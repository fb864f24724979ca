"""The lab's own promises: its hosts are real, each lab keeps to itself, and nothing of it stays."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack.errors import LabError
from gpustack_lab import lab
from gpustack_lab.lab import cgroups, leftovers, state
from tests.lab.footprint import find_leftovers, list_footprint

pytestmark = pytest.mark.lab

NAME = f"t{os.getpid()}-hosts"
OTHER_LAB = f"t{os.getpid()}-other"
ALONE = f"t{os.getpid()}-alone"
BOTH_HOSTS = ("host1", "host2")
SWAPOFF = "import ctypes;libc=ctypes.CDLL(None,use_errno=True);libc.swapoff(b'/');print(ctypes.get_errno())"


@pytest.fixture(scope="module")
def before() -> set[str]:
    return list_footprint()


@pytest.fixture(scope="module")
def two(before: set[str]) -> Iterator[lab.Lab]:
    lab.remove_lab(NAME)
    yield lab.create_lab(NAME, releases=["debian-12", "debian-13"])
    lab.remove_lab(NAME, graceful=False)


def run_script(on: lab.Lab, host: str, script: str) -> str:
    process = on.exec(host, ["sh", "-c", script], limit=120)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


def wait_for_host(on: lab.Lab, host: str, *, limit: float = 60.0) -> None:
    deadline = time.monotonic() + limit
    while on.exec(host, ["true"], limit=30).returncode != 0:
        assert time.monotonic() < deadline, f"{host} does not come back"
        time.sleep(0.2)


def test_systemd_is_pid_1_and_nothing_failed(two: lab.Lab) -> None:
    for host in BOTH_HOSTS:
        assert run_script(two, host, "cat /proc/1/comm") == "systemd"
        assert run_script(two, host, "systemctl is-system-running --wait") == "running"


def test_releases_are_mixed_as_asked(two: lab.Lab) -> None:
    assert [run_script(two, host, ". /etc/os-release; echo $ID-$VERSION_ID") for host in BOTH_HOSTS] == [
        "debian-12",
        "debian-13",
    ]


def test_hosts_are_different_machines(two: lab.Lab) -> None:
    assert [run_script(two, host, "hostname") for host in BOTH_HOSTS] == list(BOTH_HOSTS)
    for file in ("/etc/machine-id", "/etc/ssh/ssh_host_ed25519_key.pub", "/sys/class/net/host0/address"):
        assert len({run_script(two, host, f"cat {file}") for host in BOTH_HOSTS}) == 2


def test_hosts_are_bare(two: lab.Lab) -> None:
    """The product installs what a cluster needs."""
    for host in BOTH_HOSTS:
        assert run_script(two, host, "ls /usr/sbin/conntrack /usr/bin/socat /usr/bin/containerd 2>/dev/null || :") == ""


def test_hosts_have_a_sudo_user_and_no_root_login(two: lab.Lab) -> None:
    assert run_script(two, "host1", "id -un; sudo -n id -un").split() == ["ops", "root"]
    process = subprocess.run(
        ["ssh", "-F", two.ssh_config, "-o", "BatchMode=yes", "root@host1", "true"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert process.returncode == 255
    assert "Permission denied" in process.stderr


def test_apt_works(two: lab.Lab) -> None:
    for host in BOTH_HOSTS:
        run_script(
            two, host, "sudo apt-get -qq update && sudo apt-get -qq install --yes --no-install-recommends ethtool"
        )
        assert run_script(two, host, "dpkg-query -Wf '${db:Status-Status}' ethtool") == "installed"


def test_hosts_reach_each_other_by_address(two: lab.Lab) -> None:
    assert " 0% packet loss" in run_script(two, "host1", f"ping -c 2 -W 2 {two.hosts[1].address}")


@pytest.mark.parametrize("address", ["10.96.0.1", "10.244.1.9", "10.77.255.1"])
def test_addresses_that_mean_nothing_outside_are_refused_at_once(two: lab.Lab, address: str) -> None:
    """An untranslated Service, a pod, another lab."""
    connect = f"import socket; socket.create_connection(('{address}', 443), timeout=10)"
    start = time.monotonic()
    process = two.exec("host1", ["python3", "-c", connect], limit=30)
    assert "ConnectionRefusedError" in process.stderr
    assert time.monotonic() - start < 5


def test_the_machine_s_swap_clock_and_modules_are_out_of_reach(two: lab.Lab) -> None:
    for host in BOTH_HOSTS:
        assert run_script(two, host, f'sudo python3 -c "{SWAPOFF}"') == "1"  # EPERM
        assert two.exec(host, ["sudo", "date", "--set", "2001-01-01"]).returncode != 0
        capabilities = int(run_script(two, host, "sudo grep CapEff /proc/self/status").split()[1], 16)
        assert not capabilities >> 16 & 1  # CAP_SYS_MODULE


def test_swapoff_of_everything_leaves_the_machine_s_swap_on(two: lab.Lab, tmp_path: Path) -> None:
    file = state.locate_cache() / "swap-of-a-test"
    with file.open("wb") as empty:
        empty.write(bytes(8 << 20))
    file.chmod(0o600)
    try:
        subprocess.run(["mkswap", file], check=True, capture_output=True, timeout=30)
        on = subprocess.run(["swapon", file], check=False, capture_output=True, text=True, timeout=30)
        if on.returncode != 0:
            pytest.skip(f"no swap can be turned on here: {on.stderr}")
        swapoff = two.exec("host1", ["sudo", "swapoff", str(file)])
        assert swapoff.returncode != 0
        assert "Not superuser" in swapoff.stderr  # so util-linux calls EPERM
        two.exec("host1", ["sudo", "swapoff", "--all"])
        assert str(file) in Path("/proc/swaps").read_text()
        lab.create_lab(NAME, releases=["debian-12", "debian-13"])
        assert "swap: keep" in (two.inventory / "group_vars" / "all" / "gpustack.yml").read_text()
    finally:
        subprocess.run(["swapoff", file], check=False, capture_output=True, timeout=30)
        file.unlink()


def test_restored_disks_are_those_that_were_saved(two: lab.Lab) -> None:
    machine = run_script(two, "host2", "echo saved > state; sync; cat /etc/machine-id")
    two.save("clean")
    run_script(two, "host2", "echo changed > state; sudo rm -r /usr/bin/ssh; sync")
    two.restore("clean")
    assert run_script(two, "host2", "cat state /etc/machine-id").split() == ["saved", machine]
    with pytest.raises(LabError, match="no snapshot 'other'"):
        two.restore("other")


def test_a_host_reboots_from_inside(two: lab.Lab) -> None:
    boot = "cat /proc/sys/kernel/random/boot_id"
    first = run_script(two, "host1", boot)
    two.exec("host1", ["sudo", "systemctl", "reboot"])
    deadline = time.monotonic() + 60
    while (answer := two.exec("host1", ["sh", "-c", boot])).returncode != 0 or answer.stdout.strip() == first:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert run_script(two, "host1", "systemctl is-system-running --wait") == "running"


def test_a_second_lab_keeps_to_itself_and_has_many_addresses(two: lab.Lab) -> None:
    before = list_footprint()
    other_lab = lab.create_lab(OTHER_LAB, releases=["debian-12"], addresses=30)
    try:
        assert other_lab.record.net != two.record.net
        assert other_lab.record.bridge != two.record.bridge
        many = [
            ["ssh", "-F", str(other_lab.ssh_config), extra.name, "hostname"] for extra in other_lab.record.addresses
        ]
        logins = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for words in many]
        assert [login.communicate(timeout=120)[0].strip() for login in logins] == ["host1"] * 30
    finally:
        other_lab.remove()
    assert find_leftovers(OTHER_LAB, before) == set()
    assert run_script(two, "host1", "sudo apt-get -qq update && echo fine") == "fine"


def test_up_again_starts_what_was_powered_off(two: lab.Lab) -> None:
    two.exec("host2", ["sudo", "systemctl", "poweroff"])
    deadline = time.monotonic() + 60
    while cgroups.list_processes(two.record.format_group_name("host2")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    lab.create_lab(NAME, releases=["debian-12", "debian-13"])
    assert run_script(two, "host2", "hostname") == "host2"
    with pytest.raises(LabError) as excinfo:
        lab.create_lab(NAME, releases=["debian-13"])
    assert excinfo.value.reference == "lab-already-up"


@pytest.mark.parametrize("on_bridge", [True, False])
def test_a_link_that_outlives_its_killed_host_is_not_in_the_way(two: lab.Lab, *, on_bridge: bool) -> None:
    """The kernel may keep it for a minute. What it keeps is made here by hand, with a peer in no host."""
    group, link = two.record.format_group_name("host1"), two.record.format_link_name(two.hosts[0])
    cgroups.kill(group)
    subprocess.run(["ip", "link", "delete", link], check=False, capture_output=True, timeout=30)
    peer = ["type", "veth", "peer", "name", f"vp-{two.record.mark}"]
    subprocess.run(["ip", "link", "add", "name", link, *peer], check=True, timeout=30)
    if on_bridge:
        subprocess.run(["ip", "link", "set", link, "master", two.record.bridge], check=True, timeout=30)
    start = time.monotonic()
    lab.create_lab(NAME, releases=["debian-12", "debian-13"])
    assert run_script(two, "host1", "hostname") == "host1"
    assert time.monotonic() - start < 30


def test_down_leaves_nothing_also_when_run_twice(two: lab.Lab, before: set[str]) -> None:
    two.remove()
    assert find_leftovers(NAME, before) == set()
    assert lab.remove_lab(NAME) is False
    with pytest.raises(LabError) as excinfo:
        lab.find_lab(NAME)
    assert excinfo.value.reference == "lab-not-up"


@pytest.mark.parametrize("victim", ["python", "systemd-nspawn", "systemd"])
def test_down_removes_a_lab_after_kill_9(before: set[str], victim: str) -> None:
    """The runner, systemd-nspawn, and PID 1 of the host."""
    alone_lab = lab.create_lab(ALONE, releases=["debian-12"])
    group = alone_lab.record.format_group_name("host1")
    killed_pids = [
        pid for pid in cgroups.list_processes(group) if Path(f"/proc/{pid}/comm").read_text().strip() == victim
    ]
    assert killed_pids
    os.kill(killed_pids[0], signal.SIGKILL)
    start = time.monotonic()
    alone_lab.remove()
    assert time.monotonic() - start < 30, "waited for a host that cannot be told to power off"
    assert find_leftovers(ALONE, before) == set()


def test_a_lab_whose_processes_are_gone_is_recognised_and_removed(before: set[str]) -> None:
    alone_lab = lab.create_lab(ALONE, releases=["debian-12"])
    assert not leftovers.is_dead(alone_lab.record)
    cgroups.kill(alone_lab.record.format_group_name("host1"))
    assert leftovers.is_dead(alone_lab.record)
    assert lab.remove_lab(f"{ALONE}-another") is False
    assert state.read(ALONE) is None
    assert find_leftovers(ALONE, before) == set()


def test_a_failed_up_leaves_only_the_console(before: set[str]) -> None:
    silent = lab.Mirror(lambda address: ["sh", "-c", f"echo no mirror on {address}; exit 3"], 9, "0" * 40)
    with pytest.raises(LabError) as excinfo:
        lab.create_lab(ALONE, releases=["debian-12"], mirror=silent)
    assert excinfo.value.reference == "lab-mirror-dead"
    assert "no mirror on 10.77." in excinfo.value.reason
    assert find_leftovers(ALONE, before) == {f"file {state.locate_state(ALONE)}"}
    assert [path.name for path in state.locate_state(ALONE).iterdir()] == ["console"]
    lab.create_lab(ALONE, releases=["debian-12"]).kill()
    assert find_leftovers(ALONE, before) == set()
