"""Waits while GPUs are measured, and takes what there is when the time is over or Ctrl-C ends it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from gpustack.cli import session
from gpustack.cli.gpu.prometheus import Source, open_prometheus
from gpustack.errors import UnreachableError
from gpustack.events import Event, Reporter

if TYPE_CHECKING:
    from gpustack.metrics.prometheus import Prometheus
    from gpustack.profile.file import Profile
    from gpustack.profile.selection import Selection

LEAST, PARTS = 15.0, 20  # seconds between two lines of progress, and how many there are at most


def read(prometheus: "Prometheus", which: "Selection", what: str, begin: float, end: float, label: str) -> "Profile":
    from gpustack.profile.file import make_profile
    from gpustack.profile.read import read_job

    return make_profile(read_job(prometheus, which, begin, end), what, label, begin, end)


def read_last(prometheus: "Prometheus", which: "Selection", what: str, seconds: float) -> "Profile":
    """Until now, by the clock of Prometheus."""
    now = prometheus.now()
    return read(prometheus, which, what, now - seconds, now, "")


def record_prometheus(
    source: Source,
    inventory: Path | None,
    which: "Selection",
    what: str,
    seconds: float,
    label: str,
    *,
    become: bool,
    quiet: bool,
) -> "Profile":
    report = session.progress(quiet=quiet)
    with open_prometheus(source, inventory, become=become, quiet=quiet) as (prometheus, _):
        begin = prometheus.now()
        try:
            wait(seconds, what, report)
        except KeyboardInterrupt:
            report(Event("note", what, "ended by Ctrl-C"))
        return read(prometheus, which, what, begin, prometheus.now(), label)


def wait(seconds: float, what: str, report: Reporter) -> None:
    begun = time.monotonic()
    while (left := seconds - (time.monotonic() - begun)) > 0:
        say_left(what, left, report)
        time.sleep(min(left, max(LEAST, seconds / PARTS)))


def say_left(what: str, left: float, report: Reporter) -> None:
    from gpustack.report.format import duration

    report(Event("waiting", what, f"is recorded for {duration(left)} more; Ctrl-C ends it and keeps what there is"))


def record_exporter(
    url: str, source: Source, which: "Selection", what: str, seconds: float, label: str, *, quiet: bool
) -> "Profile":
    """Goes on when the exporter does not answer for a while: that is a gap. Raises UnreachableError where it never
    answered."""
    from gpustack.metrics.exposition import fetch_families
    from gpustack.metrics.web import Web
    from gpustack.profile.file import make_profile
    from gpustack.profile.scrape import Scrapes, time_of_day

    report, scrapes = session.progress(quiet=quiet), Scrapes(which)
    web = Web(source.access())
    begin, begun, shown = time_of_day(), time.monotonic(), 0.0
    scrapes.add(fetch_families(web), begun)
    try:
        while (passed := time.monotonic() - begun) < seconds:
            if passed >= shown:
                say_left(what, seconds - passed, report)
                shown = passed + max(LEAST, seconds / PARTS)
            time.sleep(min(scrapes.pause, seconds - passed))
            try:
                scrapes.add(fetch_families(web), time.monotonic())
            except UnreachableError as error:
                report(Event("note", url, error.why or error.message))
    except KeyboardInterrupt:
        report(Event("note", what, "ended by Ctrl-C"))
    return make_profile(scrapes.job(url), what, label, begin, begin + scrapes.moments[-1] - begun)
