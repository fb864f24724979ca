"""Our rules for a host without Kubernetes: derived from those of the cluster, so that there is one set.

A few series that tell of nodes come from Kubernetes there; here the host itself gives them. A rule that reads any other
series of Kubernetes, or a recorded one that would need it, is left out.
"""

import re
from collections.abc import Mapping
from typing import Any

from gpustack.ask.view import View
from gpustack.probes.host.system import HOSTNAME, OS
from gpustack.steps.alerts import groups_of
from gpustack.steps.gpu.count import gpus

ONE = 'label_replace(vector(1), "node", "{host}", "", "")'
# Recorded series by name, with what they are without Kubernetes: the label `node` is that of the scrape job.
REPLACED: Mapping[str, str] = {
    "gpustack:node_gpu_exporter:up": 'max by (node) (up{job=~".*dcgm.*"})',
    "gpustack:node_gpu_exporter_scrape:seconds": 'max by (node) (scrape_duration_seconds{job=~".*dcgm.*"})',
    "gpustack:node_ready:bool": ONE,
}
EXPECTED = "gpustack:node_gpu_expected:bool"
# Of components that are on no such host.
FOREIGN = re.compile(r"\b(kube_\w+|kubelet_\w+|apiserver_\w+|gpu_operator_\w+)")
RECORDED = re.compile(r"\bgpustack:[a-z0-9_]+:[a-z0-9_]+")
# keep_firing_for is of Prometheus 2.42 (its CHANGELOG); Ubuntu 22.04 has 2.31.
WITHOUT_KEEPING = {("ubuntu", "22.04")}


def derived(here: View) -> dict[str, Any]:
    """The rule file. Raises FactUnavailable."""
    shipped = [group for found in groups_of(here.spec).values() for group in found] if here.spec.alerts.enabled else []
    replaced = {**REPLACED, **({EXPECTED: ONE} if gpus(here) else {})}
    rules = [(group, rule) for group in shipped for rule in (adapted(one, replaced) for one in group["rules"])]
    lost = unavailable([rule for _, rule in rules])
    kept: dict[str, Any] = {}
    for group, rule in rules:
        if not needs(rule) & lost and not FOREIGN.search(rule["expr"]):
            into = kept.setdefault(group["name"], {**group, "rules": []})
            into["rules"].append(spelled(rule, here))
    return {"groups": list(kept.values())}


def adapted(rule: dict[str, Any], replaced: Mapping[str, str]) -> dict[str, Any]:
    expr = replaced.get(rule.get("record", ""))
    return rule | {"expr": expr} if expr else rule


def unavailable(rules: list[dict[str, Any]]) -> set[str]:
    """Recorded series that no rule can record without Kubernetes."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for rule in rules:
        if "record" in rule:
            by_name.setdefault(rule["record"], []).append(rule)
    lost: set[str] = set()
    while more := {
        name
        for name, ours in by_name.items()
        if name not in lost and all(FOREIGN.search(rule["expr"]) or needs(rule) & lost for rule in ours)
    }:
        lost |= more
    return lost


def needs(rule: dict[str, Any]) -> set[str]:
    return set(RECORDED.findall(rule["expr"]))


def spelled(rule: dict[str, Any], here: View) -> dict[str, Any]:
    """With the name of the host, and in the words of its Prometheus."""
    found = rule | {"expr": rule["expr"].replace("{host}", here[HOSTNAME])}
    if (here[OS].id, here[OS].version) in WITHOUT_KEEPING:
        found.pop("keep_firing_for", None)
    return found
