"""Commands that change GPUs through their host engines. Each builds an operation, and `run_change` applies it."""

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.engines import EngineSession, open_engines, run_work
from gpustack.cli.gpu.listings import JobArgument, groups, policies, profiling, settings, stats
from gpustack.cli.help import declare_command
from gpustack.report.renderings import CHANGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpustack.engines.change import ChangeResult, Operation
    from gpustack.engines.engine import Engines
    from gpustack.rollout.run import Run


declare_change = partial(declare_command, result=CHANGE)


def run_change(plan: "Callable[[Engines], Operation]", session: EngineSession) -> "ChangeResult":
    """Apply an operation to the engines."""
    snapshot, engines = open_engines(session, session.open_for_change())
    result, _ = run_work(session, snapshot, engines, plan(engines))
    return result


DeadlineOption = Annotated[
    str,
    options.build_time_option(
        "--for", "1s", "30d", text="Revert the change after this time, such as 2h, at most 30d. Default: keep it."
    ),
]


def check_clocks(text: str) -> str:
    """Return the value of --clocks. Raise BadParameter for a text that is no pair of clocks."""
    if text and not re.fullmatch(r"\d{1,5},\d{1,5}", text, re.ASCII):
        raise typer.BadParameter(f"{text!r}; allowed: MEMORY,SM in MHz, such as 1593,1410")
    return text


def parse_deadline(text: str) -> float:
    """Parse the value of --for to seconds, and an empty text to 0."""
    return options.parse_duration(text) if text else 0.0


@declare_change(groups, "gpustack gpu group create training --gpus 0,1 -i mycluster", name="create")
def create_group(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the group.")],
    gpus: Annotated[
        str, typer.Option("--gpus", metavar="0,1", help="Indices of the GPUs in DCGM. Default: all GPUs of the node.")
    ] = "",
    session: EngineSession,
) -> "ChangeResult":
    """Create a group of GPUs in every host engine."""
    from gpustack.engines import operations

    work = operations.create_group(name, [gpu for gpu in gpus.split(",") if gpu])
    return run_change(lambda _: work, session)


@declare_change(groups, "gpustack gpu group delete training -i mycluster", name="delete")
def delete_group(
    *, name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the group.")], session: EngineSession
) -> "ChangeResult":
    """Delete a group of GPUs in every host engine that has it."""
    from gpustack.engines import operations
    from gpustack.engines.listings import list_topic

    return run_change(lambda engines: operations.delete_group(name, list_topic(engines, "groups")), session)


@declare_change(policies, "gpustack gpu policy set --ecc --xid --temperature 85 --for 8h -i mycluster", name="set")
def set_policy(
    *,
    ecc: Annotated[bool, typer.Option("--ecc", help="Watch for double-bit ECC errors.")] = False,
    pcie: Annotated[bool, typer.Option("--pcie", help="Watch for PCIe replays.")] = False,
    nvlink: Annotated[bool, typer.Option("--nvlink", help="Watch for NVLink errors.")] = False,
    xid: Annotated[bool, typer.Option("--xid", help="Watch for Xid errors of the driver.")] = False,
    temperature: Annotated[
        int | None,
        typer.Option("--temperature", min=1, max=999, metavar="CELSIUS", help="Watch for temperatures above this."),
    ] = None,
    power: Annotated[
        int | None, typer.Option("--power", min=1, max=99999, metavar="WATTS", help="Watch for power draw above this.")
    ] = None,
    pages: Annotated[
        int | None,
        typer.Option("--pages", min=1, max=9999, metavar="COUNT", help="Watch for this many retired memory pages."),
    ] = None,
    duration: DeadlineOption = "",
    session: EngineSession,
) -> "ChangeResult":
    """Set the violations that host engines watch for."""
    from gpustack.engines import operations

    flags = {"ecc": ecc, "pcie": pcie, "nvlink": nvlink, "xid": xid}
    limits = {"temperature": temperature, "power": power, "pages": pages}
    work = operations.set_policy({**flags, **limits}, parse_deadline(duration))
    return run_change(lambda _: work, session)


