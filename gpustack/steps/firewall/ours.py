"""Checks of our firewall rules: loaded, stored, and exactly what this cluster needs."""

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.probes.firewall.live import FIREWALL, STORED_RULES
from gpustack.steps.firewall.packets import denying, kept, loaded, manager, peers, wanted

SHOWN = 4
WAYS = {"input": "in", "forward": "forward", "output": "out"}


def ours_are_loaded(here: View) -> Result | None:
    """Our rules in the running kernel allow what this cluster needs, and no more."""
    who = manager(here)
    if not judged(here, who):
        return None
    found, wants = loaded(here[FIREWALL]), wanted(here, who)
    more = found - wants if who != "ufw" else frozenset()
    if who == "nftables":
        # Where a table has no chain that denies, there is none that could ask ours.
        denied = {WAYS[base.hook] for base in denying(here)}
        found |= frozenset(one for one in wants if one.split()[0] not in denied)
    return compared(here, "gpustack's rules in the kernel", who, found, more)


def ours_are_stored(here: View) -> Result | None:
    """Our rules are restored at boot, for this cluster and no more."""
    who, stored = manager(here), here[STORED_RULES]
    if not judged(here, who):
        return None
    # ufw keeps each rule once: one of the operator's that is the same as ours counts.
    found, ours = stored.of(who) | (stored.ufw_all if who == "ufw" else frozenset()), stored.of(who)
    return compared(here, f"gpustack's rules stored for {who}", who, found, ours - wanted(here, who))


def judged(here: View, who: str) -> bool:
    """If no known service loads the rules at boot, `flows_pass` reports it."""
    return here.spec.firewall.manage and who != "none" and kept(here[FIREWALL], who)


def compared(here: View, what: str, who: str, found: frozenset[str], more: frozenset[str]) -> Result | None:
    if who == "firewalld":
        # Other networks in a zone that accepts all are the operator's.
        more = frozenset(one for one in more if not one.startswith("forward from"))
    if len(peers(here)) < len(here.hosts):
        # What looks like too much may be the address of a node that could not say it.
        more = frozenset()
    parts = {"missing": sorted(wanted(here, who) - found), "unexpected": sorted(more)}
    differences = "; ".join(f"{len(those)} {word}: {some(those)}" for word, those in parts.items() if those)
    return Result(what, "the rules of this cluster", differences) if differences else None


def some(those: list[str]) -> str:
    return ", ".join(those[:SHOWN]) + (", …" if len(those) > SHOWN else "")
