"""Packets to pods of other nodes that the kernel sends elsewhere than Flannel's routes say."""

from collections.abc import Iterator

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.checks.host.kernel import FORWARD
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.kernel.settings import SYSCTL
from gpustack.probes.network.route_decisions import ROUTE_DECISIONS, RouteDecision


def observe_decisions(view: View) -> Iterator[AbnormalState]:
    """List the networks of pods that the kernel reaches by another link than that of the main table, or not at all.
    While it forwards no packet, its decision on those of pods says nothing of routes."""
    facts = view[ROUTE_DECISIONS]
    forwards = not view.has_fact(SYSCTL) or view[SYSCTL].live.get(FORWARD) != "0"
    diverted_decisions: dict[tuple[str, str], RouteDecision] = {}
    for decision in facts.decisions:
        if decision.diverted and (forwards or decision.sender == "host"):
            diverted_decisions.setdefault((decision.prefix, decision.words), decision)
    rules = f"; rules of routing: {'; '.join(facts.rules)}" if facts.rules else ""
    for decision in diverted_decisions.values():
        message = (
            f"the main table sends packets to {decision.prefix} by {decision.link}, and the kernel does not "
            f"({'of its pods' if decision.sender == 'pods' else 'of the host'}): {decision.words}{rules}"
        )
        address = decision.prefix.partition("/")[0].rpartition(".")[0] + ".1"
        command = Command("ip", "route", "get", address)
        subject = f"routes of {view.location}, to pods"
        yield AbnormalState(
            "route-diverted", "broken", (view.location,), (subject,), message, command, topic=decision.prefix
        )


OBSERVERS = (Observer("route-decisions", "Routes to pods", observe_decisions, (ROUTE_DECISIONS,), scope="host"),)
