"""The flows of a cluster through each firewall, with real packets: before, after, again, and after a reboot.

The hosts deny by default what comes in, what goes through and what goes out. Each manager is a test by name
(`-k nftables`); listeners stand for the cluster, which test_firewall_cluster.py has.
"""

import json
from collections.abc import Callable

import pytest

from gpustack.steps.firewall.step import STEP
from gpustack_lab import lab
from tests.lab import firewalls, packets
from tests.lab.conftest import Run
from tests.lab.firewalls import find_lost, list_rules, open_connection, reboot, run_everywhere

pytestmark = [pytest.mark.lab, pytest.mark.slow]
NAMES = ("host1", "host2")
every_manager = pytest.mark.parametrize("firewall", firewalls.MANAGERS)


@pytest.fixture(scope="module")
def bare(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    found = make_lab("firewall", ["debian-12", "debian-13"], served=False)
    run_everywhere(found, firewalls.DOWNLOAD)
    found.save("bare")
    return found


def install_walls(bare: lab.Lab, firewall: str) -> lab.Lab:
    """Install this firewall on both hosts."""
    bare.restore("bare")
    firewalls.install_firewall(bare, firewall, firewall)
    packets.give_pods(bare)
    return bare


def install(running_lab: lab.Lab, gpustack: Run, *words: str) -> dict[str, int]:
    """Install, and return the tasks that changed something, by host; none where nothing was played."""
    done = gpustack("install", "-i", running_lab.inventory, "--only", "firewall", "--yes", "-o", "json", *words)
    played = json.loads(done.stdout).get("playbook_runs", [])
    return {host: play["changed_task_count"] for play in played for host in play["host_names"]}


def find_broken(running_lab: lab.Lab, gpustack: Run) -> dict[str, str]:
    """Find the checks that do not hold, with their cure. None may be unknown."""
    done = gpustack("plan", "-i", running_lab.inventory, "--only", "firewall", "-o", "json", code=None)
    found = [check for state in json.loads(done.stdout)["states"] for check in state["checks"]]
    assert len(found) == 2 * len(STEP.checks)
    assert [one for one in found if one["outcome"] == "unknown"] == []
    return {one["check"]: one["cure"] for one in found if one["outcome"] == "failed"}


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
    at = install_walls(bare, firewall)
    lasting = list_rules(at)
    run_everywhere(at, firewalls.BANS[firewall])
    theirs, ban = list_rules(at), run_everywhere(at, firewalls.BANNED[firewalls.BANS[firewall]])
    assert packets.find_reached(at) == packets.list_open_before(at), "the firewall denies by default"
    assert find_broken(at, gpustack)["flows-pass"] == "install"
    gpustack("plan", "-i", at.inventory, "--only", "firewall", "--diff", code=1)
    assert list_rules(at) == theirs, "plan --diff changes nothing"

    # A zone of firewalld that forwards for pods accepts from them as well.
    wanted = packets.list_expected(at, pods_are_trusted=firewall == "firewalld")
    with open_connection(at) as answers:
        assert all(changed > 0 for changed in install(at, gpustack).values())
        assert find_broken(at, gpustack) == {}
        assert packets.find_reached(at) == wanted
        assert find_lost(theirs, list_rules(at)) == []

        installed = list_rules(at), run_everywhere(at, firewalls.NUMBERED)
        assert install(at, gpustack, "--force") == {"host1": 0, "host2": 0}
        assert (list_rules(at), run_everywhere(at, firewalls.NUMBERED)) == installed, "no rule was made anew"
        assert run_everywhere(at, firewalls.BANNED[firewalls.BANS[firewall]]) == ban
        answers()

    reboot(at)
    packets.give_pods(at)
    assert find_broken(at, gpustack) == {}
    assert packets.find_reached(at) == wanted
    assert find_lost(lasting, list_rules(at)) == []
    count(at, firewall, wanted, capsys)

    run_everywhere(at, firewalls.RELOADS[firewall])
    assert find_broken(at, gpustack) == {}
    run_everywhere(at, firewalls.OFF[firewall])
    with firewalls.follow_connections(at):
        run_everywhere(at, firewalls.ON[firewall])
    assert find_broken(at, gpustack) == {}
    assert find_lost(lasting, list_rules(at)) == []
    for drift in firewalls.DRIFTS[firewall]:
        run_everywhere(at, drift)
        assert set(find_broken(at, gpustack).values()) == {"install"}, drift
        assert all(changed > 0 for changed in install(at, gpustack).values()), drift
        assert find_broken(at, gpustack) == {}, drift

    run_everywhere(at, firewalls.BANS[firewall])
    ban = run_everywhere(at, firewalls.BANNED[firewalls.BANS[firewall]])
    assert all(run_everywhere(at, firewalls.OURS).values())
    with open_connection(at) as answers:
        gpustack("reset", "-i", at.inventory, "--yes")
        answers()
    assert run_everywhere(at, firewalls.OURS) == {"host1": [], "host2": []}
    assert find_lost(lasting, list_rules(at)) == []
    assert run_everywhere(at, firewalls.BANNED[firewalls.BANS[firewall]]) == ban
    reboot(at)
    packets.give_pods(at)
    assert packets.find_reached(at) == packets.list_open_before(at), "what the operator's rules let pass, as before"


def test_without_a_firewall_other_hosts_are_kept_from_the_metrics(
    bare: lab.Lab, gpustack: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """The installation changes nothing else."""
    bare.restore("bare")
    packets.give_pods(bare)
    kept, theirs = run_everywhere(bare, firewalls.KEPT), run_everywhere(bare, firewalls.BUT_OURS)
    assert packets.find_reached(bare) == packets.list_all(bare)
    assert find_broken(bare, gpustack) == {"metrics-ports-blocked": "install"}
    assert all(changed > 0 for changed in install(bare, gpustack).values())
    for _ in ("installed", "rebooted"):
        assert find_broken(bare, gpustack) == {}
        assert packets.find_reached(bare) == packets.list_guarded(bare)
        assert (run_everywhere(bare, firewalls.KEPT), run_everywhere(bare, firewalls.BUT_OURS)) == (kept, theirs)
        before = run_everywhere(bare, firewalls.NUMBERED)
        assert install(bare, gpustack, "--force") == {"host1": 0, "host2": 0}
        assert run_everywhere(bare, firewalls.NUMBERED) == before, "no rule was made anew"
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
    assert run_everywhere(bare, firewalls.OURS) == {"host1": [], "host2": []}
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
        run_everywhere(bare, firewalls.BESIDE)
    assert find_broken(bare, gpustack) == {"flows-pass": "operator"}
    before = run_everywhere(bare, firewalls.KEPT), run_everywhere(bare, firewalls.NUMBERED)
    refused = gpustack("install", "-i", bare.inventory, "--only", "firewall", "--yes", code=5).stderr
    assert "operator-needed" in refused
    assert "the policy drop of chain inet beside input" in refused
    assert "gpustack explain firewall" in refused, "its page lists the traffic"
    assert "udp 8472" in gpustack("explain", "firewall").stdout
    assert (run_everywhere(bare, firewalls.KEPT), run_everywhere(bare, firewalls.NUMBERED)) == before
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
    assert all(changed > 0 for changed in install(bare, gpustack).values())
    assert find_broken(bare, gpustack) == {}
    assert run_everywhere(bare, "firewall-cmd --list-ports | grep -o 5555/tcp") == {
        host: ["5555/tcp"] for host in NAMES
    }
