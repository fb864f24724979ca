"""Reads rules in the form of `iptables -S`, which is that of iptables-restore too. Source: iptables-extensions(8)."""

import shlex
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal

from gpustack.probes.firewall.packet_filter import Base, Filter, Hook, Rule, check_readable, filter_of

VERDICTS = {"ACCEPT": "accept", "DROP": "drop", "REJECT": "drop", "RETURN": "return"}
# Targets that do something to a packet and let it go on.
GOES_ON = {"LOG", "NFLOG", "ULOG", "MARK", "CONNMARK", "TCPMSS", "AUDIT", "TRACE", "CT", "NOTRACK", "DSCP", "SET"}
HOOKS: dict[str, Hook] = {"INPUT": "input", "FORWARD": "forward", "OUTPUT": "output"}


def parse(lines: Iterable[str], family: Literal["ip", "ip6"] = "ip") -> Filter:
    """Of `iptables -S`, or of `ip6tables -S`. Raises ValueError on a line that is none of it."""
    return filter_of(*read(lines, f"{family} filter"))


def read(lines: Iterable[str], table: str = "ip filter") -> tuple[list[Base], dict[str, list[Rule]]]:
    """Every chain, asked or not."""
    bases: list[Base] = []
    chains: dict[str, list[Rule]] = {}
    for line in lines:
        words = split(line)
        if words[:1] == ["-P"]:
            _, name, policy = words
            chains[f"{table} {name}"] = []
            if name in HOOKS:
                verdict: Literal["accept", "drop"] = "accept" if policy == "ACCEPT" else "drop"
                bases.append(Base(f"{table} {name}", HOOKS[name], verdict, iptables=True))
        elif words[:1] == ["-N"]:
            chains[f"{table} {words[1]}"] = []
        elif words[:1] == ["-A"]:
            chains.setdefault(f"{table} {words[1]}", []).append(rule(words[2:], line))
        elif words:
            raise ValueError(f"not a line of iptables -S: {line}")
    return bases, chains


@lru_cache(maxsize=4096)
def split(line: str) -> list[str]:
    """Many hosts have the same lines."""
    return shlex.split(line)


def rule(words: list[str], text: str) -> Rule:
    fields: dict[str, Any] = {"verdict": "", "text": text, "judged": True}
    rest = iter(words)
    for word in rest:
        if word in ("-j", "-g"):
            fields["verdict"] = verdict(word, next(rest, ""))
            break
        if word == "!" or not match(word, rest, fields):
            fields["judged"] = False
    return check_readable(Rule(**fields))


def verdict(option: str, target: str) -> str:
    if option == "-g":
        return f"goto {target}"
    return VERDICTS.get(target) or ("" if target in GOES_ON else f"jump {target}")


def match(word: str, rest: Iterator[str], fields: dict[str, Any]) -> bool:
    """Notes what one option asks for; false if it is not modelled."""
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
