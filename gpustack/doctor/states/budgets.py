"""PodDisruptionBudgets that never allow an eviction: the drain of a node with one of their pods does not end."""

from collections.abc import Iterator

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.kubernetes.disruption_budgets import DISRUPTION_BUDGETS, Budget


def observe_budgets(view: View) -> Iterator[AbnormalState]:
    for budget in view[DISRUPTION_BUDGETS]:
        if needs_all_pods(budget):
            yield AbnormalState(
                "budget-never-allows",
                "risk",
                (CLUSTER,),
                (f"budget {budget.namespace}/{budget.name}",),
                f"{budget.rule} of {budget.expected_pods} expected pods allows no eviction even while all are healthy, "
                "so that the drain of a node with one of them does not end",
                Command("kubectl", "-n", budget.namespace, "describe", "poddisruptionbudget", budget.name),
            )


def needs_all_pods(budget: Budget) -> bool:
    """Tell whether all expected pods are needed. A budget without pods, and one that its controller has not counted
    since its last change, hold nothing up yet."""
    expected_pods = budget.expected_pods or 0
    return budget.current and 0 < expected_pods <= budget.needed_pods


OBSERVERS = (Observer("budgets", "PodDisruptionBudgets", observe_budgets, (DISRUPTION_BUDGETS,)),)
