"""What became of test alerts, for people and as one JSON document. A field is only ever added within a version."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from gpustack.command import NO_HINT, Command, Hint
from gpustack.config.inventory import Inventory
from gpustack.proof.delivery import Deliveries, Delivery, Outcome
from gpustack.report.codes import delivery_code
from gpustack.report.document import document, ending
from gpustack.report.findings import say
from gpustack.report.format import duration
from gpustack.report.human import following
from gpustack.report.schema import Document, Next, Seconds, Shape, Stopped, TextOrNull, take
from gpustack.report.terminal import Terminal
from gpustack.rollout.next import build_command

FAILED = "alerts-not-delivered"
WORDS: dict[Outcome, tuple[str, str]] = {
    "delivered": ("delivered", "green"),
    "failed": ("not delivered", "red"),
    "unknown": ("unknown", "yellow"),
}


class ArrivalShape(Shape):
    """At one receiver, by its integration (webhook, slack, …). `reason` is null when it was delivered."""

    receiver: str
    integration: str
    outcome: Outcome
    reason: TextOrNull = take("why")


class DeliveryShape(Shape):
    """Of the test alert of one severity. `receivers` are those that Alertmanager chose; `reason` concerns all of them,
    else null; `left` says why the test alert was not resolved, else null."""

    severity: str
    outcome: Outcome
    reason: TextOrNull = take("why")
    receivers: list[ArrivalShape] = take("arrivals")
    seconds: Seconds
    left: TextOrNull


class AlertTestDocument(Document):
    """Result of `gpustack alerts test`. `severities` are those that were tested, `nobody` those that the spec sends to
    nobody."""

    kind: Literal["gpustack/alert-test/v1"] = Field("gpustack/alert-test/v1", alias="schema")
    outcome: Outcome
    severities: list[DeliveryShape] = take("each")
    nobody: list[str]
    stopped: Stopped
    next: Next


def deliveries(console: Terminal, done: Deliveries, inventory: Inventory) -> None:
    console.hide(inventory)
    for one in done.each:
        for text, style in lines(one):
            say(console, text, style)
    for severity in done.nobody:
        say(console, f"{severity}: to nobody, by the spec")
    following(console, after(done, inventory))


def lines(one: Delivery) -> Iterator[tuple[str, str]]:
    """With their styles: a line for each receiver, or one where none is known."""
    for arrival in one.arrivals:
        word, style = WORDS[arrival.outcome]
        why = f": {arrival.why}" if arrival.why else f" in {duration(one.seconds)}"
        yield f"{one.severity}: {word} to {arrival.receiver} by {arrival.integration}{why}", style
    if not one.arrivals:
        word, style = WORDS[one.outcome]
        yield f"{one.severity}: {word} in {duration(one.seconds)}: {one.why}", style
    if one.left:
        yield f"{one.severity}: the test alert was not resolved: {one.left}", "yellow"


def after(done: Deliveries, inventory: Inventory) -> Hint:
    if done.stopped:
        return build_command(inventory, "alerts", "test")
    if done.outcome == "failed":
        return Command("gpustack", "explain", FAILED)
    return NO_HINT if done.outcome == "delivered" else build_command(inventory, "verify")


def text(done: Deliveries, inventory: Inventory) -> str:
    values = {
        "outcome": done.outcome,
        "each": done.each,
        "nobody": done.nobody,
        "stopped": done.stopped,
        "exit": ending(delivery_code(done)),
        "next": after(done, inventory),
    }
    return document(AlertTestDocument, values, inventory)
