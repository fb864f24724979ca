"""Recordings of the metrics of GPUs, which end after a time or by Ctrl-C."""

import time
from collections.abc import Iterable

from gpustack.errors import UnreachableError
from gpustack.events import Event, Reporter
from gpustack.metrics.exposition import fetch_families
from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.web import Web
from gpustack.profile.file import Profile, build_profile
from gpustack.profile.limits import DEFAULT
from gpustack.profile.read import query_job, query_windows
from gpustack.profile.scrape import Scrapes, read_wall_clock
from gpustack.profile.selection import Selection
from gpustack.profile.window import GpuWindow
from gpustack.times import format_duration

LONG_SECONDS = 600.0
"""Seconds of a record that has enough samples at any usual interval."""
PROGRESS_SECONDS, PROGRESS_LINES = 15.0, 20  # Seconds between two lines of progress, and their greatest number.


def read_profile(
    prometheus: Prometheus, selection: Selection, subject: str, begin: float, end: float, label: str
) -> Profile:
    return build_profile(query_job(prometheus, selection, begin, end), subject, label, begin, end)


def read_last(prometheus: Prometheus, selection: Selection, subject: str, seconds: float) -> Profile:
    """Read the last seconds until now, by the clock of Prometheus."""
    end = prometheus.fetch_time()
    return read_profile(prometheus, selection, subject, end - seconds, end, "")


def record_prometheus(
    prometheus: Prometheus, selection: Selection, subject: str, seconds: float, label: str, report: Reporter
) -> Profile:
    begin = prometheus.fetch_time()
    if seconds < LONG_SECONDS:
        report_few_samples(query_windows(prometheus, selection, begin - LONG_SECONDS, begin), subject, seconds, report)
    try:
        wait_for_end(seconds, subject, report)
    except KeyboardInterrupt:
        report(Event("note", subject, "ended by Ctrl-C"))
    return read_profile(prometheus, selection, subject, begin, prometheus.fetch_time(), label)


def report_few_samples(windows: Iterable[GpuWindow], subject: str, seconds: float, report: Reporter) -> None:
    """Report at once that a record will have too few samples for a verdict, by the interval at which the GPUs were
    scraped before it. A pod that had no GPU then says nothing."""
    interval = max((window.interval for window in windows), default=0.0)
    needed_samples = DEFAULT.least_samples
    if seconds < needed_samples * interval:
        text = f"{format_duration(seconds)} give less than the {needed_samples:g} samples of a verdict"
        report(
            Event(
                "note",
                subject,
                f"{text}: one in {interval:.3g} s, so that {needed_samples:g} take {needed_samples * interval:.0f} s",
            )
        )


def wait_for_end(seconds: float, subject: str, report: Reporter) -> None:
    started_at = time.monotonic()
    while (remaining := seconds - (time.monotonic() - started_at)) > 0:
        report_remaining(subject, remaining, report)
        time.sleep(min(remaining, max(PROGRESS_SECONDS, seconds / PROGRESS_LINES)))


def report_remaining(subject: str, seconds: float, report: Reporter) -> None:
    text = f"is recorded for {format_duration(seconds)} more; Ctrl-C ends it and keeps what there is"
    report(Event("waiting", subject, text))


def record_exporter(
    web: Web, selection: Selection, subject: str, seconds: float, label: str, report: Reporter
) -> Profile:
    """Record by scraping an exporter. A failed scrape leaves a gap, and UnreachableError is raised where the first one
    fails."""
    scrapes, url = Scrapes(selection), web.access.url
    begin, started_at, next_report = read_wall_clock(), time.monotonic(), 0.0
    scrapes.add(fetch_families(web), started_at)
    try:
        while (seconds_passed := time.monotonic() - started_at) < seconds:
            if seconds_passed >= next_report:
                report_remaining(subject, seconds - seconds_passed, report)
                next_report = seconds_passed + max(PROGRESS_SECONDS, seconds / PROGRESS_LINES)
            time.sleep(min(scrapes.pause, seconds - seconds_passed))
            try:
                scrapes.add(fetch_families(web), time.monotonic())
            except UnreachableError as error:
                report(Event("note", url, error.reason or error.message))
    except KeyboardInterrupt:
        report(Event("note", subject, "ended by Ctrl-C"))
    return build_profile(scrapes.build_job(url), subject, label, begin, begin + scrapes.moments[-1] - started_at)
