"""The snapshot and the diagnosis of the hosts after a failed install.

An error of this module is reported in one line. It changes neither the error of the install nor its exit status.
"""

from collections.abc import Sequence
from pathlib import Path

from gpustack.ask import gather, recording
from gpustack.ask.redact.printable import clean_text
from gpustack.ask.redact.redact import redact
from gpustack.cli.rounds import diagnose_hosts
from gpustack.config.inventory import Inventory
from gpustack.events import Reporter
from gpustack.report.doctor import brief
from gpustack.rollout.anonymize import remove_secrets

NAME = "failure.jsonl"


def report_failure(
    hosts: Inventory, folder: Path, report: Reporter, limit: Sequence[str] = (), failed_hosts: Sequence[str] = ()
) -> str:
    """Run all probes of doctor on the first control plane, on hosts that failed, and on hosts of `limit`. Return the
    brief report. At most MAX_THREADS hosts are asked, so that the duration is that of the slowest host (HOST_LIMIT of
    ask/transport/refusal.py)."""
    planes = [host.name for host in hosts.control_planes]
    other_hosts = limit or [*planes, *(host.name for host in hosts.hosts)]
    host_names = list(dict.fromkeys([*planes[:1], *failed_hosts, *other_hosts]))[: gather.MAX_THREADS]
    try:
        diagnosis = diagnose_hosts(hosts, report, host_names)
        recording.write_recording(remove_secrets(diagnosis.snapshot), folder / NAME)
        return brief.render_brief(diagnosis, folder / NAME)
    except KeyboardInterrupt:
        return "\nno snapshot of the hosts: interrupted\n"
    except Exception as error:  # noqa: BLE001 - the error of the install is the one to report
        return f"\nno snapshot of the hosts: {redact(clean_text(f'{type(error).__name__}: {error}'), hosts.secrets)}\n"
