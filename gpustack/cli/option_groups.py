"""Options in groups: a parameter that is a dataclass stands for one option per field, which several commands share.

Typer has no groups of options, and reads the options of a command from its signature.
"""

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpustack.cli import options, session
from gpustack.command import Command, Prose
from gpustack.errors import UsageError
from gpustack.events import Reporter
from gpustack.exit_status import ExitStatus
from gpustack.report.rendering import Rendering, build_choice

if TYPE_CHECKING:
    from gpustack.ask.probe import Probe
    from gpustack.ask.snapshot import Snapshot
    from gpustack.cli.gpu.prometheus import Source
    from gpustack.config.inventory import Inventory
    from gpustack.metrics.prometheus import Prometheus
    from gpustack.rollout.lease import Places
    from gpustack.rollout.plan import Plan
    from gpustack.rollout.run import Run

FORMAT = "the formats of the result of a command"


FormatOption = Annotated[str, FORMAT]


class Display:
    """Show results in the format of `-o`. `context` is what renderers take beside the result."""

    output: str
    context: dict[str, Any]

    def show(self, result: object, **context: Any) -> None:
        from gpustack.report.render import show_result

        show_result(result, self.output, **self.context, **context)

    def show_preview(self, preview: object, **context: Any) -> None:
        """Show what comes before the result to people. Programs read one document."""
        if self.output == "human":
            self.show(preview, **context)


@dataclass
class Output(Display):
    """Hold the option of commands that read no hosts."""

    output: FormatOption = "human"
    context: dict[str, Any] = field(default_factory=dict, init=False)


@dataclass
class Session(Display):
    """Hold the options of commands that read hosts. The inventory and the folder of a run reach the renderers."""

    inventory: options.InventoryOption = None
    output: FormatOption = "human"
    become: options.BecomeOption = False
    quiet: options.QuietOption = False
    context: dict[str, Any] = field(default_factory=dict, init=False)

    @cached_property
    def report(self) -> Reporter:
        return session.build_reporter(quiet=self.quiet)

    def open_inventory(self, *, asks_hosts: bool = True) -> "Inventory":
        hosts = session.open_inventory(
            self.inventory, ask_password=self.become, quiet=self.quiet, asks_hosts=asks_hosts
        )
        self.context["inventory"] = hosts
        return hosts

    def gather(
        self, hosts: "Inventory", probes: "Sequence[Probe[Any]] | None" = None, names: Sequence[str] = ()
    ) -> "Snapshot":
        return session.gather_all(hosts, self.report, probes, names)

    @contextmanager
    def open_run(self, hosts: "Inventory", verb: str, places: "Places") -> "Iterator[Run]":
        """Open a run that holds locks. Raise the errors of open_locked_run."""
        from gpustack.rollout.run import open_locked_run

        with open_locked_run(hosts, verb, places, self.report) as run:
            self.context["evidence"] = str(run.folder)
            yield run

    @contextmanager
    def open_prometheus(self, source: "Source", *, lasting: bool = False) -> "Iterator[Prometheus]":
        """Open the Prometheus of a source, as open_source does. Raise its errors, and those of an inventory that cannot
        be read."""
        from gpustack.cli.gpu.prometheus import open_source

        self.context["inventory"] = self.open_inventory() if source.uses_inventory else None
        with open_source(source, self.context["inventory"], self.report, lasting=lasting) as prometheus:
            yield prometheus

    def make_plan(
        self, recording: Path | None, limit: Sequence[str] | None, step_names: Sequence[str] | None
    ) -> "Plan":
        """Plan from the hosts, or from a recording. Raise UsageError for an unknown step or host."""
        from gpustack.rollout.plan import plan

        steps = session.choose_steps(step_names)
        if recording:
            snapshot = self.load_recording(recording)
            hosts = session.choose_hosts(snapshot.inventory, limit)
        else:
            inventory = self.open_inventory()
            hosts = session.choose_hosts(inventory, limit)
            snapshot = self.gather(inventory)
        return plan(snapshot, steps, hosts)

    def load_recording(self, path: Path) -> "Snapshot":
        """Read a recording. Raise UsageError for a file that is no recording, and where -i is given as well."""
        from gpustack.ask.recording import read_recording

        if self.inventory is not None:
            message, reason = "--from and -i are mutually exclusive.", "A recording has its own inventory."
            raise UsageError("inventory-of-recording", message, reason, Prose("--from FILE"))
        snapshot = read_recording(path)
        if not self.quiet:
            from gpustack.report.explain.width import wrap_for_terminal

            time = f"{snapshot.started_at:%Y-%m-%d %H:%M UTC}"
            text = f"recording {path} of {time}: {snapshot.inventory.recorded_summary}"
            sys.stderr.write(f"{wrap_for_terminal(text)}\n")
        return snapshot


