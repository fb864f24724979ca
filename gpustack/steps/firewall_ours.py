"""Checks of what is ours in a firewall: loaded, stored, and exactly what this cluster needs."""

from gpustack.ask.judge import Mismatch
from gpustack.ask.view import View
from gpustack.probes.firewall import FIREWALL, STORED_RULES
from gpustack.probes.packet_filter import own_passes
from gpustack.steps.firewall_packets import kept, manager, peers, wanted

# The ends of their names; those of firewalld's policies are made by firewalld.
INTO = ("GPUSTACK-IN", "gpustack_in", "gpustack-in_allow")
THROUGH = ("GPUSTACK-FWD", "gpustack_forward", "gpustack-forward_allow")


def ours_are_loaded(here: View) -> Mismatch | None:
    """Our rules in the running kernel let pass what this cluster needs, and no more."""
    who = manager(here)
    # ufw's rules lie in one chain with the operator's: whether packets pass is asked on its own.
    if not judged(here, who) or who == "ufw":
        return None
    chains = here[FIREWALL].filter.chains.items()
    into = (own_passes(rules, "input") for name, rules in chains if name.endswith(INTO))
    through = (own_passes(rules, "forward") for name, rules in chains if name.endswith(THROUGH))
    return compared(here, "our rules in the kernel", who, frozenset().union(*into, *through))


def ours_are_stored(here: View) -> Mismatch | None:
    """Our rules come back after a reboot, for this cluster and no more."""
    who = manager(here)
    return compared(here, f"our rules stored for {who}", who, here[STORED_RULES].of(who)) if judged(here, who) else None


def judged(here: View, who: str) -> bool:
    """Where nobody known loads the rules at boot, `flows_pass` tells the operator."""
    return here.spec.firewall.manage and who != "none" and kept(here[FIREWALL], who)


def compared(here: View, what: str, who: str, found: frozenset[str]) -> Mismatch | None:
    needed, theirs = wanted(here, who), here[STORED_RULES].ufw_all if who == "ufw" else frozenset()
    more = found - needed
    if who == "firewalld":
        # Other networks in a zone that accepts all are the operator's.
        more = frozenset(one for one in more if not one.startswith("forward from"))
    if len(peers(here)) < len(here.hosts):
        # What looks like too much may be the address of a node that could not say it.
        more = frozenset()
    parts = {"missing": sorted(needed - found - theirs), "too much": sorted(more)}
    said = "; ".join(f"{word}: {', '.join(those)}" for word, those in parts.items() if those)
    return Mismatch(what, "what this cluster needs", said) if said else None
