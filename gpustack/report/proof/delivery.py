"""Results of test alerts, for people and as one JSON document. Within a version fields are only ever added."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.proof.delivery import Deliveries, Delivery, Outcome
from gpustack.report.document import render_result
from gpustack.report.findings import print_text
from gpustack.report.human import print_next_command
from gpustack.report.renderings import DELIVERIES
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, take
from gpustack.report.terminal import Terminal
from gpustack.times import format_duration

OUTCOME_TEXTS: dict[Outcome, tuple[str, str]] = {
    "delivered": ("delivered", "green"),
    "failed": ("not delivered", "red"),
    "unknown": ("unknown", "yellow"),
}


class ArrivalShape(Shape):
    """Describe the arrival at one receiver by one integration. `reason` is null when the alert was delivered."""

    receiver: str
    integration: str
    outcome: Outcome
    reason: TextOrNull
    text: TextOrNull = take("message", "text")
    text_unknown_reason: TextOrNull = take("message", "reason")


class DeliveryShape(Shape):
    """Describe the test alert of one severity. `reason` concerns all receivers, else it is null."""

    severity: str
    outcome: Outcome
    reason: TextOrNull
    receivers: list[ArrivalShape] = take("arrivals")
    seconds: Seconds
    unresolved_reason: TextOrNull


class AlertTestDocument(Document):
    """Describe the result of `gpustack alerts test`."""

    kind: Literal["gpustack/alert-test/v1"] = Field("gpustack/alert-test/v1", alias="schema")
    outcome: Outcome
    severities: list[DeliveryShape] = take("deliveries")
    unrouted_severities: list[str]
    stop_reason: TextOrNull
    next: TextOrNull


def render_human(console: Terminal, deliveries: Deliveries, inventory: Inventory) -> None:
    console.hide_secrets(inventory)
    for delivery in deliveries.deliveries:
        for text, style in list_lines(delivery):
            print_text(console, text, style)
    for severity in deliveries.unrouted_severities:
        print_text(console, f"{severity}: to nobody, by the spec")
    print_next_command(console, deliveries.suggest_command(inventory))


def list_lines(delivery: Delivery) -> Iterator[tuple[str, str]]:
    """List a line for each receiver with the text that it gets, or one where no receiver is known, each with its
    style."""
    for arrival in delivery.arrivals:
        word, style = OUTCOME_TEXTS[arrival.outcome]
        detail = f": {arrival.reason}" if arrival.reason else f" in {format_duration(delivery.seconds)}"
        yield f"{delivery.severity}: {word} to {arrival.receiver} by {arrival.integration}{detail}", style
        yield from ((f"    {line}".rstrip(), "") for line in arrival.message.text.splitlines())
        if arrival.message.reason:
            yield f"    no text: {arrival.message.reason}", ""
    if not delivery.arrivals:
        word, style = OUTCOME_TEXTS[delivery.outcome]
        yield f"{delivery.severity}: {word} in {format_duration(delivery.seconds)}: {delivery.reason}", style
    if delivery.unresolved_reason:
        yield f"{delivery.severity}: the test alert was not resolved: {delivery.unresolved_reason}", "yellow"


def render_json(deliveries: Deliveries, inventory: Inventory) -> str:
    return render_result(
        DELIVERIES, AlertTestDocument, deliveries, inventory, next=deliveries.suggest_command(inventory)
    )
