"""A parameter of a dataclass is an option for each of its fields, and a result declares the values of `-o`."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from gpustack.cli.help import build_group, declare_command
from gpustack.cli.option_groups import Output, Session, expand_groups
from gpustack.exit_status import ExitStatus
from gpustack.report import render
from gpustack.report.rendering import Rendering


@dataclass(frozen=True)
class Source:
    address: Annotated[str, typer.Option("--address")] = "here"
    tries: Annotated[int, typer.Option("--tries", min=1)] = 3


def test_fields_are_options_in_their_place_and_come_as_one_value() -> None:
    app, parameters = build_group("A test."), list[tuple[str, Source, bool]]()

    @declare_command(app, "ask")
    def ask(
        *, name: Annotated[str, typer.Argument()], source: Source, quiet: Annotated[bool, typer.Option()] = False
    ) -> None:
        parameters.append((name, source, quiet))

    @declare_command(app, "other")
    def check() -> None:
        pass

    run = CliRunner()
    assert run.invoke(app, ["ask", "gpu1", "--tries", "7", "--quiet"]).exit_code == 0
    assert run.invoke(app, ["ask", "gpu2"]).exit_code == 0
    assert parameters == [("gpu1", Source("here", 7), True), ("gpu2", Source(), False)]
    assert run.invoke(app, ["ask", "gpu1", "--tries", "0"]).exit_code == 2
    help_text = run.invoke(app, ["ask", "--help"]).output
    assert help_text.index("--address") < help_text.index("--tries") < help_text.index("--quiet")


def test_the_formats_of_a_result_are_the_values_of_its_option() -> None:
    app, outputs = build_group("A test."), list[str]()
    result = Rendering("room:Result", human="a:b", csv="a:c", html="a:d", page="a page")

    @declare_command(app, "list", result=result)
    def show(output: Output) -> None:
        outputs.append(f"{output.output}")

    @declare_command(app, "other")
    def run_without_result(session: Session) -> None:
        pass

    run = CliRunner()
    assert run.invoke(app, ["other", "-o", "human"]).exit_code == 2, "it has no result"
    assert [run.invoke(app, ["show", *words]).exit_code for words in ([], ["-o", "csv"], ["-o", "json"])] == [0, 0, 2]
    assert outputs == ["human", "csv"]
    help_text = " ".join(run.invoke(app, ["show", "--help"]).output.split())
    assert "<human|csv|html> Format of the result on stdout; `html` is a page." in help_text


def test_a_result_is_shown_and_ends_the_command_with_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    shown_options = list[tuple[object, str, dict[str, object]]]()
    monkeypatch.setattr(
        render, "show_result", lambda result, output, **context: shown_options.append((result, output, context))
    )
    app, result = build_group("A test."), SimpleNamespace(exit_status=ExitStatus.DIFFERS)

    @declare_command(app, "list", result=Rendering("room:Result", human="a:b", csv="a:c"))
    def show(verbose: Annotated[bool, typer.Option("-v")] = False, *, output: Output) -> object:
        output.context["evidence"] = "a folder"
        output.show_preview("before")
        return result if verbose else None

    @declare_command(app, "other")
    def check() -> None:
        pass

    run = CliRunner()
    assert [run.invoke(app, ["show", *words]).exit_code for words in (["-v"], ["-v", "-o", "csv"], ["-o", "csv"])] == [
        1,
        1,
        0,
    ]
    context = {"verbose": True, "evidence": "a folder"}
    assert shown_options == [("before", "human", context), (result, "human", context), (result, "csv", context)]


def test_a_command_without_groups_stays_itself() -> None:
    def ask(quiet: bool = False) -> None:
        pass

    assert expand_groups(ask) is ask
