"""The command `gpustack node remove`, which drains a node, takes it out of the cluster, and resets its host."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.node.drain import TIMEOUT
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
    from gpustack.nodes.node_removal import NodeRemovalResult


def remove(
    *,
    node: NodeArgument,
    dead: Annotated[
        bool, typer.Option("--dead", help="Delete the node of a host that is proven dead, without asking the host.")
    ] = False,
    end_pod: EndPodOption = None,
    timeout: Annotated[
        str, options.build_time_option("--timeout", "1s", "1d", text="Time for the pods to leave, 1s to 1d.")
    ] = TIMEOUT,
    check: CheckOption = False,
    session: LockSession,
) -> "NodeRemovalResult":
    """Remove a node from the cluster: drain it, reset its host, delete the node.

    Before, it shows who runs there, which volumes have their data on the node alone, and what is removed from the host,
    and asks.

    With --dead the host is not asked: it is dead where SSH gets no answer, the node is not Ready, and its kubelet has
    been silent for five minutes. Otherwise nothing is done. Control planes are refused."""
    hosts = session.open_for_change()
    from gpustack.nodes.drain import Drain
    from gpustack.nodes.drain_plan import CLUSTER_PROBES, gather_node
    from gpustack.nodes.node_removal import check_removal, refuse_node_removal, remove_dead_node, remove_live_node
    from gpustack.nodes.removal_plan import PROBES, add_reset, plan_node_removal
    from gpustack.rollout.removal import PROBES as RESET_PROBES
    from gpustack.rollout.removal import judge_removal

    ended_pods, words = split_words(end_pod), ["node", "remove", node, *(["--dead"] if dead else [])]
    snapshot = gather_node(hosts, node, session.report, PROBES)
    plan = plan_node_removal(snapshot, node, ended_pods, is_dead=dead)
    if plan.host and not dead:
        plan = add_reset(plan, judge_removal(session.gather(hosts, RESET_PROBES, [plan.host]), [plan.host]))
    if check:
        return check_removal(plan)
    session.show_preview(plan)
    refuse_node_removal(plan)
    repeat = [*words, *list_pod_words(ended_pods), *(["--timeout", timeout] if timeout != TIMEOUT else [])]
    require_agreement(session, snapshot, f"Remove {node}?", repeat)
    names = [] if dead else [plan.host]
    with open_node_run(session, snapshot, words, names) as (run, writer):
        if dead:
            return remove_dead_node(
                plan,
                writer,
                lambda: plan_node_removal(gather_node(hosts, node, run.record, PROBES), node, is_dead=True),
            )
        from gpustack.cli.commands.reset import run_reset

        drain = Drain(
            gather=lambda: gather_node(hosts, node, run.record, CLUSTER_PROBES, [writer.via.name]),
            writer=writer,
            timeout=options.parse_duration(timeout),
            report=run.record,
            find_stop_reason=run.find_stop_reason,
        )
        result = remove_live_node(
            plan, drain, lambda before: run_reset(run, hosts, names, before, packages=False, foreign=False)
        )
    run.keep_snapshot(result.reset.after.snapshot if result.reset else snapshot)
    return result
