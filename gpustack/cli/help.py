"""Help in plain text, with commands in groups and examples at the end.

Typer shows groups only with rich, which takes longer to load than the rest of `gpustack --help`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

from gpustack.cli.bad_value import describe_bad_value
from gpustack.cli.error_handler import invocation
from gpustack.cli.option_groups import expand_groups
from gpustack.errors import GpustackError
from gpustack.report.rendering import Rendering

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

    Function = TypeVar("Function", bound=Callable[..., Any])

SHORT = 60
"""Characters of a command's short help, so that no line is cut at 80 columns."""
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


class Command(TyperCommand):
    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        path = ctx.command_path.removeprefix(ctx.find_root().info_name or "")
        invocation.words, invocation.output = ("gpustack", *path.split()), self.find_output(ctx, args)
        try:
            return super().parse_args(ctx, args)
        except BadParameter as error:
            error.message = describe_bad_value(error)
            raise

    def find_output(self, ctx: "Context", args: list[str]) -> str:
        """Find the value of -o, also where another argument is wrong."""
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True
        # A resilient parser raises no error. The completion of words needs one as well.
        is_resilient, ctx.resilient_parsing = ctx.resilient_parsing, True
        values, _, _ = parser.parse_args(list(args))
        ctx.resilient_parsing = is_resilient
        return str(values.get("output") or "human")

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        write_examples(formatter, self.epilog)


OTHER_NAMES = dict.fromkeys(("uninstall", "remove", "delete", "destroy"), "reset")
"""Words that people type for a command of another name. The nearest spelling of `uninstall` would be `install`."""


class Group(TyperGroup):
    def resolve_command(self, ctx: "Context", args: list[str]) -> Any:
        name = OTHER_NAMES.get(args[0], "")
        if name in self.commands and args[0] not in self.commands:
            ctx.fail(f"No such command {args[0]!r}. It is {' '.join((ctx.command_path, name))}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        listed = {name: command for name, command in self.commands.items() if not command.hidden}
        width = max(map(len, listed))
        for name, command in listed.items():
            heading = getattr(command, "rich_help_panel", None) or "Commands"
            groups.setdefault(heading, []).append((name.ljust(width), command.get_short_help_str(SHORT)))
        for heading, rows in groups.items():
            with formatter.section(heading):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        write_examples(formatter, self.epilog)


def write_examples(formatter: "HelpFormatter", examples: str | None) -> None:
    """Write the examples one per line. They are never wrapped, because users copy them."""
    if examples:
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in examples.splitlines()))


def build_group(text: str, *examples: str, name: str | None = None) -> typer.Typer:
    """Build an app without commands, which `declare_command` adds. The app shows its help where no command is given."""
    return typer.Typer(
        name=name,
        cls=Group,
        help=text,
        epilog="\n".join(examples),
        no_args_is_help=True,
        context_settings=SETTINGS,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )


def declare_command(
    app: typer.Typer,
    *examples: str,
    result: Rendering | None = None,
    name: str | None = None,
    heading: str | None = None,
    short: str | None = None,
) -> "Callable[[Function], Function]":
    """Return a decorator that adds a command to an app. `result` declares what the command returns, which is shown in
    the format of its `-o`. `short` is its line in the list of commands, for commands whose docstring has a first
    sentence longer than SHORT."""
    register = app.command(name, cls=Command, epilog="\n".join(examples), rich_help_panel=heading, short_help=short)

    def add(function: "Function") -> "Function":
        register(expand_groups(function, result))
        return function

    return add


def declare_absent_command(app: typer.Typer, name: str, error: GpustackError) -> None:
    """Add a hidden command that accepts any words, and raises the error that says how to get the command."""
    accepts_any = {"ignore_unknown_options": True, "allow_extra_args": True}

    @app.command(name, cls=Command, hidden=True, add_help_option=False, context_settings=accepts_any)
    def refuse() -> None:
        raise error
