"""What is going on, to stderr: plain lines as things are done, and on a terminal one live line with the elapsed time.

There is one terminal, so there is one live line. Whoever writes a result or an error takes it away first: `rest`.
"""

import atexit
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from gpustack.ask.redact.printable import plain
from gpustack.ask.redact.redact import redact
from gpustack.events import Event, Reporter
from gpustack.report.format import duration

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

AGAIN = 15.0
"""Seconds after which a plain log says once more what is being waited for."""

live: list["LiveLine"] = []


def progress(stream: TextIO, secrets: Sequence[str] = ()) -> Reporter:
    """A reporter that threads may call. Quiet commands take `gpustack.events.silent` instead. `secrets` are values that
    no line shows; more may be added to them later on."""
    lines = Lines(stream, LiveLine(stream) if stream.isatty() else None, secrets)
    return lines.handle


def rest() -> None:
    """Takes the live line away, until something more is reported."""
    for line in live:
        line.stop()


@dataclass
class LiveLine:
    """Rewritten twice a second. `doing` is what is going on, `since` when it began."""

    stream: TextIO
    doing: str = ""
    since: float = 0.0
    shown: "Live | None" = None

    def say(self, doing: str, since: float) -> None:
        self.doing, self.since = doing, since
        if self.shown is None:
            from rich.live import Live

            from gpustack.report.terminal import Terminal

            console = Terminal(self.stream)
            self.shown = Live(
                get_renderable=self.text,
                console=console,
                refresh_per_second=2,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self.shown.start()
            live.append(self)
            atexit.register(self.stop)

    def text(self) -> "Text":
        from rich.text import Text

        passed = f"  {duration(time.monotonic() - self.since)}"
        width = self.shown.console.width if self.shown else 80
        return Text(self.doing[: max(width - len(passed) - 1, 1)] + passed, style="dim")

    def stop(self) -> None:
        if self.shown is not None:
            self.shown.stop()
            self.shown = None
            live.remove(self)
            atexit.unregister(self.stop)


@dataclass
class Lines:
    """Turns events into lines. `begun` are the steps (or parts of a bundle) under way. While a step is played, its
    probing again is not shown; what it waits for is."""

    stream: TextIO
    line: LiveLine | None = None
    secrets: Sequence[str] = ()
    begun: dict[str, float] = field(default_factory=dict)
    since: float = 0.0
    changed: int = 0
    waited: dict[str, float] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def handle(self, event: Event) -> None:
        with self.guard:
            getattr(self, f"on_{event.kind}")(event)

    def on_ask(self, event: Event) -> None:
        if not self.begun:
            self.since = time.monotonic()
            self.asked.clear()
            self.doing(f"asking {event.what}")
            if self.line is None:
                self.put(f"asking {event.what}")

    def on_asked(self, event: Event) -> None:
        if not self.begun:
            self.asked.add(event.where)
            self.doing(f"asking; answered: {', '.join(sorted(self.asked))}")

    def on_step(self, event: Event) -> None:
        self.since = self.begun[event.where] = time.monotonic()
        self.changed = 0
        self.waited.clear()
        self.put(f"{event.where}: {event.what}")
        self.doing(event.where)

    def on_task(self, event: Event) -> None:
        self.doing(f"{event.where}: {event.what}")

    def on_changed(self, event: Event) -> None:
        """A part of a bundle was made; or a task changed a host, which is only counted."""
        if self.begun.pop(event.where, None) is not None:
            self.put(ended(event))
        else:
            self.changed += 1

    def on_failed(self, event: Event) -> None:
        """Its first line; the whole of it is in the report."""
        # Before it is cut: half a secret has another value.
        first, _, _ = redact(event.what.strip(), self.secrets).partition("\n")
        self.put(f"{event.where}: {first[:300]}")

    def on_waiting(self, event: Event) -> None:
        text, now = f"{event.where}: waiting: {event.what}", time.monotonic()
        if self.line is None and now - self.waited.get(text, float("-inf")) > AGAIN:
            self.waited[text] = now
            self.put(text)
        self.doing(text)

    def on_done(self, event: Event) -> None:
        begun = self.begun.pop(event.where, None)
        if begun is None:
            self.put(ended(event))
        else:
            changes = f", {self.changed} changed" if self.changed else ""
            self.put(f"{event.where}: done in {duration(time.monotonic() - begun)}{changes}")
        rest()

    def on_note(self, event: Event) -> None:
        self.put(": ".join(part for part in (event.where, event.what) if part))

    def doing(self, text: str) -> None:
        if self.line is not None:
            self.line.say(redact(plain(text), self.secrets).replace("\n", " "), self.since or time.monotonic())

    def put(self, text: str) -> None:
        """A line that stays, above the live one. Further lines are set in: none of a host's passes for one of ours."""
        output = redact(plain(text), self.secrets).strip().replace("\n", "\n  ")
        if self.line is not None and self.line.shown is not None:
            from rich.text import Text

            self.line.shown.console.print(Text(output), soft_wrap=True)
        else:
            self.stream.write(f"{output}\n")
            self.stream.flush()


def ended(event: Event) -> str:
    took = f" ({duration(event.seconds)})" if event.seconds else ""
    return f"{event.where}: {event.what}{took}" if event.what else f"{event.where}: done{took}"
