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

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.resources import shipped_yaml, values
from gpustack.config.sections.usage import Capacity, series_label
from gpustack.config.spec import Spec
from gpustack.probes.kubernetes.applied import RULES
from gpustack.probes.monitoring.alerting import LOADED
from gpustack.steps import budget
from gpustack.steps.applied import Object, differing, stamped
from gpustack.steps.control_plane.step import control_planes
from gpustack.steps.step import Step

PAGE = "docs/alerts.md#"
# What NVIDIA says of errors, for those who have no page of their own.
VENDOR = "https://docs.nvidia.com/deploy/xid-errors/index.html"

TEAM = series_label(Capacity().team_label)
"""The label that the rules of values/rules read."""
ALERTS = "gpu-alerts"


def applies(inventory: Inventory, host: Host) -> bool:
    return inventory.spec.monitoring.enabled and inventory.spec.alerts.enabled and control_planes(inventory, host)


@cache
def groups(runbooks: str, team: str = TEAM) -> Mapping[str, list[dict[str, Any]]]:
    """Groups of rules, by file. `runbooks` is the address before the names of alerts, `team` the label that names one,
    as kube-state-metrics spells it."""
    found = {path.stem: shipped_yaml(path)["groups"] for path in sorted((values() / "rules").glob("*.yaml"))}
    for group in chain.from_iterable(found.values()):
        group["rules"] = [named(explained(rule, runbooks), team) for rule in group["rules"]]
    return found


def groups_of(spec: Spec) -> Mapping[str, list[dict[str, Any]]]:
    """With those that follow from its prices and budgets."""
    shipped = groups(spec.alerts.runbooks, series_label(spec.capacity.team_label))
    ours = budget.groups(spec)
    for group in ours:
        group["rules"] = [explained(rule, spec.alerts.runbooks) for rule in group["rules"]]
    return {**shipped, ALERTS: [*shipped[ALERTS], *ours]}


def named(rule: dict[str, Any], team: str) -> dict[str, Any]:
    return rule | {"expr": rule["expr"].replace(TEAM, team)} if team != TEAM else rule


def explained(rule: dict[str, Any], runbooks: str) -> dict[str, Any]:
    """With an address that can be opened, and the command that says the same."""
    annotations = rule.get("annotations", {})
    if "runbook_url" not in annotations:
        return rule
    anchor = annotations["runbook_url"].removeprefix(PAGE)
    url = f"{runbooks}#{anchor}" if runbooks else VENDOR
    return rule | {"annotations": annotations | {"runbook_url": url, "runbook": f"gpustack explain alert-{anchor}"}}


def objects(here: View) -> list[Object]:
    """A PrometheusRule for each file: two files may have a group of the same name, one object may not."""
    space, api = here.spec.monitoring.namespace, "monitoring.coreos.com/v1"
    return [
        stamped("PrometheusRule", api, space, f"gpustack-{file}", {}, {"spec": {"groups": found}})
        for file, found in groups_of(here.spec).items()
    ]


def wanted(here: View) -> dict[str, Any]:
    return {"objects": objects(here)}


def rules(here: View) -> Result | None:
    """Our PrometheusRules exist and match this release."""
    return differing("PrometheusRules", objects(here), here[RULES])


def loaded(here: View) -> Result | None:
    """Prometheus has loaded every group of our rules, with all rules in it."""
    wanted: Counter[str] = Counter()
    for group in chain.from_iterable(groups_of(here.spec).values()):
        wanted[group["name"]] += len(group["rules"])
    found = here[LOADED]
    missing = [name for name, count in wanted.items() if found.get(name) != count]
    return (
        Result("rule groups in Prometheus", "all loaded", f"no {as_text(missing)}", passing=True) if missing else None
    )


STEP = Step(
    "alerts",
    scope="cluster",
    probes=(RULES, LOADED),
    checks=(rules, loaded),
    needs=("monitoring",),
    settle=180,
    applies=applies,
)
