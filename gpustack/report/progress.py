"""Progress on stderr: plain lines for events, and on a terminal one live line with the elapsed time.

A process has one terminal, so there is one live line. A result or an error is written after `clear_live_lines`.
"""

import atexit
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import CLUSTER
from gpustack.ask.redact.printable import clean_text
from gpustack.ask.redact.redact import redact
from gpustack.events import Event, Reporter
from gpustack.report.format import format_location
from gpustack.times import format_duration

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

ELLIPSIS = "..."
REPEAT_INTERVAL = 15.0
"""A plain log repeats after so many seconds what is being waited for."""
WAIT_LIMIT = 240
"""Characters of what is waited for, which is printed again and again."""
DURATION = re.compile(r"(?<![\d.])[\d.]{1,9} (?:ms|s|min|h|d)\b")
"""A time that counts up or down makes no other line of a wait."""

live_lines: list["LiveLine"] = []


def build_progress_reporter(stream: TextIO, secrets: Sequence[str] = ()) -> Reporter:
    """Build a reporter that several threads may call. Quiet commands take `gpustack.events.ignore_event` instead. No
    line shows a value of `secrets`, to which values may be added later."""
    lines = Lines(stream, LiveLine(stream) if stream.isatty() else None, secrets)
    return lines.report_event


def clear_live_lines() -> None:
    """Clear the live line until another event is reported."""
    for line in live_lines:
        line.stop()


@dataclass
class LiveLine:
    """Show an activity and its duration on one line, which is redrawn twice a second. `start_time` is in seconds of
    the monotonic clock."""

    stream: TextIO
    activity: str = ""
    start_time: float = 0.0
    display: "Live | None" = None

    def update_text(self, activity: str, start_time: float) -> None:
        self.activity, self.start_time = activity, start_time
        if self.display is None:
            from rich.live import Live

            from gpustack.report.terminal import Terminal

            console = Terminal(self.stream)
            self.display = Live(
                get_renderable=self.render_text,
                console=console,
                refresh_per_second=2,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self.display.start()
            live_lines.append(self)
            atexit.register(self.stop)

    def render_text(self) -> "Text":
        from rich.text import Text

        duration = f"  {format_duration(time.monotonic() - self.start_time)}"
        width = self.display.console.width if self.display else 80
        room = max(width - len(duration) - 1, 1)
        return Text(cut_words(self.activity, room) + duration, style="dim")

    def stop(self) -> None:
        if self.display is not None:
            self.display.stop()
            self.display = None
            live_lines.remove(self)
            atexit.unregister(self.stop)


@dataclass
class Lines:
    """Turn events into lines. `start_times` has the steps, or parts of a bundle, that are being worked on. While a
    step runs, its probes are not shown, but what it waits for is."""

    stream: TextIO
    line: LiveLine | None = None
    secrets: Sequence[str] = ()
    start_times: dict[str, float] = field(default_factory=dict)
    start_time: float = 0.0
    change_count: int = 0
    wait_times: dict[str, float] = field(default_factory=dict)
    answered_hosts: set[str] = field(default_factory=set)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def report_event(self, event: Event) -> None:
        with self.guard:
            getattr(self, f"report_{event.kind}")(event)

    def report_ask(self, event: Event) -> None:
        if not self.start_times:
            self.start_time = time.monotonic()
            self.answered_hosts.clear()
            self.show_activity(f"running {event.message}")
            if self.line is None:
                self.print_line(f"running {event.message}")

    def report_asked(self, event: Event) -> None:
        if not self.start_times:
            self.answered_hosts.add(event.subject)
            self.show_activity(f"running probes; answered: {', '.join(sorted(self.answered_hosts))}")

    def report_step(self, event: Event) -> None:
        self.start_time = self.start_times[event.subject] = time.monotonic()
        self.change_count = 0
        self.wait_times.clear()
        self.print_line(join_parts(event.subject, event.message))
        self.show_activity(event.subject or event.message)

    def report_task(self, event: Event) -> None:
        self.show_activity(join_parts(event.subject, event.message))

    def report_changed(self, event: Event) -> None:
        """Print that a part of a bundle was built; count a task that changed a host."""
        if self.start_times.pop(event.subject, None) is not None:
            self.print_line(format_ending(event))
        else:
            self.change_count += 1

    def report_failed(self, event: Event) -> None:
        """Print the first line of a failure; the report has the whole of it."""
        # It is redacted before it is cut, since half a secret is not recognized.
        first, _, _ = redact(event.message.strip(), self.secrets).partition("\n")
        # A host that is waited for fails in the same way each time that it is asked, and the line of the wait says so.
        if first and any(first in text for text in self.wait_times):
            return
        self.print_line(join_parts(event.subject, shorten_message(first)))

    def report_waiting(self, event: Event) -> None:
        # It is redacted before it is cut, since half a secret is not recognized.
        message = shorten_message(redact(event.message, self.secrets), WAIT_LIMIT)
        text, current_time = join_parts(event.subject, "waiting", message), time.monotonic()
        state = DURATION.sub("", join_parts(event.subject, "waiting", event.message))
        if current_time - self.wait_times.get(state, float("-inf")) > REPEAT_INTERVAL:
            self.wait_times[state] = current_time
            if self.line is None:
                self.print_line(text)
        self.show_activity(text)

    def report_done(self, event: Event) -> None:
        start_time = self.start_times.pop(event.subject, None)
        if start_time is None:
            self.print_line(format_ending(event))
        else:
            changes = f", {self.change_count} changed" if self.change_count else ""
            ending = f"{event.message} after" if event.message else "done in"
            self.print_line(f"{event.subject}: {ending} {format_duration(time.monotonic() - start_time)}{changes}")
        clear_live_lines()

    def report_note(self, event: Event) -> None:
        self.print_line(join_parts(event.subject, event.message))

    def show_activity(self, text: str) -> None:
        if self.line is not None:
            self.line.update_text(
                redact(clean_text(text), self.secrets).replace("\n", " "), self.start_time or time.monotonic()
            )

    def print_line(self, text: str) -> None:
        """Print a line above the live one. Further lines are indented, so that no line from a host looks like one of
        gpustack."""
        output = redact(clean_text(text), self.secrets).strip().replace("\n", "\n  ")
        if self.line is not None and self.line.display is not None:
            from rich.text import Text

            self.line.display.console.print(Text(output), soft_wrap=True)
        else:
            self.stream.write(f"{output}\n")
            self.stream.flush()


def cut_words(text: str, width: int) -> str:
    """Cut a text behind a word, or within the first one where that is longer."""
    if len(text) <= width:
        return text
    room = max(width - len(ELLIPSIS), 0)
    end = text.rfind(" ", 0, room + 1)
    return f"{text[: end if end > 0 else room].rstrip(' :,')}{ELLIPSIS}"


def join_parts(*parts: str) -> str:
    """Join the parts of a line with colons, with the name of the cluster for people. Some events have no subject."""
    line = ": ".join(part for part in parts if part)
    return line.replace(f"{CLUSTER}: ", f"{format_location(CLUSTER)}: ")


def format_ending(event: Event) -> str:
    duration_suffix = f" ({format_duration(event.seconds)})" if event.seconds else ""
    if event.message:
        return f"{event.subject}: {event.message}{duration_suffix}"
    return f"{event.subject}: done{duration_suffix}"
