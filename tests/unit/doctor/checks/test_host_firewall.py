"""Whose rule stops which packet."""

import pytest

from tests.unit.doctor.checks.asking import asked, told
from tests.unit.steps import firewall_world as packets

FIREWALLS = {"ufw": "host-ufw-blocks-pods", "firewalld": "host-firewalld-active"}


@pytest.mark.parametrize("release", ["debian-12", "debian-13"])
@pytest.mark.parametrize("manager", ["ufw", "firewalld", "iptables", "nftables", "none"])
def test_the_manager_that_blocks_is_named_and_no_other(manager: str, release: str) -> None:
    """Recorded before our rules and after."""
    when = [""] if manager == "none" else ["-before", "-after"]
    for one in when:
        here = packets.recorded(f"{manager}-{release}{one}")
        where = packets.here(here).where
        found = {id for id in FIREWALLS.values() if asked(id, here, where).outcome == "confirmed"}
        assert found == ({FIREWALLS[manager]} if manager in FIREWALLS and one == "-before" else set())


def test_a_rule_that_rejects_is_told_by_its_text() -> None:
    rules = packets.OPEN + "-A INPUT -i host0 -p tcp --dport 22 -j ACCEPT\n-A INPUT -j REJECT\n"
    found = asked("host-cloud-image-reject-rules", packets.world(packets.live(rules)), "host1")
    assert found.outcome == "confirmed"
    assert "-A INPUT -j REJECT" in told(found)[1]
    dropped = packets.world(packets.live(rules.replace("REJECT", "DROP")))
    assert told(asked("host-cloud-image-reject-rules", dropped, "host1")) == ("refuted", "no rule rejects it")