@declare_change(policies, "gpustack gpu policy clear -i mycluster --node gpu1", name="clear")
def clear_policy(session: EngineSession) -> "ChangeResult":
    """Clear the policy of host engines. They report no violations then."""
    from gpustack.engines import operations

    return run_change(lambda _: operations.clear_policy(), session)


@declare_change(settings, "gpustack gpu config set --power-limit 300 --for 2h --node gpu1 -i mycluster", name="set")
def set_config(
    *,
    power: Annotated[
        int | None, typer.Option("--power-limit", min=1, max=99999, metavar="WATTS", help="Power limit of each GPU.")
    ] = None,
    clocks: Annotated[
        str,
        typer.Option(
            "--clocks",
            metavar="MEMORY,SM",
            help="Application clocks of memory and SMs in MHz.",
            callback=check_clocks,
        ),
    ] = "",
    ecc: Annotated[
        bool | None, typer.Option("--ecc/--no-ecc", help="Turn ECC on or off, from the next reset of the GPU.")
    ] = None,
    duration: DeadlineOption = "",
    session: EngineSession,
) -> "ChangeResult":
    """Set the power limit, clocks or ECC of GPUs."""
    from gpustack.engines import operations

    work = operations.set_config(power, clocks, ecc=ecc, keep=parse_deadline(duration))
    return run_change(lambda _: work, session)


@declare_change(profiling, "gpustack gpu profiling pause --for 30m --node gpu1 -i mycluster", name="pause")
def pause_profiling(
    *,
    duration: Annotated[
        str,
        options.build_time_option(
            "--for", "1s", "1d", text="Resume profiling after this time, such as 30m, at most 1d."
        ),
    ] = "30m",
    session: EngineSession,
) -> "ChangeResult":
    """Pause the profiling metrics of DCGM. Another tool can profile meanwhile."""
    from gpustack.engines import operations
    from gpustack.proof.silence import leave_silence

    seconds = options.parse_duration(duration)

    def silence_pause(run: "Run", result: "ChangeResult") -> None:
        if nodes := [ending.node for ending in result.endings if ending.ending == "done"]:
            leave_silence(run, nodes, seconds, "pause")

    snapshot, engines = open_engines(session, session.open_for_change())
    result, _ = run_work(session, snapshot, engines, operations.pause_profiling(seconds), finish=silence_pause)
    return result


@declare_change(profiling, "gpustack gpu profiling resume -i mycluster", name="resume")
def resume_profiling(session: EngineSession) -> "ChangeResult":
    """Resume the profiling metrics of DCGM."""
    from gpustack.engines import operations

    return run_change(lambda _: operations.resume_profiling(), session)


@declare_change(stats, "gpustack gpu stats start train-7 --every 10s --node gpu1 -i mycluster", name="start")
def start_stats(
    *,
    job: JobArgument,
    interval: Annotated[
        str,
        options.build_time_option("--every", "100ms", "1h", text="Interval between two measurements, 100ms to 1h."),
    ] = "30s",
    keep: Annotated[
        str,
        options.build_time_option("--keep", "1m", "1y", text="Time to keep the record, longer than the job, 1m to 1y."),
    ] = "1d",
    session: EngineSession,
) -> "ChangeResult":
    """Start to record the metrics of GPUs during a job."""
    from gpustack.engines import operations

    work = operations.start_job(job, options.parse_duration(interval), options.parse_duration(keep))
    return run_change(lambda _: work, session)


@declare_change(stats, "gpustack gpu stats stop train-7 --node gpu1 -i mycluster", name="stop")
def stop_stats(*, job: JobArgument, session: EngineSession) -> "ChangeResult":
    """Stop the record of a job. The recorded values are kept."""
    from gpustack.engines import operations

    work = operations.stop_job(job)
    return run_change(lambda _: work, session)


MEMBERS = {"group": groups, "policy": policies, "config": settings, "profiling": profiling, "stats": stats}
