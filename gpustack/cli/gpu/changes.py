"""Commands that change GPUs through their host engines: each names a piece of work, and one place does it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.gpu.engines import NodesOption, open_engines, run_work
from gpustack.cli.gpu.listings import JobArgument, groups, policies, profiling, settings, stats
from gpustack.cli.help import declare

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpustack.gpus.engines.change import Work
    from gpustack.gpus.engines.engine import Engines


@dataclass(frozen=True)
class Given:
    """The options that all of them have."""

    inventory: options.InventoryOption = None
    node: NodesOption = None
    yes: options.YesOption = False
    without_lock: options.WithoutLockOption = None
    this_host: options.ThisHostOption = False
    output: options.ShortOutputOption = options.ShortOutput.HUMAN
    become: options.BecomeOption = False
    quiet: options.QuietOption = False


def change(plan: "Callable[[Engines], Work]", given: Given) -> None:
    """Ends the command with its exit status."""
    report = session.progress(quiet=given.quiet)
    hosts = session.open_to_change(
        given.inventory, this_host=given.this_host, yes=given.yes, ask_password=given.become, quiet=given.quiet
    )
    taken, engines = open_engines(hosts, given.node, report)
    done, _, folder = run_work(
        hosts,
        taken,
        engines,
        plan(engines),
        given.output.value,
        report,
        yes=given.yes,
        without_lock=given.without_lock,
    )
    from gpustack.report.codes import changed_code
    from gpustack.report.render import show

    show(done, given.output.value, inventory=hosts, evidence=str(folder))
    raise typer.Exit(changed_code(done))


DeadlineOption = Annotated[
    str, typer.Option("--for", metavar="TIME", help="Put back after, such as 2h; at most 30d. Default: it stays.")
]
LONGEST = 30 * 86400.0


def parse_deadline(text: str) -> float:
    """Seconds; 0 of an empty text. Raises BadParameter."""
    seconds = options.parse_duration(text) if text else 0.0
    if seconds > LONGEST:
        raise typer.BadParameter(f"at most 30d, not {text}", param_hint="--for")
    return seconds


@declare(groups, "gpustack gpu group create training --gpus 0,1 -i mycluster", name="create")
def create_group(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the group.")],
    gpus: Annotated[str, typer.Option("--gpus", metavar="0,1", help="Numbers as DCGM counts them. Default: all.")] = "",
    given: Given,
) -> None:
    """Create a group of GPUs in every host engine."""
    from gpustack.gpus.engines import works

    work = works.create_group(name, [gpu for gpu in gpus.split(",") if gpu])
    change(lambda _: work, given)


@declare(groups, "gpustack gpu group delete training -i mycluster", name="delete")
def delete_group(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the group.")],
    given: Given,
) -> None:
    """Delete a group of GPUs in every host engine that has it."""
    from gpustack.gpus.engines import works
    from gpustack.gpus.engines.listings import list_all

    change(lambda engines: works.delete_group(name, list_all(engines, "groups")), given)


@declare(policies, "gpustack gpu policy set --ecc --xid --temperature 85 --for 8h -i mycluster", name="set")
def set_policy(
    *,
    ecc: Annotated[bool, typer.Option("--ecc", help="Double-bit errors of ECC.")] = False,
    pcie: Annotated[bool, typer.Option("--pcie", help="Replays of PCIe.")] = False,
    nvlink: Annotated[bool, typer.Option("--nvlink", help="Errors of NVLink.")] = False,
    xid: Annotated[bool, typer.Option("--xid", help="Xid errors of the driver.")] = False,
    temperature: Annotated[
        int | None, typer.Option("--temperature", min=1, max=999, metavar="CELSIUS", help="Above.")
    ] = None,
    power: Annotated[int | None, typer.Option("--power", min=1, max=99999, metavar="WATTS", help="Above.")] = None,
    pages: Annotated[int | None, typer.Option("--pages", min=1, max=9999, metavar="COUNT", help="Retired.")] = None,
    duration: DeadlineOption = "",
    given: Given,
) -> None:
    """Set which violations host engines watch for."""
    from gpustack.gpus.engines import works

    flags = {"ecc": ecc, "pcie": pcie, "nvlink": nvlink, "xid": xid}
    limits = {"temperature": temperature, "power": power, "pages": pages}
    work = works.set_policy({**flags, **limits}, parse_deadline(duration))
    change(lambda _: work, given)


@declare(policies, "gpustack gpu policy clear --node gpu1", name="clear")
def clear_policy(
    given: Given,
) -> None:
    """Watch for no violation any more."""
    from gpustack.gpus.engines import works

    change(lambda _: works.clear_policy(), given)


@declare(settings, "gpustack gpu config set --power-limit 300 --for 2h --node gpu1 -i mycluster", name="set")
def set_config(
    *,
    power: Annotated[
        int | None, typer.Option("--power-limit", min=1, max=99999, metavar="WATTS", help="Power limit.")
    ] = None,
    clocks: Annotated[str, typer.Option("--clocks", metavar="MEMORY,SM", help="Application clocks in MHz.")] = "",
    ecc: Annotated[bool | None, typer.Option("--ecc/--no-ecc", help="ECC, after the next reset.")] = None,
    duration: DeadlineOption = "",
    given: Given,
) -> None:
    """Set power limit, clocks or ECC of the GPUs of nodes."""
    from gpustack.gpus.engines import works

    work = works.set_config(power, clocks, ecc=ecc, keep=parse_deadline(duration))
    change(lambda _: work, given)


@declare(profiling, "gpustack gpu profiling pause --for 30m --node gpu1 -i mycluster", name="pause")
def pause_profiling(
    *,
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="Such as 30m; at most a day.")] = "30m",
    given: Given,
) -> None:
    """Pause profiling for another tool, until a deadline."""
    from gpustack.gpus.engines import works

    work = works.pause_profiling(min(options.parse_duration(duration), 86400.0))
    change(lambda _: work, given)


@declare(profiling, "gpustack gpu profiling resume -i mycluster", name="resume")
def resume_profiling(
    given: Given,
) -> None:
    """Resume profiling that was paused."""
    from gpustack.gpus.engines import works

    change(lambda _: works.resume_profiling(), given)


@declare(stats, "gpustack gpu stats start train-7 --every 10s --node gpu1 -i mycluster", name="start")
def start_stats(
    *,
    job: JobArgument,
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="How often is measured.")] = "30s",
    keep: Annotated[str, typer.Option("--keep", metavar="TIME", help="How long; longer than the job.")] = "1d",
    given: Given,
) -> None:
    """Record what GPUs do during a job."""
    from gpustack.gpus.engines import works

    work = works.start_job(job, options.parse_duration(every), options.parse_duration(keep))
    change(lambda _: work, given)


@declare(stats, "gpustack gpu stats stop train-7 --node gpu1 -i mycluster", name="stop")
def stop_stats(
    *,
    job: JobArgument,
    given: Given,
) -> None:
    """End the record of a job; what was recorded stays."""
    from gpustack.gpus.engines import works

    work = works.stop_job(job)
    change(lambda _: work, given)


MEMBERS = {"group": groups, "policy": policies, "config": settings, "profiling": profiling, "stats": stats}
