"""`gpu group list`, `policy get`, `config show`, `profiling list`: what host engines say, read-only."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.engines import Asked, open_to_read
from gpustack.cli.help import declare, group

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory
    from gpustack.gpus.engines.listings import About, Listing

groups = group("See and change groups of GPUs in DCGM's host engines.", "gpustack gpu group list -i mycluster")
policies = group("See and change what host engines watch for.", "gpustack gpu policy get -i mycluster")
settings = group("See and change power limits, clocks and ECC.", "gpustack gpu config show -i mycluster")
profiling = group("See and pause the profiling metrics of DCGM.", "gpustack gpu profiling list -i mycluster")


stats = group("Record what GPUs do during a job.", "gpustack gpu stats start train-7 -i mycluster")
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="A name for the record.")]


def declare_listing(app: typer.Typer, path: str, about: "About", text: str) -> None:
    """The command of that path which prints this listing."""

    def show_listing(asked: Asked) -> None:
        hosts, engines = open_to_read(asked)
        from gpustack.gpus.engines.listings import list_all

        show_found(list_all(engines, about), asked.output.value, hosts)

    show_listing.__doc__ = text
    examples = (f"gpustack gpu {path} -i mycluster", f"gpustack gpu {path} --node gpu1 -o json")
    declare(app, *examples, name=path.rsplit(maxsplit=1)[-1], short=text.split("\n", maxsplit=1)[0])(show_listing)


declare_listing(groups, "group list", "groups", "List the groups of host engines, and the GPUs in them.")
declare_listing(policies, "policy get", "policies", "Show which violations host engines watch for.")
declare_listing(settings, "config show", "settings", "Show power limits, clocks and modes: set and in force.")
declare_listing(profiling, "profiling list", "metrics", "List the profiling metrics that GPUs can measure.")


@groups.callback()
@policies.callback()
@settings.callback()
@profiling.callback()
@stats.callback()
def engines() -> None:
    pass


@declare(stats, "gpustack gpu stats show train-7 --node gpu1 -o json", name="show")
def show_stats(
    job: JobArgument,
    asked: Asked,
) -> None:
    """Show what was recorded of a job, also while it runs."""
    from gpustack.gpus.engines.works import require_name

    require_name(job)
    hosts, engines = open_to_read(asked)
    from gpustack.gpus.engines.listings import list_figures

    show_found(list_figures(engines, job), asked.output.value, hosts)


@declare(policies, "gpustack gpu policy watch --for 5m -i mycluster", name="watch")
def watch_policy(
    *,
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="How long is listened.")] = "1m",
    asked: Asked,
) -> None:
    """List violations of the policy that come within a time."""
    seconds = round(options.parse_duration(duration))
    hosts, engines = open_to_read(asked)
    from gpustack.gpus.engines.listings import list_violations

    show_found(list_violations(engines, seconds), asked.output.value, hosts)


def show_found(found: "Listing", output: str, hosts: "Inventory") -> None:
    """Ends the command with its exit status."""
    from gpustack.report.codes import listing_code
    from gpustack.report.render import show

    show(found, output, inventory=hosts)
    raise typer.Exit(listing_code(found))


def watch(
    *,
    fields: Annotated[list[str], typer.Argument(metavar="FIELD...", help="Fields of DCGM, by name or number.")],
    every: Annotated[int, typer.Option("--every", min=1, max=60, metavar="SECONDS", help="How often.")] = 1,
    rounds: Annotated[int, typer.Option("--count", min=1, metavar="ROUNDS", help="How many times it is asked.")] = 1,
    asked: Asked,
) -> None:
    """Show values of fields as host engines measure them now, also those that the exporter does not export.

    The engine measures them that often only while it is asked."""
    from gpustack.gpus.engines.samples import choose_fields

    chosen = choose_fields(fields)
    hosts, engines = open_to_read(asked)
    from gpustack.gpus.engines.listings import list_samples
    from gpustack.report.codes import listing_code
    from gpustack.report.render import show

    codes = []
    for _ in range(rounds):
        found = list_samples(engines, chosen, every * 1000)
        show(found, asked.output.value, inventory=hosts)
        codes.append(listing_code(found))
    raise typer.Exit(max(codes))
