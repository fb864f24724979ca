"""The rounds of questions of one diagnosis: all probes, and then what depends on their answers."""

from collections.abc import Sequence

from gpustack.ask import gather
from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.inventory import Inventory
from gpustack.doctor.diagnose import diagnose, list_probes
from gpustack.doctor.second_round import select_logs
from gpustack.events import Reporter
from gpustack.probes.kubernetes.container_logs import LAST_LINES, LOGS


def gather_rounds(inventory: Inventory, report: Reporter, hosts: Sequence[str] = ()) -> Snapshot:
    """Ask the hosts, all or those named in `hosts`, and return their answers. The control plane is asked a second time
    where something is unexplained of which it can say more."""
    snapshot = gather.gather(inventory, list_probes(), hosts=hosts, report=report)
    logs = select_logs(diagnose(snapshot))
    if not logs:
        return snapshot
    acting_host, variables = View(snapshot, CLUSTER).acting_host, {LOGS: " ".join(map(str, logs))}
    return snapshot.add_answers(
        gather.gather(inventory, [LAST_LINES], hosts=[acting_host], variables=variables, report=report)
    )