@dataclass
class ChangeSession(Session):
    """Hold the options of commands that change hosts. `yes` answers their questions."""

    this_host: options.ThisHostOption = False
    yes: bool = field(default=False, init=False)

    def open_for_change(self) -> "Inventory":
        """Load the inventory, and remove the private folders of a killed gpustack. Without an inventory, this host has
        to be confirmed. Raise UsageError where it cannot be asked, and RolloutError where its name was not typed."""
        hosts = self.open_inventory()
        if self.this_host and hosts.source is not None:
            message = "An inventory is named as well; nothing was changed."
            reason = f"--this-host is for a host without an inventory, and there is {hosts.source}."
            raise UsageError("this-host", message, reason, Command("gpustack", "plan"))
        if hosts.source is None and not self.this_host:
            session.confirm_this_host(hosts.hosts[0].name, yes=self.yes)
        from gpustack.rollout.private_folder import remove_stale_folders

        remove_stale_folders()
        return hosts


@dataclass
class LockSession(ChangeSession):
    """Hold the options of commands that show what they will change, ask, and take locks."""

    yes: options.YesOption = False
    without_lock: options.WithoutLockOption = None


def expand_groups(function: Callable[..., Any], rendering: Rendering | None = None) -> Callable[..., Any]:
    """Return the command with the fields in place of each group, whose `-o` takes the formats of `rendering`. A result
    that the function returns is shown, and ends the command with its exit status. The option `verbose` of the command
    reaches the renderers. A command without groups is returned as is."""
    signature = inspect.signature(function)
    groups: dict[str, Any] = {
        parameter.name: parameter.annotation
        for parameter in signature.parameters.values()
        if is_dataclass(parameter.annotation)
    }
    if not groups:
        return function
    parameters = [
        option for parameter in signature.parameters.values() for option in expand_parameter(parameter, rendering)
    ]

    @wraps(function)
    def run_command(**arguments: Any) -> None:
        context = {"verbose": arguments["verbose"]} if "verbose" in arguments else {}
        shown_by: Display | None = None
        for name, group in groups.items():
            names = {option.name for option in fields(group) if option.init}
            arguments[name] = group(**{option: arguments.pop(option) for option in names & arguments.keys()})
            if isinstance(arguments[name], Display):
                shown_by = arguments[name]
                shown_by.context.update(context)
        result = function(**arguments)
        if shown_by and result is not None:
            shown_by.show(result)
            raise typer.Exit(getattr(result, "exit_status", ExitStatus.OK))

    run_command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    run_command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run_command


def expand_parameter(parameter: inspect.Parameter, rendering: Rendering | None) -> Iterator[inspect.Parameter]:
    if is_dataclass(parameter.annotation):
        for option in fields(parameter.annotation):
            if option.init:
                default = inspect.Parameter.empty if option.default is MISSING else option.default
                inner = parameter.replace(name=option.name, default=default, annotation=option.type)
                yield from expand_parameter(inner, rendering)
    elif FORMAT not in getattr(parameter.annotation, "__metadata__", ()):
        yield parameter
    elif rendering:
        choice = build_choice(rendering.formats)
        output_option = typer.Option("-o", "--output", help=rendering.format_help)
        yield parameter.replace(annotation=Annotated[choice, output_option], default=choice(parameter.default))
