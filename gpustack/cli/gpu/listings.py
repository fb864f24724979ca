"""Read-only commands of `gpustack gpu` that list the state of host engines."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.engines import QuerySession, open_for_query
from gpustack.cli.help import build_group, declare_command
from gpustack.report.renderings import LISTING

if TYPE_CHECKING:
    from gpustack.engines.listings import Listing, Topic

groups = build_group("List and change groups of GPUs in DCGM's host engines.", "gpustack gpu group list -i mycluster")
policies = build_group("Show and change the policy of DCGM's host engines.", "gpustack gpu policy get -i mycluster")
settings = build_group("Show and change power limits, clocks and ECC.", "gpustack gpu config show -i mycluster")
profiling = build_group("List and pause the profiling metrics of DCGM.", "gpustack gpu profiling list -i mycluster")


stats = build_group("Record the metrics of GPUs during a job.", "gpustack gpu stats start train-7 -i mycluster")
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Name of the record.")]


def declare_listing(app: typer.Typer, path: str, subject: "Topic", text: str) -> None:
    """Declare the command of a path that prints a listing. `text` is its docstring."""

    def show_listing(session: QuerySession) -> "Listing":
        engines = open_for_query(session)
        from gpustack.engines.listings import list_topic

        return list_topic(engines, subject)

    show_listing.__doc__ = text
    examples = (f"gpustack gpu {path} -i mycluster", f"gpustack gpu {path} -i mycluster --node gpu1 -o json")
    name, short_text = path.rsplit(maxsplit=1)[-1], text.split("\n", maxsplit=1)[0]
    declare_command(app, *examples, result=LISTING, name=name, short=short_text)(show_listing)


declare_listing(groups, "group list", "groups", "List the groups of host engines, and the GPUs in them.")
declare_listing(policies, "policy get", "policies", "Show the violations that host engines watch for.")
declare_listing(settings, "config show", "settings", "Show configured and current power limits, clocks and modes.")
declare_listing(profiling, "profiling list", "metrics", "List the profiling metrics that GPUs support.")


@groups.callback()
@policies.callback()
@settings.callback()
@profiling.callback()
@stats.callback()
def engines() -> None:
    pass


@declare_command(stats, "gpustack gpu stats show -i mycluster train-7 --node gpu1 -o json", result=LISTING, name="show")
def show_stats(job: JobArgument, session: QuerySession) -> "Listing":
    """Show the record of a job. The job may be running."""
    from gpustack.engines.operations import require_name

    require_name(job)
    engines = open_for_query(session)
    from gpustack.engines.listings import list_figures

    return list_figures(engines, job)


@declare_command(policies, "gpustack gpu policy watch --for 5m -i mycluster", result=LISTING, name="watch")
def watch_policy(
    *,
    duration: Annotated[
        str,
        options.build_time_option("--for", "1s", "1d", text="Time to listen for violations, 1s to 1d."),
    ] = "1m",
    session: QuerySession,
) -> "Listing":
    """Listen for violations of the policy, and list them."""
    seconds = round(options.parse_duration(duration))
    engines = open_for_query(session)
    from gpustack.engines.listings import list_violations

    return list_violations(engines, seconds)


def watch(
    *,
    fields: Annotated[
        list[str],
        typer.Argument(
            metavar="FIELD...", help="Fields of DCGM to show, by name or id.", autocompletion=options.complete_field
        ),
    ],
    interval: Annotated[
        str, options.build_time_option("--every", "1s", "1m", text="Sampling interval, 1s to 1m.")
    ] = "1s",
    rounds: Annotated[int, typer.Option("--count", min=1, metavar="ROUNDS", help="Number of samples to print.")] = 1,
    session: QuerySession,
) -> None:
    """Show values of fields as host engines measure them now, including fields that the exporter does not export.

    The engine uses the sampling interval only while the command runs."""
    from gpustack.engines.samples import choose_fields

    chosen_fields = choose_fields(fields)
    engines = open_for_query(session)
    from gpustack.engines.listings import list_samples

    codes = []
    for _ in range(rounds):
        samples = list_samples(engines, chosen_fields, round(options.parse_duration(interval) * 1000))
        session.show(samples)
        codes.append(samples.exit_status)
    raise typer.Exit(max(codes))
