"""`prove`: GPU by GPU, a pod runs a kernel on it, Prometheus has its series, and a panel shows the same value."""

from typing import Annotated

import typer

from gpustack.cli import options, session


def prove(
    inventory: options.InventoryOption = None,
    limit: options.LimitOption = None,
    timeout: Annotated[
        int, typer.Option("--timeout", min=10, metavar="SECONDS", help="Limit for pods and metrics.")
    ] = 180,
    this_host: options.ThisHostOption = False,
    output: options.OutputOption = options.Output.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Prove every GPU: a pod runs a kernel on it, and Prometheus and Grafana show it. The pods are removed again."""
    report = session.progress(quiet=quiet)
    hosts = session.open_to_change(inventory, this_host=this_host, yes=False, ask_password=become, quiet=quiet)
    from gpustack.cli.locked_run import locked_run
    from gpustack.proof.connect import acting_host, run_proof
    from gpustack.proof.inventory import PROBES, survey
    from gpustack.proof.prove import empty_proof
    from gpustack.report.codes import proof_code
    from gpustack.report.render import show
    from gpustack.rollout.lease import choose_places

    names = session.choose_hosts(hosts, limit)
    taken = session.gather_all(hosts, report, PROBES, names)
    places, unasked = survey(taken, names)
    if not places:
        nothing = empty_proof(taken, unasked)
        show(nothing, output.value, inventory=hosts)
        raise typer.Exit(proof_code(nothing))
    with locked_run(hosts, "prove", choose_places(taken, [acting_host(taken).name]), report) as run:
        done = run_proof(taken, places, unasked, run.private, run.record, timeout, run.stop_reason)
    run.keep_snapshot(taken)
    show(done, output.value, inventory=hosts, evidence=str(run.folder))
    raise typer.Exit(proof_code(done))
