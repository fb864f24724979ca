"""Help in plain text, with commands in groups and examples at the end.

Typer shows groups only with rich, which takes longer to load than the rest of `gpustack --help`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, takewhile
from math import isfinite
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from typer import BadParameter
from typer._click import Context, HelpFormatter
from typer._click.exceptions import MissingParameter, NoSuchOption
from typer._click.exceptions import UsageError as ClickError
from typer.core import TyperCommand, TyperGroup

from gpustack.cli.bad_value import describe_bad_value, describe_surplus, list_choices
from gpustack.cli.error_handler import invocation
from gpustack.cli.option_groups import expand_groups
from gpustack.cli.wrong_command import OTHER_NAMES, move_options, suggest_command
from gpustack.cli.wrong_usage import convert_errors
from gpustack.errors import GpustackError, UsageError
from gpustack.report.rendering import Rendering

if TYPE_CHECKING:
    Function = TypeVar("Function", bound=Callable[..., Any])

SHORT = 60
"""Characters of a command's short help, so that no line is cut at 80 columns."""
OUTPUT = re.compile(r"(?:--output|-[A-Za-z]*?o)(?:=?(.+))?")
OTHER_SOURCES = ("recording", "address", "exporter")
"""The parameters that name what a command reads in place of hosts."""
WIDEST = 120
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": WIDEST}
MARGIN, NARROWEST, NARROW, NARROW_NAME = 2, 22, 60, 4
"""These widths are in columns: the margin at the right, the least width of help, the width below which names have lines
of their own, and the longest name that has not."""


TYPES = (
    (re.compile(r"^([A-Z|]+) <(?:str|list\[str\])>$"), r"\1"),
    (re.compile(r"<list\[(.+)\]>$"), r"<\1>"),
    (re.compile(r"<(?:int range|int)>$"), "<number>"),
    (re.compile(r"<str>$"), "<text>"),
)
"""Names of Python's types in the help of options and arguments, and what stands for them."""


class PlainFormatter(HelpFormatter):
    """Write help without the names of Python's types, also on narrow terminals, where an option or a command has a line
    of its own above its text."""

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        columns = min(get_terminal_size().columns, max_width or WIDEST)
        super().__init__(indent_increment, width or max(columns - MARGIN, NARROWEST), max_width)
        self.is_narrow = self.width < NARROW

    def write_dl(self, rows: Sequence[tuple[str, str]], *args: Any, **options: Any) -> None:
        named_rows = [(name_type(name), text) for name, text in rows]
        if self.is_narrow:
            named_rows, options = [(name.rstrip(), text) for name, text in named_rows], {"col_max": NARROW_NAME}
        super().write_dl(named_rows, *args, **options)


def name_type(name: str) -> str:
    """Name an option or argument with its type in the words of users."""
    for pattern, replacement in TYPES:
        name = pattern.sub(replacement, name)
    return name


class PlainContext(Context):
    formatter_class = PlainFormatter


class Command(TyperCommand):
    context_class = PlainContext

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        texts = self.read_texts(ctx, args)
        describe_invocation(ctx, str(texts.get("output") or "human"), find_inventory(texts))
        try:
            remaining_arguments = super().parse_args(ctx, args)
        except MissingParameter as error:
            raise ClickError(list_choices(error.format_message()), error.ctx) from error
        except BadParameter as error:
            error.message = describe_bad_value(error)
            raise
        except NoSuchOption as error:
            suggest_option(error)
            raise
        except ClickError as error:
            lacks_inventory = self.takes_inventory and "inventory" not in texts
            error.message = describe_surplus(error.message, lacks_inventory=lacks_inventory)
            raise
        for parameter in self.params:
            name = parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar or parameter.name
            refuse_empty(name, texts.get(parameter.name or ""))
            refuse_infinite(name, ctx.params.get(parameter.name or ""))
        return remaining_arguments

    @property
    def takes_inventory(self) -> bool:
        return any(parameter.name == "inventory" for parameter in self.params)

    def read_texts(self, ctx: "Context", args: list[str]) -> dict[str, Any]:
        """Read the texts of options and arguments as they were typed, also where another one is wrong."""
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True
        # A resilient parser raises no error. The completion of words needs one as well.
        is_resilient, ctx.resilient_parsing = ctx.resilient_parsing, True
        values, _, _ = parser.parse_args(list(args))
        ctx.resilient_parsing = is_resilient
        return values

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        write_examples(formatter, self.epilog)


