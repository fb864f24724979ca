"""Programs that count what they fail to do: their pods are well, and their alerts wait for a quarter of an hour."""

from collections.abc import Iterator

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.doctor.states.scraped_objects import build_prometheus_command, has_monitoring
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.monitoring.failure_counters import COUNTERS_BY_NAME, FAILURE_COUNTS, FailureCount


def observe_counts(view: View) -> Iterator[AbnormalState]:
    """List the counters that have risen. A program may try again and succeed, so that each is a risk."""
    for count in view[FAILURE_COUNTS]:
        subject = f"{count.job} {count.instance}".strip()
        command = build_prometheus_command(view, f"query?query={count.counter}")
        yield AbnormalState(
            "failures-counted", "risk", (CLUSTER,), (subject,), describe_count(count), command,
            topic=f"{count.counter} {count.detail} {count.job}",
        )  # fmt: skip


def describe_count(count: FailureCount) -> str:
    counter = COUNTERS_BY_NAME[count.counter]
    labels = f" ({count.detail})" if count.detail else ""
    return f"{count.rise:.0f} {counter.words}{labels} within {counter.minutes} minutes: {count.counter}"


OBSERVERS = (
    Observer("failure-counts", "Counters of failures", observe_counts, (FAILURE_COUNTS,), is_needed=has_monitoring),
)
