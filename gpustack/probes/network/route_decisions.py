"""The decisions of a host's kernel on packets to the pods of other nodes: a rule of routing, as that of a VPN, or a
narrower route may come before the routes that Flannel wrote into the main table (ip-rule(8), ip-route(8))."""

import re
from dataclasses import dataclass

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script

LINK = re.compile(r" dev (\S+)")


@dataclass(frozen=True)
class RouteDecision:
    """Describe what the kernel does with packets to `prefix`, for which the main table names `link`. `sender` is `host`
    or `pods`; `chosen_link` is empty where the kernel sends none, and `words` are its own."""

    prefix: str
    link: str
    sender: str
    chosen_link: str
    words: str

    @property
    def diverted(self) -> bool:
        return self.chosen_link != self.link


@dataclass(frozen=True)
class RouteDecisions:
    """Hold the decisions of a host, and its rules of routing besides the usual three."""

    decisions: tuple[RouteDecision, ...]
    rules: tuple[str, ...]


def parse_route_decisions(answer: Answer) -> RouteDecisions:
    """Parse the decisions. Raise ValueError where the answer has another shape."""
    decisions: list[RouteDecision] = []
    rules: list[str] = []
    prefix = link = ""
    for line in answer.stdout.splitlines():
        word, _, rest = line.partition(" ")
        if word == "route":
            prefix, link = rest.split(" ")
        elif word == "rule":
            rules.append(" ".join(rest.split()))
        elif word in ("host", "pods") and prefix:
            match = LINK.search(rest)
            decisions.append(
                RouteDecision(prefix, link, word, match[1] if match else "", shorten_message(" ".join(rest.split())))
            )
        else:
            raise ValueError(line[:80])
    return RouteDecisions(tuple(decisions), tuple(rules))


ROUTE_DECISIONS = Probe(
    "network.route-decisions",
    Lines(read_script(__file__, "route_decisions.sh")),
    parse_route_decisions,
    manual_command="ip rule; ip route show table all",
)
