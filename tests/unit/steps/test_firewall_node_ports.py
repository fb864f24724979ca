"""NodePorts of Services on hosts whose firewall denies by default: who is let in, and what our table makes of it."""

from collections.abc import Sequence

import pytest

from gpustack.ask.snapshot import Snapshot
from gpustack.config.host import NODE, Host
from gpustack.rollout.overlay import build_overlay
from gpustack.steps.firewall.node_ports import choose_node_ports_state
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import build
from tests.worlds.snapshots.firewall import HOSTS, OPEN, build_snapshot, build_view, format_rules, judge_rules

CHECK = "node-ports-are-restricted"
LIVE, SCRIPTS = (read_case(probe, "node-ports-debian-12").stdout for probe in ("firewall.live", "firewall.stored"))
TABLES = LIVE[LIVE.index("== nft\n") :].rstrip("\n")
BARE_TABLE = TABLES[: TABLES.rindex("== nft\n")].rstrip("\n")
BARE_SCRIPTS = SCRIPTS[: SCRIPTS.index("== file /usr/local/lib/gpustack/firewall-node-ports")]
SOURCES = ("198.51.100.0/24",)
DENYING_RULES = OPEN.replace("INPUT ACCEPT", "INPUT DROP")


def take_snapshot(
    rules: str = DENYING_RULES,
    tables: str = BARE_TABLE,
    scripts: str = BARE_SCRIPTS,
    sources: Sequence[str] | None = SOURCES,
    **settings: object,
) -> Snapshot:
    spec = {"sources": sources if sources is None else list(sources), **settings}
    return build_snapshot(format_rules(rules, units=("netfilter-persistent",), guard=tables), scripts, spec=spec)


def judge(snapshot: Snapshot) -> tuple[str, str]:
    """Return what the check found, and the state that the role sets."""
    judgement = judge_rules(snapshot)[CHECK]
    return judgement.result.actual if judgement.result else judgement.outcome, choose_node_ports_state(
        build_view(snapshot)
    )


@pytest.mark.parametrize("sources", [None, (), SOURCES], ids=["by default", "nobody", "listed"])
def test_a_host_that_denies_by_default_gets_the_table(sources: Sequence[str] | None) -> None:
    assert judge(take_snapshot(sources=sources)) == ("open to anybody", "present")


def test_a_host_without_a_firewall_gets_none() -> None:
    assert judge(take_snapshot(OPEN)) == ("ok", "absent")


def test_where_anybody_may_come_in_there_is_none() -> None:
    assert judge(take_snapshot(sources=["0.0.0.0/0"])) == ("ok", "absent")
    difference, state = judge(take_snapshot(tables=TABLES, scripts=SCRIPTS, sources=["0.0.0.0/0"]))
    assert (difference[:14], state) == ("12 unexpected:", "absent")


def test_firewall_manage_false_leaves_them_to_the_operator() -> None:
    assert judge(take_snapshot(manage=False)) == ("ok", "")


def test_the_table_of_this_cluster_is_kept() -> None:
    assert judge(take_snapshot(tables=TABLES, scripts=SCRIPTS)) == ("ok", "present")
    assert judge(take_snapshot(OPEN, TABLES, SCRIPTS)) == ("ok", "present"), "a firewall can be turned on again"


@pytest.mark.parametrize(
    ("tables", "scripts", "actual"),
    [
        (BARE_TABLE, SCRIPTS, "open to anybody"),
        (TABLES.replace('{"drop": null}', '{"counter": {"packets": 0, "bytes": 0}}'), SCRIPTS, "open to anybody"),
        (TABLES.replace("[30000", "[30001"), SCRIPTS, "12 missing in the kernel"),
        (TABLES, SCRIPTS.replace("== unit node-ports\nenabled", "== unit node-ports\ndisabled"), "12 missing at boot"),
        (TABLES, SCRIPTS.replace("firewall-node-ports ;", "other ;"), "12 missing at boot"),
        (TABLES.replace("198.51.100.0", "203.0.113.0"), SCRIPTS, "3 missing in the kernel"),
    ],
    ids=["flushed", "drops nothing", "another port", "no unit", "no drop-in", "another client"],
)
def test_a_table_that_differs_is_for_install(tables: str, scripts: str, actual: str) -> None:
    assert (tables, scripts) != (TABLES, SCRIPTS)
    difference, state = judge(take_snapshot(tables=tables, scripts=scripts))
    assert (difference[: len(actual)], state) == (actual, "present")


def test_a_node_that_joined_is_missed() -> None:
    base = take_snapshot(tables=TABLES, scripts=SCRIPTS)
    late_host = Host("host3", "10.77.1.13", groups=frozenset({NODE}))
    spec = base.inventory.spec.model_dump(mode="json", by_alias=True)
    assert judge(build((*HOSTS, late_host), base.answers, spec))[0].startswith(
        "3 missing in the kernel: in sctp 10.77.1.13"
    )


def test_the_role_gets_state_and_clients() -> None:
    snapshot = take_snapshot()
    system = [read_case("system.os", "fresh-debian-12"), make_answer("system.hostname", "host1\n")]
    spec = snapshot.inventory.spec.model_dump(mode="json", by_alias=True)
    overlay = build_overlay(build(HOSTS, {**snapshot.answers, **place_answers("host1", *system)}, spec))
    variables = overlay["all"]["hosts"]["host1"]
    assert variables["gpustack_host"]["firewall_tables"]["node-ports"] == "present"
    flows = [flow for flow in variables["gpustack"]["firewall"]["flows"] if flow["to"] == "services"]
    assert {flow["sources"]: flow["addresses"] for flow in flows} == {
        "nodes": ["10.77.1.11/32", "10.77.1.12/32"], "pods": ["10.244.0.0/16"], "clients": list(SOURCES),
    }  # fmt: skip
