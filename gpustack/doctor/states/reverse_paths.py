"""Packets that a strict rp_filter drops, as on a host with several links: the sender sees a timeout alone."""

from collections.abc import Iterator

from gpustack.ask.judge import format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.network.reverse_paths import REVERSE_PATHS

USUAL_COUNT = 100
"""Some packets with the address of another network come to any host, such as those of a wrong broadcast."""


def observe_drops(view: View) -> Iterator[AbnormalState]:
    facts = view[REVERSE_PATHS]
    if facts.drops is not None and facts.drops >= USUAL_COUNT and facts.strict_links:
        message = (
            f"it has dropped {facts.drops} packets since the boot whose way back is by another link "
            f"(IPReversePathFilter); rp_filter is 1 (strict) on {format_value(facts.strict_links)}"
        )
        command = Command("sysctl", "-a", "-r", r"net\.ipv4\.conf\..*\.rp_filter")
        subject = f"kernel of {view.location}, reverse paths"
        yield AbnormalState("packets-dropped", "risk", (view.location,), (subject,), message, command)


OBSERVERS = (Observer("reverse-paths", "Reverse paths of packets", observe_drops, (REVERSE_PATHS,), scope="host"),)
