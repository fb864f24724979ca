"""Windows of a workload from a Prometheus."""

from gpustack.command import Command
from gpustack.errors import UsageError
from gpustack.metrics.fields import spellings
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.profile.selection import Selection
from gpustack.profile.window import Job
from gpustack.profile.windows import NAMES, windows_of


def read_job(prometheus: Prometheus, which: Selection, begin: float, end: float) -> Job:
    """Raises UsageError where the selection had no GPU in that time."""
    names = "|".join(spellings(NAMES))
    seconds = max(1, round(end - begin))
    found: list[Series] = []
    for matcher in which.matchers():
        found += prometheus.instant(f'{{__name__=~"{names}"{matcher}}}[{seconds}s]', end).series
    windows = tuple(windows_of(found, which, end - begin))
    if not windows:
        message = "There are no samples of such GPUs in that time."
        why = "The pod had no GPU then, the name is another, or nothing was scraped."
        raise UsageError("profile-nothing", message, why, Command("gpustack", "gpu", "top", "--once"))
    return Job(windows)
