"""The rounds of questions of one diagnosis: all probes, and then what depends on their answers."""

from collections.abc import Sequence

from gpustack.ask import gather
from gpustack.config.inventory import Inventory
from gpustack.doctor.diagnose import diagnose, list_probes
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.second_round import build_questions
from gpustack.events import Reporter


def diagnose_hosts(inventory: Inventory, report: Reporter, hosts: Sequence[str] = ()) -> Diagnosis:
    """Ask the hosts, all or those named in `hosts`, and diagnose their answers. Some are asked a second time where
    something is unexplained of which they can say more, and both answers are diagnosed then."""
    snapshot = gather.gather(inventory, list_probes(), hosts=hosts, report=report)
    diagnosis = diagnose(snapshot)
    questions = build_questions(diagnosis)
    if questions is None:
        return diagnosis
    later_snapshot = gather.gather(
        inventory, questions.probes, hosts=questions.hosts, variables=questions.variables, report=report
    )
    return diagnose(snapshot.add_answers(later_snapshot))
