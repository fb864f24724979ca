"""The rules for a host without Kubernetes, derived from those of the cluster, so that there is one set.

A few series that tell of nodes come from Kubernetes there; here the host itself gives them. A rule that reads any other
series of Kubernetes, or a recorded one that would need it, is left out.
"""

import re
from collections.abc import Mapping
from typing import Any

from gpustack.ask.view import View
from gpustack.probes.host.system import HOSTNAME, OS
from gpustack.steps.alerts import build_groups
from gpustack.steps.gpu.count import list_gpus
from gpustack.vocabulary.care_jobs import PREFIX

HOST_SERIES = 'label_replace(vector(1), "node", "{host}", "", "")'
NO_SERIES = "vector(1) < 0"
# When the daily diagnostic of the timer ended so last: the time of a file (standalone/care.py).
CARE_TIMES = f'max by (node) (node_textfile_mtime_seconds{{{{file=~"(.*/)?{PREFIX}{{}}[.]prom"}}}})'
# Recorded series by name, with what they are without Kubernetes: the label `node` is that of the scrape job.
REPLACEMENTS: Mapping[str, str] = {
    "gpustack:node_gpu_exporter:up": 'max by (node) (up{job=~".*dcgm.*"})',
    "gpustack:node_gpu_exporter_scrape:seconds": 'max by (node) (scrape_duration_seconds{job=~".*dcgm.*"})',
    "gpustack:node_gpu_exporter_speaks:bool": NO_SERIES,  # One host: its name is in every label.
    "gpustack:node_ready:bool": HOST_SERIES,
    "gpustack:node_gpu_driver_starting:bool": NO_SERIES,  # The driver is the host's own.
    "gpustack:node_care_start:seconds": f"{CARE_TIMES.format('{result}')} > 0",
    "gpustack:node_care_age:seconds": f"time() - {CARE_TIMES.format('(passed|since)')}",
}
EXPECTED_GPUS = "gpustack:node_gpu_expected:bool"
# Of components that are on no such host.
KUBERNETES_SERIES = re.compile(r"\b(kube_\w+|kubelet_\w+|apiserver_\w+|gpu_operator_\w+)")
RECORDED_SERIES = re.compile(r"\bgpustack:[a-z0-9_]+:[a-z0-9_]+")
# keep_firing_for is of Prometheus 2.42 (its CHANGELOG); Ubuntu 22.04 has 2.31.
SYSTEMS_WITHOUT_KEEPING = {("ubuntu", "22.04")}


def derive_rules(view: View) -> dict[str, Any]:
    """Derive the rule file. Raise FactUnavailable."""
    shipped_groups = (
        [group for groups in build_groups(view.spec).values() for group in groups] if view.spec.alerts.enabled else []
    )
    replacements = {**REPLACEMENTS, **({EXPECTED_GPUS: HOST_SERIES} if list_gpus(view) else {})}
    rules = [
        (group, rule)
        for group in shipped_groups
        for rule in (adapt_rule(shipped_rule, replacements) for shipped_rule in group["rules"])
    ]
    unavailable_series = find_unavailable_series([rule for _, rule in rules])
    remaining_groups: dict[str, Any] = {}
    for group, rule in rules:
        if not find_recorded_series(rule) & unavailable_series and not KUBERNETES_SERIES.search(rule["expr"]):
            rule_group = remaining_groups.setdefault(group["name"], {**group, "rules": []})
            rule_group["rules"].append(translate_rule(rule, view))
    return {"groups": list(remaining_groups.values())}


def adapt_rule(rule: dict[str, Any], replacements: Mapping[str, str]) -> dict[str, Any]:
    expr = replacements.get(rule.get("record", ""))
    return rule | {"expr": expr} if expr else rule


def find_unavailable_series(rules: list[dict[str, Any]]) -> set[str]:
    """Find recorded series that no rule can record without Kubernetes."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for rule in rules:
        if "record" in rule:
            by_name.setdefault(rule["record"], []).append(rule)
    unavailable_series: set[str] = set()
    while new_series := {
        name
        for name, recording_rules in by_name.items()
        if name not in unavailable_series
        and all(
            KUBERNETES_SERIES.search(rule["expr"]) or find_recorded_series(rule) & unavailable_series
            for rule in recording_rules
        )
    }:
        unavailable_series |= new_series
    return unavailable_series


def find_recorded_series(rule: dict[str, Any]) -> set[str]:
    return set(RECORDED_SERIES.findall(rule["expr"]))


def translate_rule(rule: dict[str, Any], view: View) -> dict[str, Any]:
    """Translate a rule to the name of the host and the result that it records, and to the words of its Prometheus."""
    expr = rule["expr"].replace("{host}", view[HOSTNAME]).replace("{result}", rule.get("labels", {}).get("result", ""))
    local_rule = rule | {"expr": expr}
    if (view[OS].id, view[OS].version) in SYSTEMS_WITHOUT_KEEPING:
        local_rule.pop("keep_firing_for", None)
    return local_rule
