"""After an install that failed: a snapshot of the hosts, and its diagnosis.

An error here becomes one line, and changes neither the error of the install nor its exit status.
"""

from collections.abc import Sequence
from pathlib import Path

from gpustack.ask import gather, recording
from gpustack.ask.redact.printable import plain
from gpustack.ask.redact.redact import redact
from gpustack.config.inventory import Inventory
from gpustack.doctor.diagnose import diagnose, questions
from gpustack.events import Reporter
from gpustack.report.doctor import brief
from gpustack.rollout.anonymize import remove_secrets

NAME = "failure.jsonl"


def report_failure(
    hosts: Inventory, folder: Path, report: Reporter, limit: Sequence[str] = (), failed: Sequence[str] = ()
) -> str:
    """Runs all probes of the doctor on the hosts (of `limit`, and the control plane), those that failed first. No more
    hosts than are reached at once, so it takes no longer than the slowest of them (HOST_LIMIT of
    ask/transport/refusal.py)."""
    planes = [host.name for host in hosts.control_planes]
    others = limit or [*planes, *(host.name for host in hosts.hosts)]
    wanted = list(dict.fromkeys([*planes[:1], *failed, *others]))[: gather.AT_ONCE]
    try:
        taken = gather.gather(hosts, questions(), hosts=wanted, report=report)
        recording.write(remove_secrets(taken), folder / NAME)
        return brief.text(diagnose(taken), folder / NAME)
    except KeyboardInterrupt:
        return "\nno snapshot of the hosts: interrupted\n"
    except Exception as error:  # noqa: BLE001 - the error of the install is the one to report
        return f"\nno snapshot of the hosts: {redact(plain(f'{type(error).__name__}: {error}'), hosts.secrets)}\n"
