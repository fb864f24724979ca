"""The command `gpustack prove`, which proves every GPU by a pod, a series in Prometheus and a panel in Grafana."""

from typing import Annotated

import typer

from gpustack.cli import options, session
from gpustack.report.renderings import PROOF


def prove(
    inventory: options.InventoryOption = None,
    limit: options.LimitOption = None,
    timeout: Annotated[
        int, typer.Option("--timeout", min=10, metavar="SECONDS", help="Seconds to wait for pods and metrics.")
    ] = 180,
    this_host: options.ThisHostOption = False,
    output: Annotated[str, PROOF] = "human",
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Prove every GPU: run a kernel on it in a pod, and find its value in Prometheus and Grafana.

    The pods are removed at the end."""
    report = session.build_reporter(quiet=quiet)
    hosts = session.open_for_change(inventory, this_host=this_host, yes=False, ask_password=become, quiet=quiet)
    from gpustack.proof.connect import find_acting_host, run_proof
    from gpustack.proof.inventory import PROBES, plan_proof
    from gpustack.proof.prove import empty_proof
    from gpustack.rollout.lease import choose_places
    from gpustack.rollout.run import open_locked_run

    names = session.choose_hosts(hosts, limit)
    snapshot = session.gather_all(hosts, report, PROBES, names)
    places, skipped_hosts = plan_proof(snapshot, names)
    if not places:
        empty = empty_proof(snapshot, skipped_hosts)
        session.finish_command(empty, output, inventory=hosts)
    with open_locked_run(hosts, "prove", choose_places(snapshot, [find_acting_host(snapshot).name]), report) as run:
        result = run_proof(snapshot, places, skipped_hosts, run.private, run.record, timeout, run.find_stop_reason)
    run.keep_snapshot(snapshot)
    session.finish_command(result, output, inventory=hosts, evidence=str(run.folder))
