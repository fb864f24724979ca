"""Parsing of tables in the form of `nft -j list table`. Source: libnftables-json(5)."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from gpustack.files.json_text import load_json
from gpustack.probes.firewall.packet_filter import Base, Filter, Rule, build_filter, check_readable

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
NEUTRAL_STATEMENTS = {"counter", "log", "comment", "mangle", "ct helper", "flow", "meter"}


def parse_filter(tables: Iterable[str]) -> Filter:
    """Parse several answers of one table each. Raise ValueError or KeyError where one has another shape."""
    bases: list[Base] = []
    chains: dict[str, list[Rule]] = {}
    for text in tables:
        for entry in load_json(text)["nftables"]:
            if chain := entry.get("chain"):
                if chain["family"] in FAMILIES:
                    chains.setdefault(format_chain(chain, chain["name"]), [])
                    bases += parse_base(chain)
            elif (definition := entry.get("rule")) and definition["family"] in FAMILIES:
                checked_rules = map(check_readable, parse_rules(definition["expr"]))
                chains.setdefault(format_chain(definition, definition["chain"]), []).extend(checked_rules)
    return build_filter(sorted(bases, key=lambda base: base.chain), chains)


def format_chain(entry: dict[str, Any], chain: str) -> str:
    return f"{entry['family']} {entry['table']} {chain}"


def parse_base(chain: dict[str, Any]) -> Iterator[Base]:
    if chain.get("type") == "filter" and chain.get("hook") in HOOKS:
        yield Base(
            format_chain(chain, chain["name"]), chain["hook"], "drop" if chain.get("policy") == "drop" else "accept"
        )


def parse_rules(expressions: list[dict[str, Any]]) -> Iterator[Rule]:
    """Parse one rule, or one for each element of a verdict map."""
    rule = Rule("", describe_rule(expressions))
    for expression in expressions:
        ((kind, operands),) = expression.items()
        if kind == "match":
            rule = add_match(rule, operands["left"], operands["right"], operands["op"])
        elif kind in ("accept", "drop", "return"):
            rule = replace(rule, verdict=kind)
        elif kind == "reject":
            rule = replace(rule, verdict="drop")
        elif kind in ("jump", "goto"):
            rule = replace(rule, verdict=f"{kind} {operands['target']}")
        elif kind == "vmap":
            yield from expand_map(rule, operands)
            return
        elif kind not in NEUTRAL_STATEMENTS:
            rule = replace(rule, judged=False)
    yield rule


def expand_map(before: Rule, verdict_map: dict[str, Any]) -> Iterator[Rule]:
    elements = verdict_map["data"]["set"] if isinstance(verdict_map["data"], dict) else []
    for key, verdict in elements:
        ((kind, target),) = verdict.items()
        words = f"{kind} {target['target']}" if kind in ("jump", "goto") else "drop" if kind == "reject" else kind
        yield replace(add_match(before, verdict_map["key"], key, "=="), verdict=words)


def add_match(rule: Rule, left_side: Any, right: Any, op: str) -> Rule:
    """Return the rule with one more match; it is not judged if the match is not modelled or no new connection can
    match."""
    unjudged_rule = replace(rule, judged=False)
    if op not in ("==", "in", "!=") or not isinstance(left_side, dict):
        return unjudged_rule
    ((kind, selector),) = left_side.items()
    if not isinstance(selector, dict):
        return unjudged_rule  # of a part of it, as `meta mark & 0x4000`
    values = list_elements(right)
    match_key = (
        kind,
        selector.get("protocol", ""),
        selector.get("field") or selector.get("key") or selector.get("result"),
    )
    if op == "!=" and (match_key not in FIELDS or getattr(rule, FIELDS[match_key])):
        return unjudged_rule
    if match_key == ("ct", "", "state"):
        return rule if "new" in values else unjudged_rule
    if match_key == ("meta", "", "nfproto"):
        return (
            replace(rule, version=VERSIONS[values[0]]) if len(values) == 1 and values[0] in VERSIONS else unjudged_rule
        )
    if match_key == ("fib", "", "type"):
        return (
            replace(rule, local=True) if selector.get("flags") == ["daddr"] and values == ("local",) else unjudged_rule
        )
    return add_field(rule, match_key, values, negated=op == "!=") if match_key in FIELDS and values else unjudged_rule


def add_field(rule: Rule, match_key: tuple[str, str, str], values: tuple[str, ...], *, negated: bool) -> Rule:
    """Return the rule with the values of one more field."""
    fields: dict[str, Any] = {FIELDS[match_key]: values}
    if negated:
        fields["inverse_fields"] = rule.inverse_fields | {FIELDS[match_key]}
    if match_key[1] in ("tcp", "udp"):
        fields["protos"] = (match_key[1],)
    if match_key[1] in VERSIONS:
        fields["version"] = VERSIONS[match_key[1]]
    return replace(rule, **fields)


def list_elements(right: Any) -> tuple[str, ...]:
    """List values, networks and ranges as text; none for a named set, whose elements are not listed."""
    if isinstance(right, str) and right.startswith("@"):
        return ()
    if isinstance(right, dict) and "set" in right:
        return tuple(part for element in right["set"] for part in list_elements(element))
    if isinstance(right, list):
        return tuple(part for element in right for part in list_elements(element))
    if isinstance(right, dict) and "range" in right:
        first, last = right["range"]
        return (f"{first}-{last}",)
    if isinstance(right, dict) and "prefix" in right:
        return (f"{right['prefix']['addr']}/{right['prefix']['len']}",)
    if isinstance(right, dict) and "elem" in right:
        return list_elements(right["elem"]["val"])
    return (str(right),)


def describe_rule(expressions: list[dict[str, Any]]) -> str:
    """Describe a rule in words close to nft's, for people."""
    words = []
    for expression in expressions:
        ((kind, operands),) = expression.items()
        if kind == "match":
            left_side = next(iter(operands["left"].values())) if isinstance(operands["left"], dict) else {}
            key = " ".join(
                str(left_side[part])
                for part in ("protocol", "field", "key")
                if isinstance(left_side, dict) and part in left_side
            )
            sign = "!= " if operands["op"] == "!=" else ""
            words.append(f"{key} {sign}{','.join(list_elements(operands['right'])) or operands['right']}")
        elif kind in ("jump", "goto"):
            words.append(f"{kind} {operands['target']}")
        elif kind != "counter":
            words.append(kind)
    return " ".join(words)
