"""Alerts: alerting rules for GPUs, and the receiver of alerts.

The rules use recorded series whose name, unit and labels do not depend on the version of the exporter. They count as
active only when Prometheus reports that it has loaded them: the Prometheus operator skips a rule that it cannot parse,
and reports that only in an event. The step monitoring installs the receiver. `gpustack alerts test` sends one alert end
to end.

Settings: alerts, capacity.team_label, cost. Sources: docs/alerts.md, which explains each alert; prometheus-operator
Documentation/user-guides.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import chain
from typing import Any

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.resources import locate_shipped_values, read_shipped_yaml
from gpustack.config.sections.usage import Capacity
from gpustack.config.spec import Spec
from gpustack.probes.kubernetes.applied_objects import RULES
from gpustack.probes.monitoring.alerting import RULE_GROUPS
from gpustack.steps import budget
from gpustack.steps.applied_objects import Object, build_object, find_object_mismatch
from gpustack.steps.step import Step
from gpustack.vocabulary.usage_series import format_series_label

PAGE = "docs/alerts.md#"
# What NVIDIA says of errors, for those who have no page of their own.
VENDOR = "https://docs.nvidia.com/deploy/xid-errors/index.html"

TEAM = format_series_label(Capacity().team_label)
"""The rules in values/rules read this label."""
ALERTS = "gpu-alerts"
PREFIX = "gpustack-"
"""The names of gpustack's PrometheusRules and of its groups begin so."""
IMPACTS = {"critical": "work is lost or at risk now", "warning": "look within a day", "info": "for information"}
"""Each severity has the meaning that docs/alerts.md gives it, in the same words."""


@cache
def load_groups(runbooks: str, team: str = TEAM) -> Mapping[str, list[dict[str, Any]]]:
    """Load the groups of rules, by file. `runbooks` is the address before the names of alerts, `team` the label that
    names a team, as kube-state-metrics spells it."""
    groups_by_file = {
        path.stem: read_shipped_yaml(path)["groups"]
        for path in sorted((locate_shipped_values() / "rules").glob("*.yaml"))
    }
    for group in chain.from_iterable(groups_by_file.values()):
        group["rules"] = [replace_team_label(add_annotations(rule, runbooks), team) for rule in group["rules"]]
    return groups_by_file


def build_groups(spec: Spec) -> Mapping[str, list[dict[str, Any]]]:
    """Build the groups of rules, by file, with those that follow from the prices and budgets of the spec."""
    shipped_groups = load_groups(spec.alerts.runbooks, format_series_label(spec.capacity.team_label))
    budget_groups = budget.build_groups(spec)
    for group in budget_groups:
        group["rules"] = [add_annotations(rule, spec.alerts.runbooks) for rule in group["rules"]]
    return {**shipped_groups, ALERTS: [*shipped_groups[ALERTS], *budget_groups]}


def replace_team_label(rule: dict[str, Any], team: str) -> dict[str, Any]:
    return rule | {"expr": rule["expr"].replace(TEAM, team)} if team != TEAM else rule


def add_annotations(rule: dict[str, Any], runbooks: str) -> dict[str, Any]:
    """Add to a rule an address that can be opened, the command that says the same, and the impact of its severity where
    it has none of its own."""
    annotations = rule.get("annotations", {})
    if "runbook_url" not in annotations:
        return rule
    anchor = annotations["runbook_url"].removeprefix(PAGE)
    url = f"{runbooks}#{anchor}" if runbooks else VENDOR
    runbook_annotations = {"runbook_url": url, "runbook": f"gpustack explain alert-{anchor}"}
    return rule | {"annotations": {"impact": IMPACTS[rule["labels"]["severity"]], **annotations, **runbook_annotations}}


def build_objects(view: View) -> list[Object]:
    """Build a PrometheusRule for each file: two files may have a group of the same name, one object may not."""
    space, api = view.spec.monitoring.namespace, "monitoring.coreos.com/v1"
    return [
        build_object("PrometheusRule", api, space, f"{PREFIX}{file}", {}, {"spec": {"groups": groups}})
        for file, groups in build_groups(view.spec).items()
    ]


def build_variables(view: View) -> dict[str, Any]:
    return {"objects": build_objects(view)}


def rules(view: View) -> Result | None:
    """The PrometheusRules of gpustack exist and match this release."""
    return find_object_mismatch("PrometheusRules", build_objects(view), view[RULES])


def list_files(view: View) -> tuple[str, ...]:
    """List how the names of the files begin that the operator writes for gpustack's PrometheusRules."""
    return tuple(f"{view.spec.monitoring.namespace}-{PREFIX}{file}-" for file in build_groups(view.spec))


def rules_loaded(view: View) -> Result | None:
    """Prometheus has loaded every group of gpustack's rules, with all rules in it."""
    expected_counts, loaded_counts = Counter[str](), Counter[str]()
    for group in chain.from_iterable(build_groups(view.spec).values()):
        expected_counts[group["name"]] += len(group["rules"])
    for loaded_group in view[RULE_GROUPS]:
        if loaded_group.file.startswith(list_files(view)):
            loaded_counts[loaded_group.name] += len(loaded_group.rules)
    missing_groups = [name for name, count in expected_counts.items() if loaded_counts[name] != count]
    if missing_groups:
        return Result("rule groups in Prometheus", "all loaded", f"no {format_value(missing_groups)}", passing=True)
    return None


def rules_once(view: View) -> Result | None:
    """The PrometheusRules of gpustack alone record its series and define its alerts.

    Rules of another release may have other names: all rules of a group count whose name begins with gpustack.
    """
    own_names = {
        rule.get("record") or rule["alert"]
        for group in chain.from_iterable(build_groups(view.spec).values())
        for rule in group["rules"]
    }
    repeats: dict[str, set[str]] = {}
    for loaded_group in view[RULE_GROUPS]:
        names = set(loaded_group.rules)
        if not loaded_group.name.startswith(PREFIX):
            names &= own_names
        if names and not loaded_group.file.startswith(list_files(view)):
            repeats.setdefault(loaded_group.file, set()).update(names)
    if not repeats:
        return None
    return Result(
        "rules of gpustack in Prometheus",
        "in its own PrometheusRules alone",
        "; ".join(f"{len(names)} in {file}, such as {min(names)}" for file, names in sorted(repeats.items())),
        cure="operator",
        fault="mon-rules-twice",
        hint=Command("kubectl", "get", "prometheusrules", "--all-namespaces"),
    )


STEP = Step(
    "alerts",
    scope="cluster",
    probes=(RULES, RULE_GROUPS),
    checks=(rules, rules_loaded, rules_once),
    needs=("monitoring",),
    settle_seconds=180,
    is_enabled=lambda inventory: inventory.spec.monitoring.enabled and inventory.spec.alerts.enabled,
)
