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
from tests.lab.firewalls import everywhere, lost, open_connection, reboot, rules

pytestmark = [pytest.mark.lab, pytest.mark.slow]
NAMES = ("host1", "host2")
every_manager = pytest.mark.parametrize("who", firewalls.MANAGERS)


@pytest.fixture(scope="module")
def bare(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    found = make_lab("firewall", ["debian-12", "debian-13"], served=False)
    everywhere(found, firewalls.DOWNLOAD)
    found.save("bare")
    return found


def walled(bare: lab.Lab, who: str) -> lab.Lab:
    """Both hosts behind this firewall."""
    bare.restore("bare")
    firewalls.wall(bare, who, who)
    packets.give_pods(bare)
    return bare


def install(at: lab.Lab, gpustack: Run, *words: str) -> dict[str, int]:
    """The tasks that changed something, by host; none where nothing was played."""
    done = gpustack("install", "-i", at.inventory, "--only", "firewall", "--yes", "-o", "json", *words)
    played = json.loads(done.stdout).get("playbook_runs", [])
    return {host: play["changed_task_count"] for play in played for host in play["host_names"]}


def broken(at: lab.Lab, gpustack: Run) -> dict[str, str]:
    """Checks that do not hold, with their cure. None may be unknown."""
    done = gpustack("plan", "-i", at.inventory, "--only", "firewall", "-o", "json", code=None)
    found = [check for state in json.loads(done.stdout)["states"] for check in state["checks"]]
    assert len(found) == 2 * len(STEP.checks)
    assert [one for one in found if one["outcome"] == "unknown"] == []
    return {one["check"]: one["cure"] for one in found if one["outcome"] == "failed"}


def count(at: lab.Lab, who: str, wanted: dict[str, set[str]], capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(
            f" {who}: of {packets.tried(at)} tried {sum(map(len, wanted.values()))} pass, before and after the reboot"
        )


@every_manager
def test_cluster_traffic(who: str, bare: lab.Lab, gpustack: Run, capsys: pytest.CaptureFixture[str]) -> None:
    at = walled(bare, who)
    lasting = rules(at)
    everywhere(at, firewalls.BANS[who])
    theirs, ban = rules(at), everywhere(at, firewalls.BANNED[firewalls.BANS[who]])
    assert packets.reached(at) == packets.shut(at), "the firewall denies by default"
    assert broken(at, gpustack)["flows-pass"] == "install"
    gpustack("plan", "-i", at.inventory, "--only", "firewall", "--diff", code=1)
    assert rules(at) == theirs, "plan --diff changes nothing"

    # A zone of firewalld that forwards for pods accepts from them as well.
    wanted = packets.wanted(at, pods_are_trusted=who == "firewalld")
    with open_connection(at) as answers:
        assert all(changed > 0 for changed in install(at, gpustack).values())
        assert broken(at, gpustack) == {}
        assert packets.reached(at) == wanted
        assert lost(theirs, rules(at)) == []

        installed = rules(at), everywhere(at, firewalls.NUMBERED)
        assert install(at, gpustack, "--force") == {"host1": 0, "host2": 0}
        assert (rules(at), everywhere(at, firewalls.NUMBERED)) == installed, "no rule was made anew"
        assert everywhere(at, firewalls.BANNED[firewalls.BANS[who]]) == ban
        answers()

    reboot(at)
    packets.give_pods(at)
    assert broken(at, gpustack) == {}
    assert packets.reached(at) == wanted
    assert lost(lasting, rules(at)) == []
    count(at, who, wanted, capsys)

    everywhere(at, firewalls.RELOADS[who])
    assert broken(at, gpustack) == {}
    everywhere(at, firewalls.OFF[who])
    with firewalls.tracked(at):
        everywhere(at, firewalls.ON[who])
    assert broken(at, gpustack) == {}
    assert lost(lasting, rules(at)) == []
    for drift in firewalls.DRIFTS[who]:
        everywhere(at, drift)
        assert set(broken(at, gpustack).values()) == {"install"}, drift
        assert all(changed > 0 for changed in install(at, gpustack).values()), drift
        assert broken(at, gpustack) == {}, drift

    everywhere(at, firewalls.BANS[who])
    ban = everywhere(at, firewalls.BANNED[firewalls.BANS[who]])
    assert all(everywhere(at, firewalls.OURS).values())
    with open_connection(at) as answers:
        gpustack("reset", "-i", at.inventory, "--yes")
        answers()
    assert everywhere(at, firewalls.OURS) == {"host1": [], "host2": []}
    assert lost(lasting, rules(at)) == []
    assert everywhere(at, firewalls.BANNED[firewalls.BANS[who]]) == ban
    reboot(at)
    packets.give_pods(at)
    assert packets.reached(at) == packets.shut(at), "what the operator's rules let pass, as before"


def test_without_a_firewall_other_hosts_are_kept_from_the_metrics(
    bare: lab.Lab, gpustack: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing else is changed."""
    bare.restore("bare")
    packets.give_pods(bare)
    kept, theirs = everywhere(bare, firewalls.KEPT), everywhere(bare, firewalls.BUT_OURS)
    assert packets.reached(bare) == packets.everything(bare)
    assert broken(bare, gpustack) == {"metrics-ports-blocked": "install"}
    assert all(changed > 0 for changed in install(bare, gpustack).values())
    for _ in ("installed", "rebooted"):
        assert broken(bare, gpustack) == {}
        assert packets.reached(bare) == packets.guarded(bare)
        assert (everywhere(bare, firewalls.KEPT), everywhere(bare, firewalls.BUT_OURS)) == (kept, theirs)
        before = everywhere(bare, firewalls.NUMBERED)
        assert install(bare, gpustack, "--force") == {"host1": 0, "host2": 0}
        assert everywhere(bare, firewalls.NUMBERED) == before, "no rule was made anew"
        reboot(bare)
        packets.give_pods(bare)
    count(bare, "none", packets.guarded(bare), capsys)

    everywhere(bare, "systemctl start nftables")
    assert broken(bare, gpustack) == {}, "its `flush ruleset` takes ours too, and ours comes back"
    everywhere(bare, "systemctl reload nftables && systemctl restart nftables")
    assert broken(bare, gpustack) == {}
    everywhere(bare, "nft flush ruleset")
    assert broken(bare, gpustack) == {"metrics-ports-blocked": "install", "guard-is-kept": "install"}
    assert set(install(bare, gpustack).values()) == {2}, "one task on each"
    assert packets.reached(bare) == packets.guarded(bare)
    gpustack("reset", "-i", bare.inventory, "--yes")
    assert everywhere(bare, firewalls.OURS) == {"host1": [], "host2": []}
    reboot(bare)
    packets.give_pods(bare)
    assert packets.reached(bare) == packets.everything(bare)


@pytest.mark.parametrize("who", ["none", "ufw"])
def test_what_nobody_known_loads_is_refused_with_what_has_to_pass(who: str, bare: lab.Lab, gpustack: Run) -> None:
    """A second filter beside ours, or one that no service loads: an operator put it there after the installation."""
    bare.restore("bare")
    if who != "none":
        firewalls.wall(bare, who, who)
    install(bare, gpustack)
    assert broken(bare, gpustack) == {}
    with firewalls.tracked(bare):
        everywhere(bare, firewalls.BESIDE)
    assert broken(bare, gpustack) == {"flows-pass": "operator"}
    before = everywhere(bare, firewalls.KEPT), everywhere(bare, firewalls.NUMBERED)
    refused = gpustack("install", "-i", bare.inventory, "--only", "firewall", "--yes", code=5).stderr
    assert "operator-needed" in refused
    assert "the policy drop of chain inet beside input" in refused
    assert "gpustack explain firewall" in refused, "its page lists the traffic"
    assert "udp 8472" in gpustack("explain", "firewall").stdout
    assert (everywhere(bare, firewalls.KEPT), everywhere(bare, firewalls.NUMBERED)) == before
    everywhere(bare, "nft delete table inet beside")
    assert broken(bare, gpustack) == {}


def test_firewalld_is_not_reloaded_over_what_was_not_stored(bare: lab.Lab, gpustack: Run) -> None:
    """SSH itself may be such a setting."""
    bare.restore("bare")
    firewalls.wall(bare, "firewalld", "firewalld")
    everywhere(bare, "firewall-cmd --add-port=5555/tcp")
    result = gpustack("install", "-i", bare.inventory, "--only", "firewall", "--yes", code=5)
    assert "would forget what was set without --permanent" in " ".join(result.stdout.split())
    assert everywhere(bare, "firewall-cmd --list-ports | grep -o 5555/tcp") == {host: ["5555/tcp"] for host in NAMES}
    everywhere(bare, "firewall-cmd --runtime-to-permanent")
    assert all(changed > 0 for changed in install(bare, gpustack).values())
    assert broken(bare, gpustack) == {}
    assert everywhere(bare, "firewall-cmd --list-ports | grep -o 5555/tcp") == {host: ["5555/tcp"] for host in NAMES}
