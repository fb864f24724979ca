"""The command `gpustack care`, which a timer may run: it cordons nodes with an unwell GPU where the spec allows it."""

from functools import partial
from typing import TYPE_CHECKING

from gpustack.cli.gpu.health import ask_sources
from gpustack.cli.gpu.prometheus import Source
from gpustack.cli.help import declare_command
from gpustack.cli.node.options import CheckOption, open_node_run
from gpustack.cli.option_groups import LockSession
from gpustack.cli.root import OPERATE, ROOT
from gpustack.report.remediation.renderings import CARE

if TYPE_CHECKING:
    from gpustack.remediation.care_round import CareRound
    from gpustack.remediation.case import Case
    from gpustack.remediation.ladder import Ladder
    from gpustack.remediation.remediation import Remediation


@declare_command(
    ROOT,
    "gpustack care --check -i mycluster",
    "gpustack care -i mycluster",
    result=CARE,
    heading=OPERATE,
    short="Cordon nodes with an unwell GPU, as a timer runs it.",
)
def care(*, check: CheckOption = False, source: Source, session: LockSession) -> "CareRound":
    """Cordon each node whose verdict asks for a reset, a reboot or a replacement, where the spec has `care.cordon:
    true`. Otherwise the nodes are only named.

    The command is made for a timer and asks nothing, because the spec has the consent. It takes the rung `cordon` of
    `gpustack remediate` with all of its guard rails, and no other one. It exits with 1 if a node asks for an act."""
    hosts = session.open_for_change()
    from gpustack.health.fleet import build_health
    from gpustack.health.host_answers import HOST_SOURCE_PROBES, read_host_sources
    from gpustack.nodes.node_reboot import NO_WAITS
    from gpustack.proof.services import ACCESS_PROBES
    from gpustack.remediation.care_round import run_care_round
    from gpustack.remediation.case import read_case
    from gpustack.remediation.remediation import Remediation
    from gpustack.remediation.target import Target

    ask = partial(ask_sources, source, hosts, session.report)

    def read(node: str) -> "Case":
        return read_case(hosts, Target(node), ask, session.report)

    def build_remediation(node: str, ladder: "Ladder") -> "Remediation":
        drain = ladder.case.drain
        names = [drain.host] if drain.host else []
        return Remediation(
            lambda: read(node), lambda: open_node_run(session, drain.snapshot, ["care"], names), NO_WAITS
        )

    snapshot = session.gather(hosts, (*ACCESS_PROBES, *HOST_SOURCE_PROBES))
    health = build_health(ask(read_host_sources(snapshot), snapshot))
    return run_care_round(health, read, build_remediation, only_checked=check or not hosts.spec.care.cordon)
