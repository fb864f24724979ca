"""Strangers at the metrics of the control plane: who is let in, by which firewall, and what our table makes of it."""

import pytest

from gpustack.ask.snapshot import Snapshot
from gpustack.config.inventory import Inventory
from gpustack.steps.firewall.guard import choose_guard_state, find_unused_address
from tests.worlds.snapshots.firewall import (
    GUARD_STORED,
    HOSTS,
    NO_GUARD,
    OPEN,
    TABLE,
    WORKER,
    build_snapshot,
    build_view,
    format_rules,
    judge_rules,
    list_outcomes,
    load_snapshot,
)

DROPPED_INPUT = "-P INPUT DROP\n-P FORWARD ACCEPT\n-P OUTPUT ACCEPT\n"
CLUSTER = "-A INPUT -i lo -j ACCEPT\n-A INPUT -s 10.77.1.0/24 -j ACCEPT\n-A INPUT -s 10.244.0.0/16 -j ACCEPT\n"
IPV6 = "== ipv6\nlo\ncni0\nveth0815\nhost0\n== ip6tables\n"
BLOCKED_PORTS = "metrics-ports-blocked"


def find_actual(snapshot: Snapshot, check: str = BLOCKED_PORTS) -> str:
    result = judge_rules(snapshot)[check].result
    return result.actual if result else ""


def build_bare(rules: str = OPEN, *, rules_after: str = "", **settings: object) -> Snapshot:
    """Build a snapshot without our table."""
    return build_snapshot(format_rules(rules, rules_after=rules_after, guard=""), NO_GUARD, **settings)  # type: ignore[arg-type]


VERDICT = ", an address outside the cluster, is allowed"


def test_a_host_without_a_firewall_gets_the_guard() -> None:
    assert list_outcomes(build_bare()) == {BLOCKED_PORTS: "install"}
    assert find_actual(build_bare()) == f"tcp 2381 from 192.0.2.77{VERDICT} (and 3 more)"
    assert choose_guard_state(build_view(build_bare())) == "present"


def test_a_worker_has_the_metrics_of_kube_proxy_alone() -> None:
    assert find_actual(build_bare(location="host2")).startswith(f"tcp 10249 from 192.0.2.77{VERDICT}")


@pytest.mark.parametrize("firewall", ["firewalld", "ufw", "nftables", "iptables"])
@pytest.mark.parametrize("release", ["debian-12", "debian-13"])
def test_a_firewall_that_stops_them_gets_nothing(firewall: str, release: str) -> None:
    for moment in ("before", "after"):
        walled_snapshot = load_snapshot(f"{firewall}-{release}-{moment}")
        assert BLOCKED_PORTS not in list_outcomes(walled_snapshot)
        assert choose_guard_state(build_view(walled_snapshot)) == "absent"


@pytest.mark.parametrize(
    "rules",
    [
        CLUSTER + "-A INPUT -p tcp -m tcp --dport 10249 -j ACCEPT",
        CLUSTER + "-A INPUT -i host0 -j ACCEPT",
        CLUSTER + "-A INPUT -s 192.0.0.0/8 -j ACCEPT",
    ],
)
def test_a_firewall_that_lets_strangers_in_gets_the_guard(rules: str) -> None:
    assert list_outcomes(build_bare(DROPPED_INPUT + rules))[BLOCKED_PORTS] == "install"
    assert BLOCKED_PORTS not in list_outcomes(build_snapshot(format_rules(DROPPED_INPUT + rules)))


def test_who_is_named_is_no_stranger() -> None:
    assert BLOCKED_PORTS not in list_outcomes(build_bare(DROPPED_INPUT + CLUSTER))


def test_each_interface_is_asked_but_those_of_pods() -> None:
    public = "3: eth1    inet 203.0.113.5/24 scope global eth1\n4: cni0    inet 10.244.0.1/24 scope global cni0\n"
    rules = DROPPED_INPUT + CLUSTER + "-A INPUT -i cni0 -j ACCEPT\n"
    for changed_rules, is_stopped in ((rules, True), (rules + "-A INPUT -i eth1 -j ACCEPT", False)):
        text = format_rules(changed_rules, guard="").replace("== ssh", public + "== ssh")
        assert (BLOCKED_PORTS not in list_outcomes(build_snapshot(text, NO_GUARD))) is is_stopped


