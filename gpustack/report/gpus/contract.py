"""The contract of an exporter, checked: as text, as a JSON document and as JUnit."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.events import format_count
from gpustack.gpus.contract import Contract
from gpustack.gpus.field_states import FieldState, State
from gpustack.gpus.verdict import Outcome
from gpustack.report.document import render_result
from gpustack.report.format import format_locations
from gpustack.report.hanging import Row, print_rows
from gpustack.report.junit import add_result, build_entry, build_suite, render_junit_document
from gpustack.report.renderings import CONTRACT
from gpustack.report.schema import Document, Shape, TextOrNull, take
from gpustack.report.terminal import Terminal
from gpustack.vocabulary.alert_needs import format_missing

INDENT = 26  # columns of an outcome and a check
LISTED_CHECKS = ("fields", "alerts")  # what they are about is listed below, with reasons


def render_human(console: Terminal, contract: Contract) -> None:
    counts = [format_count(contract.families, "metric"), format_count(contract.gpus, "GPU")]
    counts += [format_count(contract.instances, "MIG instance")] if contract.instances else []
    console.print(console.clean(f"{contract.url}: {', '.join(counts)}"))
    for verdict in contract.verdicts:
        print_rows(console, [Row(verdict.message, f"  {verdict.outcome:8} {verdict.check:14} ")])
        if verdict.names and verdict.check not in LISTED_CHECKS:
            print_rows(console, [Row(format_locations(verdict.names), " " * INDENT)])
    print_rows(console, (*list_missing_fields(contract), *list_silent_alerts(contract)))


def list_missing_fields(contract: Contract) -> Iterator[Row]:
    """List the missing fields that commands read, with everything that reads them, and count the others."""
    missing = [state for state in contract.fields if state.state in ("missing", "blank")]
    command_states = [state for state in missing if state.dependents.commands]
    if command_states:
        yield Row("missing, and what reads them:", "  ")
    for state in command_states:
        yield Row(f"{state.name}: {format_dependents(state)}", "    ")
    rest = [state for state in missing if not state.dependents.commands]
    if rest:
        yield Row(f"and {format_count(len(rest), 'field')} that only alerts and dashboards read: see -o json", "    ")


def list_silent_alerts(contract: Contract) -> Iterator[Row]:
    """List the alerts that cannot fire, together those that lack the same."""
    by_lack: dict[tuple[str, str, str], list[str]] = {}
    for alert in contract.silent_alerts:
        by_lack.setdefault((alert.model, format_missing(alert.missing), alert.outcome), []).append(alert.name)
    if by_lack:
        yield Row("alerts that cannot fire, and what is missing:", "  ")
    for (model, lack, outcome), names in by_lack.items():
        doubt = " (one of them is sent only after the first event)" if outcome == "unknown" else ""
        yield Row(f"{', '.join(names)} of {model}: {lack}{doubt}", "    ")


def format_dependents(state: FieldState) -> str:
    """Format what reads a field: all commands, the number of alerts, and all dashboards."""
    alerts, dashboards = state.dependents.alerts, state.dependents.dashboards
    return "; ".join(
        filter(
            None,
            (
                ", ".join(state.dependents.commands),
                format_count(len(alerts), "alert") if alerts else "",
                f"dashboards {', '.join(dashboards)}" if dashboards else "",
            ),
        )
    )


class VerdictRow(Shape):
    """Describe the verdict of a check."""

    check: str
    outcome: Outcome
    description: TextOrNull = take("message")
    names: list[str]


class FieldRow(Shape):
    """Describe a field of DCGM: whether the exporter sends it, and what reads it."""

    name: str
    state: State
    reading_commands: list[str] = take("dependents", "commands")
    reading_alerts: list[str] = take("dependents", "alerts")
    reading_dashboards: list[str] = take("dependents", "dashboards")
    problems: list[str]


class SilentAlertRow(Shape):
    """Describe an alert that cannot fire for a model of GPU; `unknown` where a field is sent only after an event."""

    name: str
    model: TextOrNull
    outcome: Literal["silent", "unknown"]
    missing_inputs: list[str]


class ContractDocument(Document):
    """Describe the result of `gpustack gpu check-exporter`."""

    kind: Literal["gpustack/exporter/v1"] = Field("gpustack/exporter/v1", alias="schema")
    url: str
    metric_count: int = take("families")
    gpu_count: int = take("gpus")
    mig_instance_count: int = take("instances")
    compliant: bool = take("kept")
    checks: list[VerdictRow] = take("verdicts")
    fields: list[FieldRow]
    silent_alerts: list[SilentAlertRow]


def render_json(contract: Contract, *, inventory: Inventory | None = None) -> str:
    return render_result(CONTRACT, ContractDocument, contract, inventory)


def render_junit(contract: Contract, *, inventory: Inventory | None = None) -> str:
    """Render the verdicts as JUnit. A wrong one is a failure, an unknown one is an error."""
    entries = []
    for verdict in contract.verdicts:
        entry = build_entry("exporter", verdict.check, 0.0)
        if verdict.outcome != "ok":
            tag = "failure" if verdict.outcome == "wrong" else "error"
            add_result(entry, tag, verdict.message, verdict.outcome, "\n".join(verdict.names))
        entries.append(entry)
    return render_junit_document("gpustack gpu check-exporter", [build_suite(contract.url, entries)], 0.0, inventory)
