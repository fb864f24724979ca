"""The command `gpustack prove`, which proves every GPU by a pod, a series in Prometheus and a panel in Grafana."""

from typing import TYPE_CHECKING, Annotated

from gpustack.cli import options
from gpustack.cli.help import declare_command
from gpustack.cli.option_groups import ChangeSession
from gpustack.cli.root import ROOT, SETUP
from gpustack.cli.session import choose_hosts
from gpustack.report.renderings import PROOF

if TYPE_CHECKING:
    from gpustack.proof.prove import Proof


@declare_command(
    ROOT,
    "gpustack prove -i mycluster",
    "gpustack prove -i mycluster --limit gpu1 --timeout 5m",
    result=PROOF,
    heading=SETUP,
    short="Prove every GPU: pod, metrics and dashboard.",
)
def prove(
    limit: options.LimitOption = None,
    timeout: Annotated[
        str, options.build_time_option("--timeout", "10s", "1d", text="Time to wait for pods and metrics, 10s to 1d.")
    ] = "3m",
    *,
    cordoned_nodes: options.CordonedOption = False,
    session: ChangeSession,
) -> "Proof":
    """Prove every GPU: run a kernel on it in a pod, and find its value in Prometheus and Grafana.

    The pods have the tolerations of an ordinary pod with a GPU, and are removed at the end."""
    hosts = session.open_for_change()
    from gpustack.proof.connect import find_acting_host, run_proof
    from gpustack.proof.inventory import PROBES, plan_proof
    from gpustack.proof.prove import empty_proof
    from gpustack.rollout.lease import choose_places

    names = choose_hosts(hosts, limit)
    snapshot = session.gather(hosts, PROBES, names)
    places, skipped_hosts = plan_proof(snapshot, names, cordoned=cordoned_nodes)
    if not places:
        return empty_proof(snapshot, skipped_hosts)
    with session.open_run(hosts, "prove", choose_places(snapshot, [find_acting_host(snapshot).name])) as run:
        result = run_proof(
            snapshot,
            places,
            skipped_hosts,
            run.private,
            run.record,
            options.parse_duration(timeout),
            run.find_stop_reason,
            run.lock.holder,
            cordoned=cordoned_nodes,
        )
    run.keep_snapshot(snapshot)
    return result
