"""Windows of a workload from a Prometheus."""

from gpustack.errors import MissingDataError
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.profile.network import query_network_shares
from gpustack.profile.selection import Selection
from gpustack.profile.window import GpuWindow, Job
from gpustack.profile.windows import NAMES, build_windows
from gpustack.vocabulary.fields import list_spellings


def query_job(prometheus: Prometheus, selection: Selection, begin: float, end: float) -> Job:
    """Query the windows of a selection. Raise MissingDataError where it had no GPU in that time."""
    windows = query_windows(prometheus, selection, begin, end)
    if not windows:
        message = "There are no samples of such GPUs in that time."
        reason = "The pod had no GPU then, the name is another, or nothing was scraped."
        raise MissingDataError("profile-nothing", message, reason)
    nodes = {window.gpu.node for window in windows}
    return Job(windows, query_network_shares(prometheus, nodes, begin, end))


def query_windows(prometheus: Prometheus, selection: Selection, begin: float, end: float) -> tuple[GpuWindow, ...]:
    """Query the windows of the GPUs of a selection; none where it had no GPU in that time."""
    names = "|".join(list_spellings(NAMES))
    seconds = max(1, round(end - begin))
    series_list: list[Series] = []
    for matcher in selection.build_matchers():
        series_list += prometheus.query_instant(f'{{__name__=~"{names}"{matcher}}}[{seconds}s]', end)
    return tuple(build_windows(series_list, selection, end - begin))
