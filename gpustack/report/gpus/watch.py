"""A table that is drawn anew in place, until Ctrl-C."""

import time
from collections.abc import Callable

from rich.live import Live

from gpustack.gpus.activity import Activity
from gpustack.report.gpus.activity import drawing
from gpustack.report.terminal import Terminal


def watch(ask: Callable[[], Activity], every: float, *, pods: bool) -> None:
    """Asks at once, and then every so many seconds. Ctrl-C ends it, with the last table left on the screen."""
    console = Terminal()
    try:
        with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
            while True:
                live.update(drawing(console, ask(), pods=pods), refresh=True)
                time.sleep(every)
    except KeyboardInterrupt:
        return
