"""The rounds of questions of one diagnosis: all probes, and then what depends on their answers."""

from collections.abc import Sequence

from gpustack.ask import gather
from gpustack.ask.snapshot import Snapshot
from gpustack.config.inventory import Inventory
from gpustack.doctor.diagnose import diagnose, list_probes
from gpustack.doctor.second_round import build_questions
from gpustack.events import Reporter


def gather_rounds(inventory: Inventory, report: Reporter, hosts: Sequence[str] = ()) -> Snapshot:
    """Ask the hosts, all or those named in `hosts`, and return their answers. Some are asked a second time where
    something is unexplained of which they can say more."""
    snapshot = gather.gather(inventory, list_probes(), hosts=hosts, report=report)
    questions = build_questions(diagnose(snapshot))
    if questions is None:
        return snapshot
    later_snapshot = gather.gather(
        inventory, questions.probes, hosts=questions.hosts, variables=questions.variables, report=report
    )
    return snapshot.add_answers(later_snapshot)