def test_ipv6_is_asked_where_it_is_outside() -> None:
    """Go's 0.0.0.0 listens on :: too."""
    rules, shut = DROPPED_INPUT + CLUSTER, "-P INPUT DROP\n-A INPUT -p tcp -s 2001:db8:1::/48 -j ACCEPT"
    assert find_actual(build_bare(rules, rules_after=IPV6)) == f"tcp 2381 from 2001:db8::77{VERDICT} (and 3 more)"
    assert BLOCKED_PORTS not in list_outcomes(build_bare(rules, rules_after=IPV6 + shut))
    assert BLOCKED_PORTS not in list_outcomes(build_bare(rules, rules_after=IPV6.replace("host0\n", "")))
    assert BLOCKED_PORTS not in list_outcomes(build_snapshot(format_rules(rules, rules_after=IPV6)))


def test_a_stranger_s_address_is_in_no_network_of_the_cluster() -> None:
    taken_ranges = {"pod_cidr": "192.0.0.0/22", "service_cidr": "198.51.100.0/24"}
    assert find_unused_address(build_view(build_bare(kubernetes=taken_ranges))) == "203.0.113.77"


def test_metrics_on_127_0_0_1_need_nothing() -> None:
    local = {"metrics_bind": "127.0.0.1"}
    assert list_outcomes(build_bare(kubernetes=local)) == {}
    assert choose_guard_state(build_view(build_bare(kubernetes=local))) == "absent"
    snapshot = build_snapshot(format_rules(), kubernetes=local)
    assert list_outcomes(snapshot) == {"guard-is-kept": "install"}
    assert choose_guard_state(build_view(snapshot)) == "absent"


def test_firewall_manage_false_leaves_them_to_the_operator() -> None:
    mine = build_bare(spec={"manage": False})
    assert list_outcomes(mine) == {}
    assert choose_guard_state(build_view(mine)) == ""


def test_a_removed_table_is_for_install() -> None:
    flushed_snapshot = build_snapshot(format_rules(guard=""))
    assert list_outcomes(flushed_snapshot) == {BLOCKED_PORTS: "install", "guard-is-kept": "install"}
    assert find_actual(flushed_snapshot, "guard-is-kept").startswith(
        "12 missing in the kernel: in tcp 10.244.0.0/16 10249"
    )
    assert find_actual(build_snapshot(format_rules(), NO_GUARD), "guard-is-kept").startswith("12 missing at boot")


def test_a_table_missing_at_boot_is_for_install() -> None:
    """The table is missing at boot, or when nftables.service has flushed it."""
    disabled_guard = GUARD_STORED.replace("== unit guard\nenabled", "== unit guard\ndisabled")
    uncalled_guard = NO_GUARD + GUARD_STORED[GUARD_STORED.index("enabled\n") :]
    for guard in (disabled_guard, uncalled_guard):
        assert list_outcomes(build_snapshot(format_rules(), guard)) == {"guard-is-kept": "install"}


def test_a_table_without_its_drop_is_for_install() -> None:
    spoiled_table = TABLE.replace('{"drop": null}', '{"counter": {"packets": 0, "bytes": 0}}')
    assert spoiled_table != TABLE
    assert list_outcomes(build_snapshot(format_rules(guard=spoiled_table))) == {BLOCKED_PORTS: "install"}


def test_a_table_that_is_needless_now_stays_and_is_kept() -> None:
    walled_snapshot = build_snapshot(format_rules(DROPPED_INPUT + CLUSTER))
    assert list_outcomes(walled_snapshot).keys() <= {"flows-pass"}
    assert choose_guard_state(build_view(walled_snapshot)) == "present"


def test_a_node_that_joined_is_missed_and_let_in_by_install() -> None:
    late = build_snapshot(
        format_rules(guard=TABLE.replace(WORKER, "10.77.1.99")), GUARD_STORED.replace(WORKER, "10.77.1.99")
    )
    assert list_outcomes(late) == {"flows-pass": "install", "guard-is-kept": "install"}
    assert "tcp 10249 from 10.77.1.12 is blocked by chain inet gpustack_metrics input" in find_actual(
        late, "flows-pass"
    )
    assert "4 unexpected: in tcp 10.77.1.99/32 10249" in find_actual(late, "guard-is-kept")


def test_a_node_that_left_is_too_much_and_one_that_is_away_is_not() -> None:
    whole_snapshot = build_snapshot(format_rules())
    fewer = Snapshot(
        whole_snapshot.started_at,
        Inventory(None, HOSTS[:1], whole_snapshot.inventory.spec),
        whole_snapshot.reach,
        whole_snapshot.answers,
    )
    assert list_outcomes(fewer) == {"guard-is-kept": "install"}
    assert list_outcomes(build_snapshot(format_rules(), reached=False)) == {}
