"""Checks of gpustack's firewall rules: loaded, stored, and exactly what this cluster needs."""

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.probes.firewall.live_rules import FIREWALL, STORED_RULES
from gpustack.steps.firewall.packets import (
    detect_manager,
    find_denying_chains,
    is_persistent,
    list_expected_passes,
    list_loaded_passes,
    map_peer_addresses,
)

MAX_SHOWN_RULES = 4
DIRECTIONS = {"input": "in", "forward": "forward", "output": "out"}


def ours_are_loaded(view: View) -> Result | None:
    """The rules of gpustack in the running kernel allow what this cluster needs, and no more."""
    manager = detect_manager(view)
    if not can_judge(view, manager):
        return None
    actual_passes, expected_passes = list_loaded_passes(view[FIREWALL]), list_expected_passes(view, manager)
    excess = actual_passes - expected_passes if manager != "ufw" else frozenset()
    if manager == "nftables":
        # Where a table has no chain that denies, there is none that could jump to gpustack's.
        denied_directions = {DIRECTIONS[base.hook] for base in find_denying_chains(view)}
        actual_passes |= frozenset(rule for rule in expected_passes if rule.split()[0] not in denied_directions)
    return find_rule_mismatch(view, "gpustack's rules in the kernel", manager, actual_passes, excess)


def ours_are_stored(view: View) -> Result | None:
    """The rules of gpustack are restored at boot, for this cluster and no more."""
    manager, stored_rules = detect_manager(view), view[STORED_RULES]
    if not can_judge(view, manager):
        return None
    # ufw keeps each rule once: one of the operator's that is the same as gpustack's counts.
    actual_passes, managed_rules = (
        stored_rules.select_passes(manager) | (stored_rules.ufw_all if manager == "ufw" else frozenset()),
        stored_rules.select_passes(manager),
    )
    return find_rule_mismatch(
        view,
        f"gpustack's rules stored for {manager}",
        manager,
        actual_passes,
        managed_rules - list_expected_passes(view, manager),
    )


def can_judge(view: View, manager: str) -> bool:
    """Tell whether a known service loads the rules at boot. If none does, `flows_pass` reports it."""
    return view.spec.firewall.manage and manager != "none" and is_persistent(view[FIREWALL], manager)


def find_rule_mismatch(
    view: View, subject: str, manager: str, actual_passes: frozenset[str], excess: frozenset[str]
) -> Result | None:
    if manager == "firewalld":
        # Other networks in a zone that accepts all are the operator's.
        excess = frozenset(rule for rule in excess if not rule.startswith("forward from"))
    if len(map_peer_addresses(view)) < len(view.hosts):
        # What looks like too much may be the address of a node that could not say it.
        excess = frozenset()
    parts = {"missing": sorted(list_expected_passes(view, manager) - actual_passes), "unexpected": sorted(excess)}
    differences = "; ".join(f"{len(rules)} {word}: {format_rules(rules)}" for word, rules in parts.items() if rules)
    return Result(subject, "the rules of this cluster", differences) if differences else None


def format_rules(rules: list[str]) -> str:
    return ", ".join(rules[:MAX_SHOWN_RULES]) + (", …" if len(rules) > MAX_SHOWN_RULES else "")
