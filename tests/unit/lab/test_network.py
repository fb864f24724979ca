import subprocess
from collections.abc import Sequence
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.errors import LabError
from gpustack_lab.lab import network
from gpustack_lab.lab.network import BLOCK, PODS, SERVICES, build_rules, find_free_net
from tests.unit.lab.records import record

networks = st.builds(
    lambda address, length: IPv4Network((address, length), strict=False),
    st.integers(int(BLOCK.network_address), int(BLOCK.broadcast_address)),
    st.integers(18, 32),
)


def test_an_empty_machine_gets_the_first_net() -> None:
    assert find_free_net([IPv4Network("192.168.1.0/24")], []) == "10.77.0"


def test_nets_of_other_labs_are_taken_also_while_they_have_no_address_yet() -> None:
    assert find_free_net([], ["10.77.0", "10.77.1"]) == "10.77.2"


def test_a_wide_route_takes_all_that_it_covers() -> None:
    assert find_free_net([IPv4Network("10.77.0.0/17")], []) == "10.77.128"


def test_a_single_address_takes_its_net() -> None:
    assert find_free_net([IPv4Network("10.77.0.200/32")], []) == "10.77.1"


def test_a_machine_without_a_free_net_is_refused() -> None:
    with pytest.raises(LabError) as excinfo:
        find_free_net([IPv4Network("10.0.0.0/8")], [])
    assert excinfo.value.reference == "lab-no-free-subnet"


@given(st.lists(networks, max_size=20))
def test_what_is_chosen_overlaps_nothing(nets: list[IPv4Network]) -> None:
    try:
        chosen_net = IPv4Network(f"{find_free_net(nets, [])}.0/24")
    except LabError:
        assert all(any(net.overlaps(other_net) for other_net in nets) for net in BLOCK.subnets(new_prefix=24))
    else:
        assert not any(chosen_net.overlaps(other_net) for other_net in (*nets, PODS, SERVICES))


def test_untranslated_addresses_are_rejected_before_anything_is_accepted(tmp_path: Path) -> None:
    forward = [rule for table, chain, rule in build_rules(record(tmp_path)) if (table, chain) == ("filter", "FORWARD")]
    verdicts = [rule.rsplit(" ", 1)[1] for rule in forward]
    assert verdicts == ["REJECT", "REJECT", "REJECT", "ACCEPT", "ACCEPT", "REJECT"]
    assert [str(net) in rule for net, rule in zip((PODS, SERVICES, BLOCK), forward, strict=False)] == [True] * 3


def test_nobody_else_reaches_a_lab_host_whatever_the_machine_s_policy_is(tmp_path: Path) -> None:
    lab = record(tmp_path)
    assert build_rules(lab)[-1] == ("filter", "FORWARD", f"! -i {lab.bridge} -o {lab.bridge} -j REJECT")


def test_lab_hosts_come_after_the_machine_s_own_rules_for_what_comes_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(network, "LINKS", tmp_path)
    monkeypatch.setattr(network, "run", ran.append)
    monkeypatch.setattr(network, "remove_rules", lambda record: None)
    monkeypatch.setattr(network, "remember_tables", lambda: None)
    lab = record(tmp_path)
    network.raise_network(lab)
    rules = [argv[argv.index("-t") + 2 :][:2] for argv in ran if argv[0] == "iptables" and {"-A", "-I"} & set(argv)]
    assert sorted(rules) == [["-A", "INPUT"], *[["-I", "FORWARD"]] * 6, ["-I", "POSTROUTING"]]
    forward = [" ".join(argv) for argv in ran if "FORWARD" in argv and "-I" in argv]
    assert "! -i" in forward[0], "each goes before the one put in before it: the last one first"


def test_every_rule_is_bound_to_the_lab(tmp_path: Path) -> None:
    lab = record(tmp_path)
    assert all(lab.bridge in rule or f"{lab.net}.0/24" in rule for _, _, rule in build_rules(lab))
    assert len(lab.bridge) <= 15  # the kernel's limit for names of links


def test_names_of_labs_are_read_from_their_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    listing = (
        "-P FORWARD ACCEPT\n"
        '-A FORWARD -m comment --comment "a foreign rule" -j ACCEPT\n'
        '-A FORWARD -i gplab-1 -m comment --comment "gpustack-lab:two" -j ACCEPT\n'
        "-A FORWARD -i gplab-2 -m comment --comment gpustack-lab:three -j ACCEPT\n"
    )
    monkeypatch.setattr(network, "try_run", lambda argv: subprocess.CompletedProcess(argv, 0))
    monkeypatch.setattr(network, "run", lambda argv: listing)
    assert network.list_lab_names() == {"two", "three"}
    monkeypatch.setattr(network, "try_run", lambda argv: subprocess.CompletedProcess(argv, 127))
    assert network.list_lab_names() == set()


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder in which the kernel shows links; none of them can be deleted."""
    monkeypatch.setattr(network, "LINKS", tmp_path)
    monkeypatch.setattr(network, "try_run", lambda argv: subprocess.CompletedProcess(argv, 1))
    for name in ("eth0", "vb-gp0123456701", "vb-gp0123456712", "vb-gp89abcdef01"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_only_links_of_that_name_are_deleted(links: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deletions: list[str] = []
    monkeypatch.setattr(network, "run", lambda argv: deletions.append(argv[-1]))
    network.drop_links("vb-gp01234567[0-9][0-9]")
    assert deletions == ["vb-gp0123456701", "vb-gp0123456712"]


def test_a_link_that_the_kernel_deletes_first_is_no_error_and_one_that_stays_is(
    links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_command(argv: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        (links / argv[-1]).rmdir()
        return subprocess.CompletedProcess(argv, 1)

    with pytest.raises(LabError, match="ip link delete eth0"):
        network.drop_links("eth0")
    monkeypatch.setattr(network, "try_run", fail_command)
    network.drop_links("eth0")
    assert not (links / "eth0").exists()
