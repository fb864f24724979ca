"""The command `gpustack remediate`, which shows the ladder of an unwell node, confirms, and takes one rung of it."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli.gpu.health import ask_sources
from gpustack.cli.gpu.prometheus import Source
from gpustack.cli.help import declare_command
from gpustack.cli.node.options import CheckOption, EndPodOption, list_pod_words, open_node_run, require_agreement
from gpustack.cli.node.reboot import TimeOptions
from gpustack.cli.option_groups import LockSession
from gpustack.cli.root import OPERATE, ROOT
from gpustack.cli.session import split_words
from gpustack.report.remediation.renderings import REMEDIATION

if TYPE_CHECKING:
    from gpustack.remediation.case import Case
    from gpustack.remediation.result import RemediationResult


@declare_command(
    ROOT,
    "gpustack remediate gpu1 --check -i mycluster",
    "gpustack remediate gpu1:0 -i mycluster",
    result=REMEDIATION,
    heading=OPERATE,
    short="Cordon, drain, reset or reboot for an unwell GPU.",
)
def remediate(
    *,
    target: Annotated[
        str,
        typer.Argument(
            metavar="NODE[:GPU]", help="Name of the node in Kubernetes, and the index or UUID of one of its GPUs."
        ),
    ],
    end_pod: EndPodOption = None,
    times: TimeOptions,
    check: CheckOption = False,
    source: Source,
    session: LockSession,
) -> "RemediationResult":
    """Show the ladder for the verdict on a node or a GPU, ask, and take its next rung.

    The rungs are: cordon, drain, GPU reset or restart of the device plugin, reboot, and hand over to the vendor. A node
    returns by `gpu diag`, `prove` and `node uncordon`, which the command names and does not run.

    Guard rails refuse an act on old data, on one source, on the last GPU node, and others (docs/care.md). No option
    overrides them. The command exits with 5 where one refuses, and with 1 after --check."""
    hosts = session.open_for_change()
    from gpustack.nodes.drain_plan import refuse_drain
    from gpustack.remediation.case import read_case
    from gpustack.remediation.guards import refuse_rung
    from gpustack.remediation.ladder import build_ladder
    from gpustack.remediation.remediation import Remediation
    from gpustack.remediation.result import RemediationResult
    from gpustack.remediation.target import parse_target

    parsed_target, ended_pods = parse_target(target), split_words(end_pod)

    ask = partial(ask_sources, source, hosts, session.report)

    def read() -> "Case":
        return read_case(hosts, parsed_target, ask, session.report, ended_pods)

    ladder = build_ladder(read())
    if check or (act := ladder.next_act) is None:
        return RemediationResult(ladder, only_checked=check)
    session.show_preview(ladder)
    refuse_rung(ladder.refusals, act, parsed_target.label)
    drain, words = ladder.case.drain, ["remediate", target]
    if act == "drain":
        refuse_drain(drain, ended_pods, words)
    repeat = [*words, *list_pod_words(ended_pods), *times.list_words(), *source.list_words()]
    require_agreement(session, drain.snapshot, f"Take the rung {act} of {parsed_target.label}?", repeat)
    names = [drain.host] if drain.host else []
    remediation = Remediation(
        read, lambda: open_node_run(session, drain.snapshot, words, names), times.build_waits(), ended_pods
    )
    return remediation.run(ladder, act)