def find_inventory(texts: Mapping[str, Any]) -> str:
    """Find the inventory that hints name: that of `-i`, INVENTORY where the command reads a recording, an exporter or a
    named Prometheus, and else none, because the next command finds the same one."""
    return str(texts.get("inventory") or "") or ("INVENTORY" if any(map(texts.get, OTHER_SOURCES)) else "")


def describe_invocation(ctx: "Context", output: str, inventory: str = "") -> None:
    path = ctx.command_path.removeprefix(ctx.find_root().info_name or "")
    invocation.words, invocation.output, invocation.inventory = ("gpustack", *path.split()), output, inventory


def suggest_option(error: NoSuchOption) -> None:
    """Suggest one option. The parser names all that look alike, `--quiet` for `--limt` too."""
    if nearest := suggest_command(error.option_name, error.possibilities or (), {}):
        error.message, error.possibilities = f"{error.message}. Did you mean {nearest}?", None


def refuse_empty(name: str, value: object) -> None:
    """Raise UsageError for a text without a word, which would mean all, the default or the current folder. Words behind
    the first one of an argument may be empty, as they may belong to a program."""
    texts = value[:1] if isinstance(value, tuple) else value if isinstance(value, list) else [value]
    if any(isinstance(text, str) and not text.strip(", \t\n") for text in texts):
        reason = "Probably an unset variable in a script."
        raise UsageError("choice-empty", f"{name} is empty; nothing was read or changed.", reason)


def refuse_infinite(name: str, value: object) -> None:
    """Raise BadParameter for NaN and infinities, which no limit of an option excludes."""
    if isinstance(value, float) and not isfinite(value):
        raise BadParameter(f"{value}; allowed: finite numbers", param_hint=name)


class Group(TyperGroup):
    context_class = PlainContext

    def make_context(self, *args: Any, **options: Any) -> "Context":
        with convert_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: "Context") -> Any:
        with convert_errors():
            return super().invoke(ctx)

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        describe_invocation(ctx, find_format(args))
        words = [*args[1:], "--help"] if args[:1] == ["help"] else args
        try:
            return super().parse_args(ctx, list(words))
        except NoSuchOption as error:
            if line := move_options(self, words):
                error.message += f". Options of a command are behind it: {ctx.command_path} {line}"
            else:
                suggest_option(error)
            raise

    def resolve_command(self, ctx: "Context", args: list[str]) -> Any:
        if args[0] not in self.commands:
            name = suggest_command(args[0], list(self.commands), {} if ctx.parent else OTHER_NAMES)
            suggestion = f" Did you mean {ctx.command_path} {name}?" if name else ""
            ctx.fail(f"No such command {args[0]!r}.{suggestion}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        visible_commands = {name: command for name, command in self.commands.items() if not command.hidden}
        width = max(map(len, visible_commands))
        for name, command in visible_commands.items():
            heading = getattr(command, "rich_help_panel", None) or "Commands"
            groups.setdefault(heading, []).append((name.ljust(width), command.get_short_help_str(SHORT)))
        for heading, rows in groups.items():
            with formatter.section(heading):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        write_examples(formatter, self.epilog)


def find_format(args: Sequence[str]) -> str:
    """Find the format of `-o` behind a word that is no command, whose options are not known."""
    option_words = list(takewhile(lambda word: word != "--", args))
    for word, following in pairwise([*option_words, ""]):
        if match := OUTPUT.fullmatch(word):
            return match[1] or following
    return "human"


def write_examples(formatter: "HelpFormatter", examples: str | None) -> None:
    """Write the examples one per line. They are never wrapped, because users copy them. A comment that does not fit
    behind its command stands above it."""
    if examples:
        with formatter.section("Examples"):
            for line in examples.splitlines():
                command, mark, comment = line.partition(" # ")
                if mark and len(line) > formatter.width:
                    comment_lines = fill(comment, formatter.width, initial_indent="  # ", subsequent_indent="  # ")
                    formatter.write(f"{comment_lines}\n  {command.rstrip()}\n")
                else:
                    formatter.write(f"  {line}\n")


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
