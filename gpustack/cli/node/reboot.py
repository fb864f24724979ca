"""The command `gpustack node reboot`, which reboots the hosts of nodes one after the other."""

import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.node.options import CheckOption, EndPodOption, list_pod_words, open_node_run, require_agreement
from gpustack.cli.option_groups import LockSession
from gpustack.cli.session import split_words

if TYPE_CHECKING:
    from gpustack.nodes.node_reboot import Waits
    from gpustack.nodes.rolling_reboot import RebootResult


@dataclass(frozen=True)
class TimeOptions:
    """Hold the options that limit what is waited for."""

    wait_for_jobs: Annotated[
        str,
        options.build_time_option(
            "--wait-for-jobs", "1s", "7d", text="Time for GPU jobs of a node to end before it is skipped, 1s to 7d."
        ),
    ] = "30m"
    timeout: Annotated[
        str, options.build_time_option("--timeout", "1s", "1d", text="Time for other pods to leave a node, 1s to 1d.")
    ] = "5m"
    boot_timeout: Annotated[
        str,
        options.build_time_option(
            "--boot-timeout", "1s", "1d", text="Time for a host to be back with all of its GPUs, 1s to 1d."
        ),
    ] = "20m"

    def list_words(self) -> list[str]:
        """List the options that are not the defaults, for a command to repeat."""
        changed_options = {
            entry.name: getattr(self, entry.name)
            for entry in fields(self)
            if entry.default != getattr(self, entry.name)
        }
        return [word for name, text in changed_options.items() for word in (f"--{name.replace('_', '-')}", text)]

    def build_waits(self) -> "Waits":
        from gpustack.nodes.node_reboot import Waits

        return Waits(*map(options.parse_duration, (self.wait_for_jobs, self.timeout, self.boot_timeout)))


def reboot(
    *,
    nodes: Annotated[
        list[str] | None, typer.Argument(metavar="NODE...", help="Names of nodes in Kubernetes. Default: all.")
    ] = None,
    required: Annotated[
        bool, typer.Option("--if-required", help="Leave out hosts whose packages do not ask for a reboot.")
    ] = False,
    end_pod: EndPodOption = None,
    times: TimeOptions,
    check: CheckOption = False,
    session: LockSession,
) -> "RebootResult":
    """Reboot the hosts of nodes, one after the other: drain, reboot, verify the GPUs, uncordon.

    A node whose GPU jobs do not end in time, or whose pods cannot leave, is skipped, and the next one comes. A node
    that is not as before ends the reboot. The same command continues a reboot that was stopped or killed."""
    hosts = session.open_for_change()
    from gpustack.events import format_count
    from gpustack.nodes.drain_plan import refuse_unknown_pods
    from gpustack.nodes.reboot_plan import gather_nodes, plan_reboot
    from gpustack.nodes.rolling_reboot import RebootResult, RollingReboot, check_reboot

    ended_pods, words = split_words(end_pod), ["node", "reboot", *(nodes or [])]
    snapshots = gather_nodes(hosts, nodes or [], session.report)
    plan = plan_reboot(snapshots, ended_pods, only_required=required)
    refuse_unknown_pods([target.drain for target in plan.targets], ended_pods)
    if check:
        return check_reboot(plan)
    if not plan.targets:
        return RebootResult(plan, ())
    session.show_preview(plan)
    hosts_text = format_count(len(plan.targets), "host")
    question = f"Reboot {hosts_text}{', one after the other' if len(plan.targets) > 1 else ''}?"
    repeat = [*words, *(["--if-required"] if required else []), *list_pod_words(ended_pods), *times.list_words()]
    require_agreement(session, plan.snapshot, question, repeat)
    start_time = time.monotonic()
    names = [target.drain.host for target in plan.targets if target.drain.host]
    rolling = RollingReboot(
        hosts, lambda: open_node_run(session, plan.snapshot, words, names), times.build_waits(), ended_pods
    )
    return RebootResult(plan, rolling.run(plan), time.monotonic() - start_time)
