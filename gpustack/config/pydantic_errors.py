"""Errors of pydantic as complaints: file, key, actual value, rule, nearest spelling."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from gpustack.config.complaint import Complaint, find_nearest
from gpustack.files.json_text import dump_json

# What pydantic calls by Python's names, as an operator would.
ERROR_RULES = {
    "string_type": "a text (a number needs quotes)",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of at most 4300 digits",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "datetime_from_date_parsing": "a time, as 2026-11-20T12:00:00Z",
    "datetime_parsing": "a time, as 2026-11-20T12:00:00Z",
    "date_from_datetime_inexact": "a date, as 2026-11-20",
    "date_from_datetime_parsing": "a date, as 2026-11-20",
    "date_parsing": "a date, as 2026-11-20",
    "date_type": "a date, as 2026-11-20",
    "decimal_type": "a number",
    "decimal_parsing": "a number",
    "json_invalid": "JSON",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list such as [first, second]",
    "dict_type": "a mapping",
    "dataclass_type": "a mapping",
    "list_type": "a list such as [first, second]",
    "model_type": "a mapping",
    "invalid_key": "a text as key",
    "ip_v4_network": "an IPv4 network such as 10.244.0.0/16, with no bit set behind its prefix",
    "ip_v4_address": "an IPv4 address such as 192.0.2.11",
    "missing": "a value",
    "unexpected_keyword_argument": "no key of this name",
    "extra_forbidden": "no key of this name",
}


LIST_EXAMPLE = re.compile(r"\bas (\[[^]]+\])")
MAPPING_EXAMPLE = re.compile(r"\b(?:as|such as) ({[^}]+})")
TEXT_EXAMPLE = re.compile(r"\bsuch as ([\w./:@-]*\w)")
CONCRETE_RULE = re.compile(r"\bas \S|'|true or false|\bone of\b|no key of this name")
"""Rules that have an example, or all words that are allowed."""


EXAMPLES = {
    "channel": "'#gpus'",
    "sender": "gpustack@example.com",
    "smarthost": "mail.example.com:587",
    "to": "oncall@example.com",
    "user": "gpustack",
    "secret": "alerts/slack-url",
    "secret_file": "~/slack-url",
    "receivers": "{default: [{type: webhook, secret_file: FILE}]}",
    "default": "{type: webhook, secret_file: FILE}",
    "critical": "{type: pagerduty, secret_file: FILE}",
    "warning": "{type: slack, channel: '#gpus', secret_file: FILE}",
    "info": "{type: webhook, secret_file: FILE}",
    "runbooks": "https://wiki.example.com/gpus/",
    "group_by": "alertname",
    "files": "dashboards/jobs.json",
    "storage_class": "local-path",
    "ingress_class": "nginx",
    "host": "grafana.example.com",
    "prometheus_node_port": "30090",
    "external_labels": "{site: lab1}",
    "kubernetes.version": "1.36.4",
    "containerd.version": "2.3",
    "driver.version": "595.91.07",
    "fingerprints.containerd": "'0123456789ABCDEF0123456789ABCDEF01234567'",
    "fingerprints.kubernetes": "'0123456789ABCDEF0123456789ABCDEF01234567'",
    "fingerprints.nvidia": "'0123456789ABCDEF0123456789ABCDEF01234567'",
    "fingerprints.toolkit": "'0123456789ABCDEF0123456789ABCDEF01234567'",
    "relabelings": "{source_labels: [exported_pod], target_label: workload}",
    "counters": "DCGM_FI_DEV_FAN_SPEED",
    "leave_out": "DCGM_FI_DEV_VIDEO_CLOCK",
    "pod_labels": "app",
    "repo_config": "driver-repos",
    "cert_sans": "gpus.example.com",
    "ignore_preflight": "NumCPU",
    "per_gpu_hour": "2.40",
    "budgets": "5000",
    "prices": "{per_gpu_hour: 2.40}",
    "cost": "{currency: EUR}",
    "renamed": "vision",
    "fingerprints": "{kubernetes: '0123456789ABCDEF0123456789ABCDEF01234567'}",
    "gpustack_gpus": "4",
    "gpustack_labels": "research",
    "gpustack_mig": "all-1g.10gb",
    "gpustack_sharing": "time-slicing:4",
    "gpustack_taints": "example.com/team=research:NoSchedule",
}
"""Examples of keys whose field has no default and no example of its own."""
BOUNDS = {
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "less than {lt:g}",
    "less_than_equal": "{le:g} or less",
    "too_short": "at least {min_length} entries",
    "too_long": "at most {max_length} entries",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "decimal_max_digits": "a number of at most {max_digits} digits",
    "decimal_max_places": "a number with at most {decimal_places} digits behind the point",
    "decimal_whole_digits": "a number of at most {whole_digits} digits before the point",
}


def describe_kind(entry: Mapping[str, Any]) -> str:
    """Describe what is allowed in place of a value of the wrong type, or of one out of bounds."""
    kind, text = entry["type"], str(entry["msg"])
    if kind in BOUNDS:
        return BOUNDS[kind].format(**entry["ctx"])
    return ERROR_RULES.get(kind, text[:1].lower() + text[1:])


def build_complaints(file: str, prefix: str, error: ValidationError, model: type[BaseModel]) -> list[Complaint]:
    return [build_complaint(file, prefix, entry, model) for entry in error.errors()]


def build_complaint(file: str, prefix: str, entry: Mapping[str, Any], model: type[BaseModel]) -> Complaint:
    path = extract_path(entry)
    key = ".".join(part for part in (prefix, *path) if part)
    if entry["type"] == "extra_forbidden":
        known_keys = list_keys(model, path[:-1])
        rule = f"one of {', '.join(known_keys)}"
        return Complaint(
            file, key, "a key that does not exist", rule, "config-unknown-key", find_nearest(path[-1], known_keys)
        )
    actual = "nothing" if entry["type"] == "missing" else format_input(entry["input"])
    return Complaint(file, key, actual, describe_rule(entry, model, path))


def extract_path(entry: Mapping[str, Any]) -> list[str]:
    """Extract the path of a key without what is no key: the tags of unions, which stand in brackets, and the mark of a
    key that is itself the mistake."""
    return [str(part) for part in entry["loc"] if not str(part).startswith("(") and part != "[key]"]


def describe_rule(entry: Mapping[str, Any], model: type[BaseModel], path: Sequence[str]) -> str:
    """Describe what is allowed at a path, with an example."""
    rule, field = describe_allowed(entry, model, path), find_field(model, path)
    if CONCRETE_RULE.search(rule) or not (example := find_example(rule, field, path)):
        return rule
    kind, separator, rest = rule.partition(" (")
    return f"{kind}{',' if entry['type'] in (*BOUNDS, 'value_error') else ''} such as {example}{separator}{rest}"


def find_example(rule: str, field: FieldInfo | None, path: Sequence[str]) -> str:
    """Find the example of a key: that of the table, that of its field, or a key of its section."""
    keys, text = [part for part in path if not part.isdecimal()], field.description or "" if field else ""
    known_example = EXAMPLES.get(".".join(keys[-2:])) or EXAMPLES.get(keys[-1]) if keys else ""
    if field is None:
        return ""
    if (match := MAPPING_EXAMPLE.search(text)) and rule.startswith("a mapping"):
        return match[1]
    if known_example:
        return known_example
    if rule.startswith("a mapping"):
        entries = (section.model_fields if (section := find_section(field.annotation)) else {}).items()
        pairs = ((info.alias or name, EXAMPLES.get(name) or find_value(info)) for name, info in entries)
        return next((f"{{{name}: {value}}}" for name, value in pairs if value), "")
    if match:
        return match[1].strip("{}").rpartition(": ")[2]
    if list_example := find_list_example(field):
        return list_example.strip("[]").partition(", ")[0].strip("'")
    return find_value(field)


def find_value(field: FieldInfo) -> str:
    """Find a value of a field, as an operator writes it; empty for one that is a section or has none."""
    values = (*(field.examples or ()), field.get_default(call_default_factory=False))
    texts = (format_input(value) for value in values if isinstance(value, (str, int, float)) and value != "")
    return next((text.strip("'") for text in texts), "")


def describe_allowed(entry: Mapping[str, Any], model: type[BaseModel], path: Sequence[str]) -> str:
    kind, context = entry["type"], entry.get("ctx", {})
    if kind == "literal_error":
        return f"{context['expected']}{', or a mapping' if '(official)' in entry['loc'] else ''}"
    if kind == "value_error":
        _, _, rule = str(context["error"]).rpartition("allowed: ")
        return rule
    field = find_field(model, path)
    if kind in ("tuple_type", "list_type"):
        example = find_list_example(field) or (f"[{EXAMPLES[path[-1]]}]" if path[-1] in EXAMPLES else "")
        return f"a list such as {example}" if example else describe_kind(entry)
    if kind == "string_type" and field and (match := TEXT_EXAMPLE.search(field.description or "")):
        return f"a text such as {match[1]} (a number needs quotes)"
    return describe_kind(entry)


def find_list_example(field: FieldInfo | None) -> str:
    """Find the example of a list: that of the field, or the one in its description; empty without one."""
    if field is None:
        return ""
    match = LIST_EXAMPLE.search(field.description or "")
    return str((field.examples or [match[1] if match else ""])[0])


def format_input(value: Any) -> str:
    """Format a value as an operator writes it: `true` and `null` are words of YAML, `True` and `None` are Python's."""
    value = value.isoformat() if isinstance(value, date) else value
    try:
        text = dump_json(value, ensure_ascii=False, default=str, skipkeys=True)
    except ValueError:  # YAML has words for numbers that are not finite, and JSON has none.
        text = str(value)
    text = repr(value) if isinstance(value, str) else text
    return text if len(text) <= 80 else f"{text[:77]}..."


def find_section(annotation: Any) -> type[BaseModel] | None:
    """Find the model behind an annotation, through unions and Annotated."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((section for part in get_args(annotation) if (section := find_section(part))), None)


def find_field(model: type[BaseModel], path: Sequence[str]) -> FieldInfo | None:
    """Find the field at a path of the operator's keys, with numbers for the entries of a list. Return None where the
    path leads out of the model."""
    field: FieldInfo | None = None
    for part in path:
        if part.isdecimal():
            continue
        fields = model.model_fields
        field = next((info for name, info in fields.items() if part in (name, info.alias)), None)
        inner = find_section(field.annotation) if field else None
        if inner is None:
            return field
        model = inner
    return field


def list_keys(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    """List the keys that are allowed at a place of the model, as the operator writes them."""
    field = find_field(model, path)
    inner = find_section(field.annotation) if field else model
    return [info.alias or name for name, info in (inner or model).model_fields.items()]
