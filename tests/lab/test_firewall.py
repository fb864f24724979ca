"""The flows of a cluster through each firewall, with real packets: before, after, again, and after a reboot.

The hosts deny by default what comes in, what goes through and what goes out. Each manager is a test by name
(`-k nftables`); listeners stand for the cluster, which test_firewall_cluster.py has.
"""

import json
from collections.abc import Callable

import pytest

from gpustack.steps.firewall.step import STEP
from gpustack_lab import lab
from tests.lab import firewalls, packets, roads
from tests.lab.conftest import Run
from tests.lab.connections import open_connection
from tests.lab.firewalls import find_lost, list_rules, reboot, run_everywhere

pytestmark = [pytest.mark.lab, pytest.mark.slow]
NAMES = ("host1", "host2")
every_manager = pytest.mark.parametrize("firewall", firewalls.MANAGERS)


@pytest.fixture(scope="module")
def bare(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    bare_lab = make_lab("firewall", ["debian-12", "debian-13"], served=False)
    run_everywhere(bare_lab, firewalls.DOWNLOAD)
    bare_lab.save("bare")
    return bare_lab


def install_walls(bare: lab.Lab, firewall: str) -> lab.Lab:
    """Install this firewall on both hosts."""
    bare.restore("bare")
    firewalls.install_firewall(bare, firewall, firewall)
    packets.give_pods(bare)
    return bare


def install(running_lab: lab.Lab, gpustack: Run, *words: str) -> dict[str, int]:
    """Install, and return the tasks that changed something, by host; none where nothing was played."""
    process = gpustack("install", "-i", running_lab.inventory, "--only", "firewall", "--yes", "-o", "json", *words)
    runs = json.loads(process.stdout).get("playbook_runs", [])
    return {host: play["changed_task_count"] for play in runs for host in play["host_names"]}


def find_broken(running_lab: lab.Lab, gpustack: Run) -> dict[str, str]:
    """Find the checks that do not hold, with their cure. None may be unknown."""
    process = gpustack("plan", "-i", running_lab.inventory, "--only", "firewall", "-o", "json", code=None)
    checks = [check for state in json.loads(process.stdout)["states"] for check in state["checks"]]
    assert len(checks) == 2 * len(STEP.checks)
    assert [check for check in checks if check["outcome"] == "unknown"] == []
    return {check["check"]: check["cure"] for check in checks if check["outcome"] == "failed"}


def count(
    running_lab: lab.Lab, firewall: str, expected: dict[str, set[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        tries, passes = packets.count_tries(running_lab), sum(map(len, expected.values()))
        print(f" {firewall}: of {tries} tried {passes} pass, before and after the reboot")


@every_manager
def test_each_firewall_lets_cluster_traffic_pass(
    firewall: str, bare: lab.Lab, gpustack: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    walls = install_walls(bare, firewall)
    lasting = list_rules(walls)
    run_everywhere(walls, firewalls.BANS[firewall])
    foreign_rules, ban = list_rules(walls), run_everywhere(walls, firewalls.BANNED_TRAFFIC[firewalls.BANS[firewall]])
    assert packets.find_reached(walls) == packets.list_open_before(walls), "the firewall denies by default"
    assert find_broken(walls, gpustack)["flows-pass"] == "install"
    gpustack("plan", "-i", walls.inventory, "--only", "firewall", "--diff", code=1)
    assert list_rules(walls) == foreign_rules, "plan --diff changes nothing"

    # A zone of firewalld that forwards for pods accepts from them as well.
    expected_ports = packets.list_expected(walls, pods_are_trusted=firewall == "firewalld")
    with open_connection(walls) as answers:
        assert all(change_count > 0 for change_count in install(walls, gpustack).values())
        assert find_broken(walls, gpustack) == {}
        assert packets.find_reached(walls) == expected_ports
        assert find_lost(foreign_rules, list_rules(walls)) == []

        installed_rules = list_rules(walls), run_everywhere(walls, firewalls.NUMBERED_RULES)
        assert install(walls, gpustack, "--force") == {"host1": 0, "host2": 0}
        assert (list_rules(walls), run_everywhere(walls, firewalls.NUMBERED_RULES)) == installed_rules, (
            "no rule was made anew"
        )
        assert run_everywhere(walls, firewalls.BANNED_TRAFFIC[firewalls.BANS[firewall]]) == ban
        answers()

    reboot(walls)
    packets.give_pods(walls)
    assert find_broken(walls, gpustack) == {}
    assert packets.find_reached(walls) == expected_ports
    assert find_lost(lasting, list_rules(walls)) == []
    count(walls, firewall, expected_ports, capsys)

    run_everywhere(walls, firewalls.RELOADS[firewall])
    assert find_broken(walls, gpustack) == {}
    run_everywhere(walls, firewalls.SWITCHED_OFF[firewall])
    with firewalls.follow_connections(walls):
        run_everywhere(walls, firewalls.SWITCHED_ON[firewall])
    assert find_broken(walls, gpustack) == {}
    assert find_lost(lasting, list_rules(walls)) == []
    for drift in firewalls.DRIFTS[firewall]:
        run_everywhere(walls, drift)
        assert set(find_broken(walls, gpustack).values()) == {"install"}, drift
        assert all(change_count > 0 for change_count in install(walls, gpustack).values()), drift
        assert find_broken(walls, gpustack) == {}, drift

    run_everywhere(walls, firewalls.BANS[firewall])
    ban = run_everywhere(walls, firewalls.BANNED_TRAFFIC[firewalls.BANS[firewall]])
    assert all(run_everywhere(walls, firewalls.OWN_RULES).values())
    with open_connection(walls) as answers:
        gpustack("reset", "-i", walls.inventory, "--yes")
        answers()
    assert run_everywhere(walls, firewalls.OWN_RULES) == {"host1": [], "host2": []}
    assert find_lost(lasting, list_rules(walls)) == []
    assert run_everywhere(walls, firewalls.BANNED_TRAFFIC[firewalls.BANS[firewall]]) == ban
    reboot(walls)
    packets.give_pods(walls)
    assert packets.find_reached(walls) == packets.list_open_before(walls), (
        "what the operator's rules let pass, as before"
    )


def test_clients_of_the_spec_alone_are_let_in(bare: lab.Lab, gpustack: Run) -> None:
    """The stranger is the machine that installs."""
    walls = install_walls(bare, "ufw")
    gateway = walls.record.gateway
    plane, worker = (f"{host.name} from a stranger" for host in walls.hosts)
    try:
        roads.set_spec(walls, firewall={"sources": [f"{gateway}/32"]})
        plan = gpustack("plan", "-i", walls.inventory, code=None).stdout
        assert f"lets in nodes, pods and {gateway}/32" in " ".join(plan.split())
        install(walls, gpustack)
        assert find_broken(walls, gpustack) == {}
        ports_by_try = packets.find_reached(walls)
        assert ports_by_try[plane] == {"tcp/6443", "tcp/10256", packets.ALWAYS_OPEN}
        assert ports_by_try[worker] == {"tcp/10256", packets.ALWAYS_OPEN}
        roads.set_spec(walls, firewall={"sources": ["192.0.2.0/24"]})
        install(walls, gpustack)
        assert find_broken(walls, gpustack) == {}
        ports_by_try = packets.find_reached(walls)
        assert ports_by_try[plane] == ports_by_try[worker] == {packets.ALWAYS_OPEN}
    finally:
        roads.set_spec(walls, firewall={"sources": None})


def test_without_a_firewall_other_hosts_are_kept_from_the_metrics(
    bare: lab.Lab, gpustack: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """The installation changes nothing else."""
    bare.restore("bare")
    packets.give_pods(bare)
    stored_files, foreign_rules = run_everywhere(bare, firewalls.STORED_FILES), run_everywhere(bare, firewalls.BUT_OURS)
    assert packets.find_reached(bare) == packets.list_all(bare)
    assert find_broken(bare, gpustack) == {"metrics-ports-blocked": "install"}
    assert all(change_count > 0 for change_count in install(bare, gpustack).values())
    for _ in ("installed", "rebooted"):
        assert find_broken(bare, gpustack) == {}
        assert packets.find_reached(bare) == packets.list_guarded(bare)
        assert (run_everywhere(bare, firewalls.STORED_FILES), run_everywhere(bare, firewalls.BUT_OURS)) == (
            stored_files,
            foreign_rules,
        )
        before = run_everywhere(bare, firewalls.NUMBERED_RULES)
        assert install(bare, gpustack, "--force") == {"host1": 0, "host2": 0}
        assert run_everywhere(bare, firewalls.NUMBERED_RULES) == before, "no rule was made anew"
        reboot(bare)
        packets.give_pods(bare)
    count(bare, "none", packets.list_guarded(bare), capsys)

    run_everywhere(bare, "systemctl start nftables")
    assert find_broken(bare, gpustack) == {}, "its `flush ruleset` takes ours too, and ours comes back"
    run_everywhere(bare, "systemctl reload nftables && systemctl restart nftables")
    assert find_broken(bare, gpustack) == {}
    run_everywhere(bare, "nft flush ruleset")
    assert find_broken(bare, gpustack) == {"metrics-ports-blocked": "install", "guard-is-kept": "install"}
    assert set(install(bare, gpustack).values()) == {2}, "one task on each"
    assert packets.find_reached(bare) == packets.list_guarded(bare)
    gpustack("reset", "-i", bare.inventory, "--yes")
    assert run_everywhere(bare, firewalls.OWN_RULES) == {"host1": [], "host2": []}
    reboot(bare)
    packets.give_pods(bare)
    assert packets.find_reached(bare) == packets.list_all(bare)


@pytest.mark.parametrize("firewall", ["none", "ufw"])
def test_what_nobody_known_loads_is_refused_with_what_has_to_pass(firewall: str, bare: lab.Lab, gpustack: Run) -> None:
    """A second filter beside ours, or one that no service loads: an operator put it there after the installation."""
    bare.restore("bare")
    if firewall != "none":
        firewalls.install_firewall(bare, firewall, firewall)
    install(bare, gpustack)
    assert find_broken(bare, gpustack) == {}
    with firewalls.follow_connections(bare):
        run_everywhere(bare, firewalls.RULES_BESIDE)
    # Where nothing dropped packets before, NodePorts of Services are to be restricted from now on, too.
    open_node_ports = {"node-ports-are-restricted": "install"} if firewall == "none" else {}
    assert find_broken(bare, gpustack) == {"flows-pass": "operator", **open_node_ports}
    before = run_everywhere(bare, firewalls.STORED_FILES), run_everywhere(bare, firewalls.NUMBERED_RULES)
    process = gpustack("install", "-i", bare.inventory, "--only", "firewall", "--yes", code=5).stderr
    assert "operator-needed" in process
    assert "the policy drop of chain inet beside input" in process
    assert "gpustack explain firewall" in process, "its page lists the traffic"
    assert "udp 8472" in gpustack("explain", "firewall").stdout
    assert (run_everywhere(bare, firewalls.STORED_FILES), run_everywhere(bare, firewalls.NUMBERED_RULES)) == before
    run_everywhere(bare, "nft delete table inet beside")
    assert find_broken(bare, gpustack) == {}


def test_firewalld_is_not_reloaded_over_what_was_not_stored(bare: lab.Lab, gpustack: Run) -> None:
    """SSH itself may be such a setting."""
    bare.restore("bare")
    firewalls.install_firewall(bare, "firewalld", "firewalld")
    run_everywhere(bare, "firewall-cmd --add-port=5555/tcp")
    result = gpustack("install", "-i", bare.inventory, "--only", "firewall", "--yes", code=5)
    assert "would forget what was set without --permanent" in " ".join(result.stdout.split())
    assert run_everywhere(bare, "firewall-cmd --list-ports | grep -o 5555/tcp") == {
        host: ["5555/tcp"] for host in NAMES
    }
    run_everywhere(bare, "firewall-cmd --runtime-to-permanent")
    assert all(change_count > 0 for change_count in install(bare, gpustack).values())
    assert find_broken(bare, gpustack) == {}
    assert run_everywhere(bare, "firewall-cmd --list-ports | grep -o 5555/tcp") == {
        host: ["5555/tcp"] for host in NAMES
    }
