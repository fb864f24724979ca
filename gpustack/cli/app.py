"""The root command `gpustack` and its subcommands. All errors of a command are reported in `error_handler`."""

import sys
from contextlib import suppress
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated

import typer

from gpustack.cli import bundle, commands
from gpustack.cli.capacity import commands as capacity
from gpustack.cli.cost import commands as cost
from gpustack.cli.error_handler import report_errors
from gpustack.cli.gpu import commands as gpu
from gpustack.cli.lab_distribution import add_lab_commands
from gpustack.cli.node import commands as node
from gpustack.cli.profile import commands as profile
from gpustack.cli.root import BUNDLES, DIAGNOSE, LAB, OPERATE, ROOT, sort_commands
from gpustack.cli.wrong_usage import READER_ENDED

app = ROOT
for module in iter_modules(commands.__path__):
    import_module(f"{commands.__name__}.{module.name}")
app.add_typer(gpu.app, name="gpu", rich_help_panel=OPERATE)
app.add_typer(node.app, name="node", rich_help_panel=OPERATE)
app.add_typer(capacity.app, name="capacity", rich_help_panel=OPERATE)
app.add_typer(cost.app, name="cost", rich_help_panel=OPERATE)
app.add_typer(profile.app, name="profile", rich_help_panel=DIAGNOSE)


has_lab = add_lab_commands(app, bundle.app, LAB)
bundle_heading = LAB if has_lab else BUNDLES
app.add_typer(
    bundle.app, name="bundle", rich_help_panel=bundle_heading, short_help="Verify and serve bundles for labs."
)
sort_commands()


def print_version(value: bool) -> None:
    if value:
        from gpustack.config.program_versions import list_lines, read_program_versions

        sys.stdout.write("".join(f"{line}\n" for line in list_lines(read_program_versions())))
        raise typer.Exit


@app.callback()
def root(
    show_version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    from gpustack.report.guard import guard_streams

    with report_errors():
        guard_streams()
        try:
            app()
        except SystemExit:
            flush_result()
            raise
        finally:
            # An error of the flush is still reported. A reader that closed the pipe needs no report.
            with suppress(BrokenPipeError):
                sys.stdout.flush()


def flush_result() -> None:
    """Write what is left of the result. A reader that ended before has not seen it, whatever its status was."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise SystemExit(READER_ENDED) from None


if __name__ == "__main__":
    main()
