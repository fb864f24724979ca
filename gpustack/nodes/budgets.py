"""The PodDisruptionBudgets of a pod, and whether they allow its eviction now.

The rules are those of the eviction subresource (kubernetes/kubernetes pkg/registry/core/pod/storage/eviction.go): a
pending or ended pod needs no budget, and of a pod that is not Ready a budget may give up one that is unhealthy anyway.
"""

from collections.abc import Iterable, Mapping

from gpustack.probes.kubernetes.disruption_budgets import Budget, Expression
from gpustack.probes.kubernetes.node_pods import NodePod


def find_budgets(pod: NodePod, budgets: Iterable[Budget]) -> tuple[Budget, ...]:
    """Find the budgets that select a pod."""
    return tuple(budget for budget in budgets if budget.namespace == pod.namespace and matches_pod(budget, pod.labels))


def matches_pod(budget: Budget, labels: Mapping[str, str]) -> bool:
    """Tell whether a budget selects pods with these labels. An empty selector selects all pods of the namespace, and a
    missing one none (policy/v1)."""
    if budget.selects_none:
        return False
    return labels.items() >= budget.labels.items() and all(
        matches_expression(expression, labels) for expression in budget.expressions
    )


def matches_expression(expression: Expression, labels: Mapping[str, str]) -> bool:
    """Tell whether labels match an expression. Raise ValueError for an operator that the API does not have."""
    value = labels.get(expression.key)
    match expression.operator:
        case "In":
            return value in expression.values
        case "NotIn":
            return value not in expression.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    raise ValueError(f"no operator of a selector: {expression.operator}")


def explain_refusal(pod: NodePod, budgets: Iterable[Budget]) -> str:
    """Explain why the API would refuse to evict a pod now; empty where it would not."""
    pod_budgets = find_budgets(pod, budgets)
    if pod.phase == "Pending" or pod.has_ended:
        return ""
    if len(pod_budgets) > 1:
        names = ", ".join(budget.name for budget in pod_budgets)
        return f"several budgets select it ({names}), and the API evicts no such pod"
    return next((describe_budget(budget) for budget in pod_budgets if not accepts_loss(budget, pod)), "")


def accepts_loss(budget: Budget, pod: NodePod) -> bool:
    if not pod.ready and (budget.always_frees_unready or budget.healthy_pods >= budget.needed_pods > 0):
        return True
    return budget.current and budget.allowance > 0


def describe_budget(budget: Budget) -> str:
    """Describe a budget with its figures, as the reason why a pod stays."""
    if not budget.current:
        return f"budget {budget.name} ({budget.rule}) was changed, and its controller has not counted its pods yet"
    figures = f"{budget.healthy_pods} healthy, {budget.needed_pods} needed"
    return f"budget {budget.name} ({budget.rule}) allows {budget.allowance} evictions: {figures}"
