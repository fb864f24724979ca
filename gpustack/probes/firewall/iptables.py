"""Parsing of `iptables -S`, whose form is that of iptables-restore too. Source: iptables-extensions(8)."""

import shlex
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal

from gpustack.probes.firewall.packet_filter import Base, Filter, Hook, Rule, build_filter, check_readable

VERDICTS = {"ACCEPT": "accept", "DROP": "drop", "REJECT": "drop", "RETURN": "return"}
# Targets that do something to a packet and let it go on.
GOES_ON = {"LOG", "NFLOG", "ULOG", "MARK", "CONNMARK", "TCPMSS", "AUDIT", "TRACE", "CT", "NOTRACK", "DSCP", "SET"}
NEGATABLE_OPTIONS = {
    "-p": "protos",
    "-s": "sources",
    "-d": "targets",
    "-i": "interfaces",
    "-o": "outs",
    "--dport": "ports",
    "--dports": "ports",
}
"""The options that `!` may stand before, with the field of a rule that each fills."""
HOOKS: dict[str, Hook] = {"INPUT": "input", "FORWARD": "forward", "OUTPUT": "output"}


def parse_filter(lines: Iterable[str], family: Literal["ip", "ip6"] = "ip") -> Filter:
    """Parse the output of `iptables -S` or `ip6tables -S`. Raise ValueError where a line is of another form."""
    return build_filter(*parse_chains(lines, f"{family} filter"))


def parse_chains(lines: Iterable[str], table: str = "ip filter") -> tuple[list[Base], dict[str, list[Rule]]]:
    """Parse every chain, whether or not a base chain leads to it."""
    bases: list[Base] = []
    chains: dict[str, list[Rule]] = {}
    for line in lines:
        words = split_words(line)
        if words[:1] == ["-P"]:
            _, name, policy = words
            chains[f"{table} {name}"] = []
            if name in HOOKS:
                verdict: Literal["accept", "drop"] = "accept" if policy == "ACCEPT" else "drop"
                bases.append(Base(f"{table} {name}", HOOKS[name], verdict, iptables=True))
        elif words[:1] == ["-N"]:
            chains[f"{table} {words[1]}"] = []
        elif words[:1] == ["-A"]:
            chains.setdefault(f"{table} {words[1]}", []).append(parse_rule(words[2:], line))
        elif words:
            raise ValueError(f"not a line of iptables -S: {line}")
    return bases, chains


@lru_cache(maxsize=4096)
def split_words(line: str) -> list[str]:
    """Split a line into words. Results are cached, since many hosts have the same lines."""
    return shlex.split(line)


def parse_rule(words: list[str], text: str) -> Rule:
    fields: dict[str, Any] = {"verdict": "", "text": text, "judged": True, "inverse_fields": frozenset()}
    rest = iter(words)
    for word in rest:
        if word in ("-j", "-g"):
            fields["verdict"] = parse_verdict(word, next(rest, ""))
            break
        option = next(rest, "") if word == "!" else word
        if not parse_option(option, rest, fields) or (word == "!" and option not in NEGATABLE_OPTIONS):
            fields["judged"] = False
        elif word == "!":
            fields["inverse_fields"] |= {NEGATABLE_OPTIONS[option]}
    return check_readable(Rule(**fields))


def parse_verdict(option: str, target: str) -> str:
    if option == "-g":
        return f"goto {target}"
    return VERDICTS.get(target) or ("" if target in GOES_ON else f"jump {target}")


def parse_option(word: str, rest: Iterator[str], fields: dict[str, Any]) -> bool:
    """Add the match of one option to the fields of a rule; return False where it is not modelled."""
    match word:
        case "-p":
            proto = next(rest, "")
            fields["protos"] = () if proto == "all" else (proto,)
        case "-s" | "-d":
            fields["sources" if word == "-s" else "targets"] = tuple(next(rest, "").split(","))
        case "-i" | "-o":
            fields["interfaces" if word == "-i" else "outs"] = (next(rest, "").replace("+", "*"),)
        case "-m":
            next(rest, "")
        case "--comment":
            next(rest, "")
        case "--dport" | "--dports":
            fields["ports"] = tuple(ports.replace(":", "-") for ports in next(rest, "").split(","))
        case "--ctstate" | "--state":
            return "NEW" in next(rest, "").split(",")
        case "--dst-type":
            fields["local"] = True
            return next(rest, "") == "LOCAL"
        case _:
            return False
    return True
