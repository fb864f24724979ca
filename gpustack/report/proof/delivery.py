"""What became of a test alert, for people and as one JSON document. A field is only ever added within a version."""

from typing import Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.proof.delivery import Delivery, Outcome
from gpustack.report.codes import delivery_code
from gpustack.report.findings import say
from gpustack.report.format import duration
from gpustack.report.human import following
from gpustack.report.json import document, ending
from gpustack.report.schema import Document, Next, Seconds, Stopped, TextOrNull, take
from gpustack.report.terminal import Terminal
from gpustack.rollout.next import command

FAILED = "alerts-not-delivered"
WORDS: dict[Outcome, tuple[str, str]] = {
    "delivered": ("delivered", "green"),
    "failed": ("not delivered", "red"),
    "unknown": ("unknown", "yellow"),
}


class AlertTestDocument(Document):
    """Result of `gpustack alerts test`. `receivers` and `integrations` (webhook, slack, …) are those that Alertmanager
    chose. `reason` is null when it was delivered; `left` says why the test alert was not resolved, else null."""

    kind: Literal["gpustack/alert-test/v1"] = Field("gpustack/alert-test/v1", alias="schema")
    outcome: Outcome
    reason: TextOrNull = take("why")
    receivers: list[str]
    integrations: list[str]
    seconds: Seconds
    left: TextOrNull
    stopped: Stopped
    next: Next


def delivery(console: Terminal, done: Delivery, inventory: Inventory) -> None:
    console.hide(inventory)
    word, style = WORDS[done.outcome]
    by = f" by {', '.join(done.integrations)}" if done.integrations else ""
    to = f" to {', '.join(done.receivers)}" if done.receivers else ""
    why = f": {done.why}" if done.why else ""
    say(console, f"{word}{to + by} in {duration(done.seconds)}{why}", style)
    if done.left:
        say(console, f"the test alert was not resolved: {done.left}", "yellow")
    following(console, after(done, inventory))


def after(done: Delivery, inventory: Inventory) -> str:
    if done.stopped:
        return command("alerts test", inventory)
    if done.outcome == "failed":
        return f"gpustack explain {FAILED}"
    return "" if done.outcome == "delivered" else command("verify", inventory)


def text(done: Delivery, inventory: Inventory) -> str:
    values = {**vars(done), "exit": ending(delivery_code(done)), "next": after(done, inventory)}
    return document(AlertTestDocument, values, inventory)
