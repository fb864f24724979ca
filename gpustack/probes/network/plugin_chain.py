"""Plugins of CoreDNS that let no question pass to those behind them.

CoreDNS asks the plugins of a server block in an order of its own, whatever that of the Corefile is (plugin.cfg):
`template` and `hosts` before `kubernetes` and `forward`. A plugin that has no answer for a name of its zones passes it
on only with `fallthrough` (https://coredns.io/plugins/hosts and /plugins/template). Without it, clients get an error.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from gpustack.ask.probe import Answer, Probe
from gpustack.probes.network.resolver import COREFILE, split_lines

ARGUMENTS = {"hosts": 1, "template": 2}
"""The plugins before `kubernetes`, and how many arguments they have before their zones."""
ROOT, SERVICES, PASS = ".", "kubernetes", "fallthrough"


@dataclass
class Directive:
    """Hold a line of the Corefile and those in its braces."""

    words: list[str]
    body: list["Directive"] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.words[0]


def parse_last_plugins(answer: Answer) -> tuple[str, ...]:
    """Parse the plugins behind which no other one is asked about Services, in server blocks that have Services."""
    names: dict[str, None] = {}
    for block in parse_directives(iter(split_lines(answer))):
        if any(plugin.name == SERVICES for plugin in block.body):
            names |= dict.fromkeys(plugin.name for plugin in block.body if covers_all_names(plugin))
    return tuple(names)


def parse_directives(lines: Iterator[list[str]]) -> list[Directive]:
    """Parse the lines up to the brace that ends their block."""
    directives = []
    for words in lines:
        if not words or words[0].startswith("#"):
            continue
        if words == ["}"]:
            break
        opens = words[-1] == "{"
        directives.append(Directive(words[:-1] if opens else words, parse_directives(lines) if opens else []))
    return directives


def covers_all_names(plugin: Directive) -> bool:
    """Tell whether a plugin answers for all names of its block. One that falls through for some zones does so for the
    others as well here, and one that answers for one type of records does not answer for all."""
    if plugin.name not in ARGUMENTS or any(line.name == PASS for line in plugin.body):
        return False
    arguments, zones = plugin.words[1 : 1 + ARGUMENTS[plugin.name]], plugin.words[1 + ARGUMENTS[plugin.name] :]
    asks_all = plugin.name != "template" or arguments[1:] in ([], ["ANY"])
    return asks_all and (not zones or ROOT in zones)


LAST_PLUGINS = Probe("resolver.last-plugins", COREFILE, parse_last_plugins)
