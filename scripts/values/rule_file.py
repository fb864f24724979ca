"""A Prometheus rule file as text: stable, and laid out to be read."""

from collections.abc import Iterable, Mapping, Sequence

from scripts.values.normalise import Rule, pad_lines

HEAD = """\
# Recording rules: from the exporter's series to named ones in base units, one for each GPU.
# Written by `make values` from scripts/values/; change it there. Alerts and dashboards use these names only.
"""


def render_rule_file(groups: Mapping[str, tuple[str, Sequence[Rule]]]) -> str:
    """Render a file; `groups` has (interval, rules) by name."""
    return HEAD + "groups:\n" + "\n".join(render_group(name, *group) for name, group in groups.items())


def render_group(name: str, interval: str, rules: Iterable[Rule]) -> str:
    body = "".join(pad_lines(pad_lines(render_rule(rule))) + "\n" for rule in rules)
    return f"  - name: {name}\n    interval: {interval}\n    rules:\n" + pad_lines(body) + "\n"


def render_rule(rule: Rule) -> str:
    lines = [f"# {rule.comment}"] if rule.comment else []
    lines.append(f"- record: {rule.record}")
    if rule.labels:
        lines.append("  labels: {" + ", ".join(f"{key}: {value}" for key, value in rule.labels.items()) + "}")
    if "\n" in rule.expr:
        lines += ["  expr: |-", pad_lines(pad_lines(rule.expr))]
    else:
        lines.append("  expr: " + (f"'{rule.expr}'" if any(mark in rule.expr for mark in '{}:#"') else rule.expr))
    return "\n".join(lines)
