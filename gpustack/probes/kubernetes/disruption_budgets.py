"""PodDisruptionBudgets, by which the API refuses to evict pods (policy/v1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpustack.ask.probe import Api, Probe
from gpustack.probes.kubernetes.nodes import parse_each
from gpustack.probes.proof import join_paths, list_field_paths


@dataclass(frozen=True)
class Expression:
    """Hold one of the matchExpressions of a selector of labels."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Budget:
    """Describe a budget.

    `rule` is its own, such as `minAvailable 2`. `allowance` counts the evictions that it allows now, `healthy_pods` its
    healthy pods, and `needed_pods` those that have to stay. `expected_pods` counts the pods that it selects, as their
    controllers want them, None where the answer lacks that. `current` tells whether its controller has seen its last
    change. `labels` and `expressions` select its pods, all of the namespace where both are empty; `selects_none` tells
    that it has no selector.
    """

    namespace: str
    name: str
    rule: str
    allowance: int
    healthy_pods: int
    needed_pods: int
    current: bool
    expected_pods: int | None = None
    always_frees_unready: bool = False
    selects_none: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    expressions: tuple[Expression, ...] = ()


def parse_budget(entry: Any) -> Budget:
    metadata, spec, status = entry["metadata"], entry["spec"], entry["status"]
    rules = [f"{name} {spec[name]}" for name in ("minAvailable", "maxUnavailable") if name in spec]
    selector = spec.get("selector")
    return Budget(
        namespace=metadata["namespace"],
        name=metadata["name"],
        rule=rules[0] if rules else "minAvailable 1",
        allowance=status["disruptionsAllowed"],
        healthy_pods=status["currentHealthy"],
        needed_pods=status["desiredHealthy"],
        current=status.get("observedGeneration", 0) >= metadata["generation"],
        expected_pods=status.get("expectedPods"),
        always_frees_unready=spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow",
        selects_none=selector is None,
        labels=(selector or {}).get("matchLabels", {}),
        expressions=tuple(map(parse_expression, (selector or {}).get("matchExpressions", ()))),
    )


def parse_expression(entry: Any) -> Expression:
    return Expression(entry["key"], entry["operator"], tuple(entry.get("values", ())))


DISRUPTION_BUDGETS = Probe(
    "node.disruption-budgets",
    Api(
        "/apis/policy/v1/poddisruptionbudgets",
        join_paths(
            list_field_paths("metadata", "name", "namespace", "generation"),
            list_field_paths("spec", "minAvailable", "maxUnavailable", "selector", "unhealthyPodEvictionPolicy"),
            list_field_paths(
                "status", "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods", "observedGeneration"
            ),
        ),
    ),
    parse_each(parse_budget),
)
