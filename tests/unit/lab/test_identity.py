from pathlib import Path

from gpustack_lab.lab.identity import format_known_hosts_line, parse_nameservers, render_network_unit, render_ssh_config
from tests.unit.lab.records import HOSTS, record


def test_ssh_asks_nothing_and_trusts_only_the_lab_s_own_keys(tmp_path: Path) -> None:
    lines = [line.strip() for line in render_ssh_config(record(tmp_path, addresses=2)).splitlines()]
    assert "StrictHostKeyChecking yes" in lines
    assert f"UserKnownHostsFile {tmp_path}/ssh/known_hosts" in lines
    assert lines[lines.index("Host n02") + 1] == "HostName 10.77.3.101"


def test_a_host_is_known_by_every_name_and_address_it_answers_at(tmp_path: Path) -> None:
    (tmp_path / "ssh").mkdir()
    (tmp_path / "ssh" / "host1_ed25519.pub").write_text("ssh-ed25519 AAAA comment\n")
    line = format_known_hosts_line(record(tmp_path, addresses=3), HOSTS[0])
    assert line == "host1,10.77.3.11,n01,10.77.3.100,n03,10.77.3.102 ssh-ed25519 AAAA\n"


def test_the_network_unit_has_all_addresses() -> None:
    lines = render_network_unit("Name=host0", "10.77.3.1", ["10.77.3.11", "10.77.3.100"]).splitlines()
    assert lines[:3] == ["[Match]", "Name=host0", "[Network]"]
    assert lines[3:6] == ["Address=10.77.3.11/24", "Address=10.77.3.100/24", "Gateway=10.77.3.1"]


def test_loopback_name_servers_mean_nothing_inside_a_host() -> None:
    text = "# written by something\nnameserver 127.0.0.53\nnameserver ::1\nnameserver 192.0.2.53\noptions edns0\n"
    assert parse_nameservers(text) == "nameserver 192.0.2.53\n"
    assert parse_nameservers("nameserver 127.0.0.53\n") == ""
