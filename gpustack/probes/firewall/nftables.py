"""Reads tables in the form of `nft -j list table`. Source: libnftables-json(5)."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from gpustack.files.json_text import load_json
from gpustack.probes.firewall.packet_filter import Base, Filter, Rule, check_readable, filter_of

HOOKS = ("input", "forward", "output")
FAMILIES = ("ip", "ip6", "inet")
# Statements that do something beside the verdict.
FIELDS = {
    ("payload", "ip", "saddr"): "sources",
    ("payload", "ip", "daddr"): "targets",
    ("payload", "ip", "protocol"): "protos",
    ("payload", "ip6", "saddr"): "sources",
    ("payload", "ip6", "daddr"): "targets",
    ("payload", "ip6", "nexthdr"): "protos",
    ("meta", "", "l4proto"): "protos",
    ("payload", "tcp", "dport"): "ports",
    ("payload", "udp", "dport"): "ports",
    ("payload", "th", "dport"): "ports",
    ("meta", "", "iifname"): "interfaces",
    ("meta", "", "iif"): "interfaces",
    ("meta", "", "oifname"): "outs",
    ("meta", "", "oif"): "outs",
}
VERSIONS = {"ip": 4, "ip6": 6, "ipv4": 4, "ipv6": 6}
BESIDE = {"counter", "log", "comment", "mangle", "ct helper", "flow", "meter"}


def parse(tables: Iterable[str]) -> Filter:
    """Of several answers, one table each. Raises ValueError or KeyError if they are of another shape."""
    bases: list[Base] = []
    chains: dict[str, list[Rule]] = {}
    for text in tables:
        for entry in load_json(text)["nftables"]:
            if chain := entry.get("chain"):
                if chain["family"] in FAMILIES:
                    chains.setdefault(name(chain, chain["name"]), [])
                    bases += base(chain)
            elif (definition := entry.get("rule")) and definition["family"] in FAMILIES:
                found = map(check_readable, rules(definition["expr"]))
                chains.setdefault(name(definition, definition["chain"]), []).extend(found)
    return filter_of(sorted(bases, key=lambda found: found.chain), chains)


def name(entry: dict[str, Any], chain: str) -> str:
    return f"{entry['family']} {entry['table']} {chain}"


def base(chain: dict[str, Any]) -> Iterator[Base]:
    if chain.get("type") == "filter" and chain.get("hook") in HOOKS:
        yield Base(name(chain, chain["name"]), chain["hook"], "drop" if chain.get("policy") == "drop" else "accept")


def rules(expressions: list[dict[str, Any]]) -> Iterator[Rule]:
    """One rule, or one for each element of a verdict map."""
    found = Rule("", describe_rule(expressions))
    for expression in expressions:
        ((kind, value),) = expression.items()
        if kind == "match":
            found = add_match(found, value["left"], value["right"], value["op"])
        elif kind in ("accept", "drop", "return"):
            found = replace(found, verdict=kind)
        elif kind == "reject":
            found = replace(found, verdict="drop")
        elif kind in ("jump", "goto"):
            found = replace(found, verdict=f"{kind} {value['target']}")
        elif kind == "vmap":
            yield from expand_map(found, value)
            return
        elif kind not in BESIDE:
            found = replace(found, judged=False)
    yield found


def expand_map(before: Rule, value: dict[str, Any]) -> Iterator[Rule]:
    elements = value["data"]["set"] if isinstance(value["data"], dict) else []
    for key, verdict in elements:
        ((kind, target),) = verdict.items()
        words = f"{kind} {target['target']}" if kind in ("jump", "goto") else "drop" if kind == "reject" else kind
        yield replace(add_match(before, value["key"], key, "=="), verdict=words)


def add_match(found: Rule, left: Any, right: Any, op: str) -> Rule:
    """The rule with one more match; not judged if that is not modelled or no new connection can match."""
    unknown = replace(found, judged=False)
    if op not in ("==", "in") or not isinstance(left, dict):
        return unknown
    ((kind, of),) = left.items()
    if not isinstance(of, dict):
        return unknown  # of a part of it, as `meta mark & 0x4000`
    values = elements(right)
    about = (kind, of.get("protocol", ""), of.get("field") or of.get("key") or of.get("result"))
    if about == ("ct", "", "state"):
        return found if "new" in values else unknown
    if about == ("meta", "", "nfproto"):
        return replace(found, version=VERSIONS[values[0]]) if len(values) == 1 and values[0] in VERSIONS else unknown
    if about == ("fib", "", "type"):
        return replace(found, local=True) if of.get("flags") == ["daddr"] and values == ("local",) else unknown
    if about not in FIELDS or not values:
        return unknown
    fields: dict[str, Any] = {FIELDS[about]: values}
    if about[1] in ("tcp", "udp"):
        fields["protos"] = (about[1],)
    if about[1] in VERSIONS:
        fields["version"] = VERSIONS[about[1]]
    return replace(found, **fields)


def elements(right: Any) -> tuple[str, ...]:
    """Values, networks and ranges as text; nothing for a named set, whose elements are not listed."""
    if isinstance(right, str) and right.startswith("@"):
        return ()
    if isinstance(right, dict) and "set" in right:
        return tuple(part for element in right["set"] for part in elements(element))
    if isinstance(right, list):
        return tuple(part for element in right for part in elements(element))
    if isinstance(right, dict) and "range" in right:
        first, last = right["range"]
        return (f"{first}-{last}",)
    if isinstance(right, dict) and "prefix" in right:
        return (f"{right['prefix']['addr']}/{right['prefix']['len']}",)
    if isinstance(right, dict) and "elem" in right:
        return elements(right["elem"]["val"])
    return (str(right),)


def describe_rule(expressions: list[dict[str, Any]]) -> str:
    """A rule in words close to nft's, for people."""
    words = []
    for expression in expressions:
        ((kind, value),) = expression.items()
        if kind == "match":
            left = next(iter(value["left"].values())) if isinstance(value["left"], dict) else {}
            key = " ".join(
                str(left[part]) for part in ("protocol", "field", "key") if isinstance(left, dict) and part in left
            )
            words.append(f"{key} {','.join(elements(value['right'])) or value['right']}")
        elif kind in ("jump", "goto"):
            words.append(f"{kind} {value['target']}")
        elif kind != "counter":
            words.append(kind)
    return " ".join(words)
