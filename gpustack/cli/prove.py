"""`prove`: GPU by GPU, a pod runs a kernel on it, Prometheus has its series, and a panel shows the same value."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.locked_run import locked_run
from gpustack.errors import UnreachableError

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot
    from gpustack.cli.locked_run import Run
    from gpustack.config.host import Host
    from gpustack.proof.chain import Place
    from gpustack.proof.prove import Proof


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
    from gpustack.cli import session
    from gpustack.proof.inventory import PROBES

    report = session.progress(quiet=quiet)
    hosts = session.open_to_change(inventory, this_host=this_host, yes=False, ask_password=become, quiet=quiet)
    names = session.choose_hosts(hosts, limit)
    taken = session.gather_all(hosts, report, PROBES, names)
    places, unasked = survey_gpus(taken, names)
    from gpustack.report.codes import proof_code
    from gpustack.report.render import show
    from gpustack.rollout.private import sweep

    if not places:
        nothing = make_empty_proof(taken, unasked)
        show(nothing, output.value, inventory=hosts)
        raise typer.Exit(proof_code(nothing))
    sweep()
    acting = find_acting_host(taken)
    with locked_run(hosts, "prove", acting, report) as run:
        done = run_proof(run, acting, taken, places, unasked, timeout)
    run.keep_snapshot(taken)
    show(done, output.value, inventory=hosts, evidence=str(run.folder))
    raise typer.Exit(proof_code(done))


def find_acting_host(taken: "Snapshot") -> "Host":
    from gpustack.ask.probe import CLUSTER
    from gpustack.ask.view import View

    return View(taken, CLUSTER).host


def survey_gpus(taken: "Snapshot", names: Sequence[str]) -> tuple[tuple["Place", ...], tuple[tuple[str, str], ...]]:
    """Raises UnreachableError when the API gave no answer."""
    from gpustack.ask.probe import FactUnavailable
    from gpustack.proof.inventory import places, unasked

    try:
        return places(taken, names), unasked(taken, names)
    except FactUnavailable as error:
        raise UnreachableError(
            "proof-no-api", "The Kubernetes API gave no answer; nothing was created.", str(error), "gpustack verify"
        ) from error


def make_empty_proof(taken: "Snapshot", unasked: tuple[tuple[str, str], ...]) -> "Proof":
    from gpustack.proof.prove import Proof

    return Proof(taken.taken, (), unasked, seconds=taken.took, hosts=len(taken.inventory.hosts))


def run_proof(
    run: "Run",
    acting: "Host",
    taken: "Snapshot",
    places: Sequence["Place"],
    unasked: tuple[tuple[str, str], ...],
    timeout: float,
) -> "Proof":
    """Raises UnreachableError and RolloutError, before anything is created."""
    from gpustack.ask.transport.forward import open_forwarder
    from gpustack.proof import credential
    from gpustack.proof.connect import connect_api, connect_grafana, connect_prometheus
    from gpustack.proof.prove import Prover
    from gpustack.proof.services import names

    probes = [credential.CERTIFICATE, credential.GRAFANA]
    words = {**credential.OURS, "NAMESPACE": names(run.hosts.spec).monitoring}
    with open_forwarder(acting) as way:
        answers = credential.answers(acting, probes, words)
        prover = Prover(
            cluster=connect_api(answers[credential.CERTIFICATE.id], way, run.private),
            prometheus=connect_prometheus(taken, way),
            grafana=connect_grafana(taken, way, answers[credential.GRAFANA.id]),
            places=places,
            report=run.record,
            timeout=timeout,
            cancelled=run.stop_reason,
        )
        return prover.prove(unasked)
