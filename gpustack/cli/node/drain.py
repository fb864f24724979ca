"""The command `gpustack node drain`, which shows who runs on a node, confirms, and makes the pods leave."""

from typing import TYPE_CHECKING, Annotated

from gpustack.cli import options
from gpustack.cli.node.options import (
    CheckOption,
    EndPodOption,
    NodeArgument,
    list_pod_words,
    open_node_run,
    require_agreement,
)
from gpustack.cli.option_groups import LockSession
from gpustack.cli.session import split_words

if TYPE_CHECKING:
    from gpustack.nodes.drain import DrainResult


TIMEOUT = "5m"


def drain(
    *,
    node: NodeArgument,
    end_pod: EndPodOption = None,
    timeout: Annotated[
        str, options.build_time_option("--timeout", "1s", "1d", text="Time for the pods to leave, 1s to 1d.")
    ] = TIMEOUT,
    check: CheckOption = False,
    session: LockSession,
) -> "DrainResult":
    """Cordon a node and evict its pods.

    Before, it shows who runs there: pods with their owners, GPUs and age, budgets that allow no eviction, and processes
    that hold GPUs, and asks.

    Nothing is forced. A pod without a controller, or with emptyDir data, is refused unless --end-pod names it. A
    PodDisruptionBudget is waited for. The command exits with 1 if a pod did not leave in time."""
    hosts = session.open_for_change()
    from gpustack.nodes.drain import Drain, DrainResult, check_drain
    from gpustack.nodes.drain_plan import CLUSTER_PROBES, gather_node, plan_drain, refuse_drain

    ended_pods, words = split_words(end_pod), ["node", "drain", node]
    plan = plan_drain(gather_node(hosts, node, session.report), node, ended_pods)
    if check:
        return check_drain(plan)
    if plan.is_complete:
        return DrainResult(plan, plan.cordon)
    session.show_preview(plan)
    refuse_drain(plan, ended_pods)
    repeat = [*words, *list_pod_words(ended_pods), *(["--timeout", timeout] if timeout != TIMEOUT else [])]
    require_agreement(session, plan.snapshot, f"Drain {node}?", repeat)
    with open_node_run(session, plan.snapshot, words) as (run, writer):
        result = Drain(
            gather=lambda: gather_node(hosts, node, run.record, CLUSTER_PROBES, [writer.via.name]),
            writer=writer,
            timeout=options.parse_duration(timeout),
            report=run.record,
            find_stop_reason=run.find_stop_reason,
        ).run(plan, ended_pods)
    run.keep_snapshot(plan.snapshot)
    return result
