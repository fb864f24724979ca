"""A Prometheus rule file as text: stable, and laid out to be read."""

from collections.abc import Iterable, Mapping, Sequence

from scripts.values.normalise import Rule, indent

HEAD = """\
# Recording rules: from the exporter's series to named ones in base units, one for each GPU.
# Written by `make values` from scripts/values/; change it there. Alerts and dashboards use these names only.
"""


def rule_file(groups: Mapping[str, tuple[str, Sequence[Rule]]]) -> str:
    """`groups`: name -> (interval, rules)."""
    return HEAD + "groups:\n" + "\n".join(group(name, *one) for name, one in groups.items())


def group(name: str, interval: str, rules: Iterable[Rule]) -> str:
    body = "".join(indent(indent(rule(one))) + "\n" for one in rules)
    return f"  - name: {name}\n    interval: {interval}\n    rules:\n" + indent(body) + "\n"


def rule(one: Rule) -> str:
    lines = [f"# {one.why}"] if one.why else []
    lines.append(f"- record: {one.record}")
    if one.labels:
        lines.append("  labels: {" + ", ".join(f"{key}: {value}" for key, value in one.labels.items()) + "}")
    if "\n" in one.expr:
        lines += ["  expr: |-", indent(indent(one.expr))]
    else:
        lines.append("  expr: " + (f"'{one.expr}'" if any(mark in one.expr for mark in '{}:#"') else one.expr))
    return "\n".join(lines)
