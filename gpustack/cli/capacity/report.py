"""The command `gpustack capacity report`."""

from typing import TYPE_CHECKING

from gpustack.cli.capacity.usage import ByOption, Period, open_source, parse_dimensions
from gpustack.cli.gpu.prometheus import RecordedSource
from gpustack.cli.option_groups import Session

if TYPE_CHECKING:
    from gpustack.capacity.state import Capacity


def report(*, period: Period, grouping: ByOption = "namespace", source: RecordedSource, session: Session) -> "Capacity":
    """Report GPU-hours by use: allocated, attributed, active, idle and free, with the queue and the current state.

    docs/capacity.md defines the columns and names their series. The command exits with 8 if less than 95 % of the time
    was recorded, or if hours are unknown."""
    names = parse_dimensions(grouping)
    with open_source(source, session) as (prometheus, spec):
        from gpustack.capacity.read import read_capacity

        window = period.build_window(prometheus.fetch_time())
        return read_capacity(prometheus, window, spec.capacity, period.cluster, names)
