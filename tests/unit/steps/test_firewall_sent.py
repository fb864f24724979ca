"""The firewall step on hosts that deny what they send."""

import json

from gpustack.steps.firewall.packets import detect_manager
from gpustack.steps.firewall.step import HINT
from tests.worlds.snapshots.firewall import (
    OPEN,
    build_snapshot,
    build_view,
    format_rules,
    judge_rules,
    list_outcomes,
    load_snapshot,
)


def test_an_output_policy_that_nobody_known_loads_is_for_the_operator() -> None:
    snapshot = build_snapshot(format_rules(OPEN.replace("OUTPUT ACCEPT", "OUTPUT DROP")))
    assert list_outcomes(snapshot) == {"flows-pass": "operator"}
    result = judge_rules(snapshot)["flows-pass"].result
    assert result
    assert "tcp 2379 to 127.0.0.1 is blocked by the policy DROP of chain ip filter OUTPUT" in result.actual
    assert result.hint == HINT


def test_an_output_policy_of_a_known_one_is_opened() -> None:
    snapshot = build_snapshot(
        format_rules(OPEN.replace("OUTPUT ACCEPT", "OUTPUT DROP"), units=("netfilter-persistent",))
    )
    assert detect_manager(build_view(snapshot)) == "iptables"
    assert list_outcomes(snapshot).items() >= {"flows-pass": "install", "ours-are-stored": "install"}.items()


def test_a_table_that_denies_on_one_way_only_asks_ours_on_that_one() -> None:
    """A table without a chain for what is sent has no place for a jump."""
    after = load_snapshot("nftables-debian-12-after")
    answer = after.answers["firewall.live", "host1"]
    document = json.loads(answer.stdout.split("== nft\n")[1].splitlines()[0])
    document["nftables"] = [
        entry
        for entry in document["nftables"]
        if "output" not in (next(iter(entry.values())).get(key) for key in ("name", "chain"))
    ]
    snapshot = build_snapshot(
        answer.stdout.split("== nft\n")[0] + "== nft\n" + json.dumps(document) + "\n",
        after.answers["firewall.stored", "host1"],
    )
    assert list_outcomes(snapshot) == {}
