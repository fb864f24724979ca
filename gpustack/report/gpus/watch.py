"""A table that is redrawn in place until Ctrl-C."""

import time
from collections.abc import Callable

from rich.live import Live

from gpustack.gpus.activity import Activity
from gpustack.report.gpus.activity import draw_activity
from gpustack.report.terminal import Terminal


def watch_activity(ask: Callable[[], Activity], interval: float, *, pods: bool) -> None:
    """Draw the activity now and every `interval` seconds. Ctrl-C ends it and leaves the last table on the screen."""
    console = Terminal()
    try:
        with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
            while True:
                live.update(draw_activity(console, ask(), pods=pods), refresh=True)
                time.sleep(interval)
    except KeyboardInterrupt:
        return
